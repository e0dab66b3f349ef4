"""What an admin sets on the board is obeyed at every door, unless something else sets it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from callsheet.tasks.ledger.board_settings import in_force, set_on_board
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.settings import load_settings
from tests.pipeline.served import call_flows
from tests.pipeline.test_prefect_verbs import PROGRAM
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, simple_sheet

NAMES = "{campaign}/{id}_by_board"


def set_all(desk: Desk, **said: str) -> None:
    """Set settings as the board does, in a ledger that may be new."""
    (desk.folder / ".callsheet").mkdir(exist_ok=True)

    async def write() -> None:
        settings = load_settings(environ={}, folder=desk.folder)
        async with await open_ledger(settings.ledger) as ledger:
            for name, value in said.items():
                await ledger.write(set_on_board, name=name, value=value, by="Ada", at=1.0)

    asyncio.run(write())


def stored(desk: Desk) -> set[str]:
    found = (desk.folder / "deliveries").rglob("*.mp4")
    return {f"{path.parent.name}/{path.name}" for path in found}


@pytest.mark.parametrize("budget", ["day_budget", "month_budget"])
def test_a_budget_holds_and_ends(desk: Desk, name: str, budget: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    set_all(desk, **{budget: "10"})

    held = desk.run(sheet)

    assert (held.status, held.json["rows"]) == (3, {"total": 1, "held": 1})
    set_all(desk, **{budget: "20"})
    assert desk.run(sheet).status == 0


@pytest.mark.prefect
@pytest.mark.merge
def test_a_flow_obeys_it(desk: Desk, name: str, server: PrefectServer) -> None:
    set_all(desk, names=NAMES)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    order = ("callsheet.flows.campaign", "run_campaign", {"sheet": sheet, "approve": "yes"})

    call_flows(PROGRAM, [order], desk=desk, server=server)

    assert stored(desk) == {f"{name}/r001_by_board.mp4"}


@pytest.mark.parametrize("where", ["environment", "profile"])
def test_what_environment_or_profile_set_wins(desk: Desk, name: str, where: str) -> None:
    set_all(desk, names=NAMES)
    names = "{campaign}/{id}_mine"
    desk.sheet("mine.toml", f'names = "{names}"\n')
    words = ("--profile", "mine.toml") if where == "profile" else ()
    desk.environ |= {"CALLSHEET_NAMES": names} if where == "environment" else {}
    done = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)), *words)
    assert done.status == 0, done.err
    assert stored(desk) == {f"{name}/r001_mine.mp4"}


CASES: list[tuple[Mapping[str, str], Mapping[str, str], str | None]] = [
    ({}, {}, None),
    ({}, {"credit_price": "0.12 USD"}, "0.12"),
    ({"CALLSHEET_CREDIT_PRICE": "1 EUR"}, {"credit_price": "0.12 USD"}, "1"),
    ({"CALLSHEET_CREDIT_PRICE": " "}, {"credit_price": "0.12 USD"}, "0.12"),
    ({}, {"horizon": "1s"}, None),
]


@pytest.mark.safeguard(
    "tasks/ledger/board_settings.py",
    "if settings.set_on_board is not None and not again:",
    "if False:",
)
@pytest.mark.safeguard(
    "tasks/runtime/settings.py",
    "if name in ON_BOARD and name not in given}",
    "if name in ON_BOARD}",
)
@pytest.mark.parametrize(("environ", "said", "price"), CASES)
async def test_what_is_in_force(
    tmp_path: Path, environ: Mapping[str, str], said: Mapping[str, str], price: str | None
) -> None:
    given = load_settings(environ=environ, folder=tmp_path)
    async with await open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        for name, value in said.items():
            await ledger.write(set_on_board, name=name, value=value, by="Ada", at=1.0)
        found = await ledger.read(in_force, settings=given)
        for name in said:
            await ledger.write(set_on_board, name=name, value=None, by="Ada", at=2.0)
        same = await ledger.read(in_force, settings=found)
        after = await ledger.read(in_force, settings=found, again=True)

    shown = found.credit_price and str(found.credit_price.amount)
    # What a run has begun with does not change under it.
    assert (shown, same, found.horizon) == (price, found, given.horizon)
    assert after.credit_price == given.credit_price


def test_commands_and_nights_obey_it(desk: Desk, name: str) -> None:
    set_all(desk, names=NAMES, credit_price="0.50 USD")
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    planned = desk.call("plan", sheet)
    done = desk.run(sheet)
    assert "7.50 USD" in planned.out
    assert "get other names: {campaign}/r001_by_board" in planned.out
    assert done.status == 0, done.err
    assert stored(desk) == {f"{name}/r001_by_board.mp4"}
    for command in (("costs",), ("status", name), ("explain", "r001"), ("retake", name, "r001")):
        said = desk.call(*command)
        assert "7.50" in said.out + said.err, command
    assert "names is set on the board by Ada" in desk.call("doctor").out
    (desk.folder / "inbox").mkdir()
    night = desk.folder / desk.sheet(f"inbox/{name}-2.csv", simple_sheet(1, title="Night"))
    os.utime(night, (time.time() - 1000,) * 2)
    done = desk.call("nightly", "inbox", "--approve-up-to", "100")
    assert (done.status, "7.50" in done.out) == (0, True), done.err
    assert f"{name}-2/r001_by_board.mp4" in stored(desk)
    set_all(desk, keep_at_service="1s")
    time.sleep(1.1)
    assert desk.call("prune", name, "--yes", "--json").json["deleted"] == 1
