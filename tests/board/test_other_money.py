"""A plan that a sandbox has priced is never paid for at a service that costs, nor the reverse.

The service that costs is a sandbox too, but to Callsheet it is one like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.flows.approved_plan import execute
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from tests.board.conftest import board_at, settings_at
from tests.board.stage import Kind, approved_plan, ended, made, run_of
from tests.programs import Sandbox, sandbox, simple_sheet


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sandbox, Sandbox]]:
    """The service that costs, and the sandbox of somebody who tries it all."""
    folder = tmp_path_factory.mktemp("services")
    with sandbox(folder / "real") as real, sandbox(folder / "trial") as trial:
        yield real, trial


#: What is planned, and whether that is with the sandbox.
KINDS: tuple[Kind, ...] = ("sheet", "retake")
PLANS = [(kind, trial) for kind in KINDS for trial in (True, False)]


def environ(services: tuple[Sandbox, Sandbox], trial: bool) -> dict[str, str]:
    """The settings that lead to one of the two, as `up` and `--sandbox` have them."""
    return {**services[trial].environ, "CALLSHEET_SANDBOX": "yes" if trial else "no"}


@pytest.mark.safeguard(
    "flows/approved_plan.py", "check_money(ask.sandbox, settings.sandbox, look=LOOK_HERE)", ""
)
@pytest.mark.merge
@pytest.mark.parametrize(("kind", "trial"), PLANS)
async def test_it_is_refused_by_whoever_would_carry_it_out_with_other_money(
    tmp_path: Path, services: tuple[Sandbox, Sandbox], kind: Kind, trial: bool
) -> None:
    name = f"{kind}-{'trial' if trial else 'real'}"
    given = environ(services, trial)
    run = await approved_plan(tmp_path, given, name, kind=kind, trial=trial)
    before = [one.calls() for one in services]

    other = settings_at(tmp_path, environ(services, not trial))
    end = await execute(run, other, place="another worker")

    # The service's own word comes first: it was not even asked.
    assert [one.calls() for one in services] == before
    over = await run_of(tmp_path, run)
    assert (over.exit, over.words, over.place) == (4, end.words, None)
    then, now = ("a sandbox", "a real service") if trial else ("a real service", "a sandbox")
    assert f"made with {then}, and its videos would be made by {now}" in str(over.words)
    async with await open_ledger(other.ledger) as ledger:
        campaign = await ledger.read(find_campaign, name=name)
    assert campaign.sandbox == trial
    assert await execute(run, other, place="another worker") is None


@pytest.mark.safeguard(
    "deployments/board/run_monitor.py",
    "if plan is None or RunOptions.of(plan.terms).sandbox != self._board.sandbox:",
    "if plan is None:",
)
@pytest.mark.slow
async def test_on_a_board_it_waits_for_one_that_has_that_money(
    tmp_path: Path, services: tuple[Sandbox, Sandbox]
) -> None:
    given = environ(services, True)
    run = await approved_plan(tmp_path, given, "waits", kind="sheet", trial=True)
    bought = len(services[0].bought())

    async with board_at(tmp_path, environ=environ(services, False)) as board:
        # It is looked at first, being older.
        other = await made(board, "other.csv", simple_sheet(1))
    waits = await run_of(tmp_path, run)
    async with board_at(tmp_path, environ=given, sandbox=True) as board:
        over = await ended(board.viewer, run)

    assert other["ended"]["exit"] == 0
    assert (waits.place, waits.ended_at) == (None, None)
    assert (over["exit"], over["words"]) == (0, None)
    assert len(services[0].bought()) == bought + 1
