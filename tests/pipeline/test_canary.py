"""`--canary` and `--first`: a few videos before the others, and nobody pays for more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run, Watch, unwatched
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.runtime.errors import OverBudget, SpendRefused
from callsheet.tasks.runtime.settings import load_settings
from tests.approvers import Approving
from tests.programs import Desk, Sandbox, sandbox, simple_sheet
from tests.torture.hook import Hook

pytestmark = pytest.mark.merge


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox whose videos are as long as they were asked for."""
    folder = tmp_path_factory.mktemp("real")
    with sandbox(folder, "--render", "real", "--time-scale", "100") as running:
        yield running


def states(desk: Desk, name: str) -> dict[str, str]:
    return {row: one["state"] for row, one in desk.rows(name).items()}


def test_one_video_is_made_and_the_others_once_it_is_kept(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))

    planned = desk.call("plan", sheet, "--canary", "--json").json
    first = desk.run(sheet, "--canary", "--budget", "60")
    again = desk.run(sheet, "--canary")

    assert [row["action"] for row in planned["rows"]] == ["make", "wait", "wait", "wait"]
    assert (planned["credits"]["total"], planned["credits"]["later"]) == (15, 45)
    assert (first.status, first.json["credits"]["charged"]) == (3, 15)
    assert again.json["credits"]["charged_this_run"] == 0
    rows = desk.rows(name)
    assert {
        row: one["reason"] for row, one in rows.items() if one["state"] == "held"
    } == dict.fromkeys(("r002", "r003", "r004"), "waits for the test video r001")
    assert "3 rows wait until you keep the first video of their kind, then 45 credits" in first.err
    assert "60 credits for all rounds" in first.err
    assert f"if these are good, `callsheet approve {name} --run` keeps them" in first.err
    # All went as planned.
    assert "need attention" not in first.err

    desk.call("review", name, "r001", "keep")
    ended = desk.run(sheet, "--canary")

    assert (ended.status, ended.json["credits"]["charged"]) == (0, 60)
    keys = [row["key"] for row in desk.rows(name).values()]
    assert service.charged(keys) == dict.fromkeys(keys, 1)


def test_a_rejected_canary_stops_its_own_kind_alone(desk: Desk, name: str) -> None:
    lines = simple_sheet(3).splitlines()
    sheet = desk.sheet(f"{name}.csv", "\n".join([*lines, lines[-1].replace("r003", "r004")]))
    wide = (desk.folder / sheet).read_text().splitlines()
    header = wide[0] + ",language"
    text = "\n".join(
        [header, *(one + (",de" if i < 2 else ",en") for i, one in enumerate(wide[1:]))]
    )
    (desk.folder / sheet).write_text(text)

    desk.run(sheet, "--canary")
    desk.call("review", name, "r001", "reject", "--because", "voice")
    desk.call("review", name, "r003", "keep")
    ended = desk.run(sheet, "--canary")

    assert states(desk, name) == {
        "r001": "delivered", "r002": "held", "r003": "delivered", "r004": "delivered"
    }  # fmt: skip
    assert ended.status == 3
    refused = desk.call("approve", name, "--yes", "--run", "--json")
    assert (refused.status, refused.json["approved"]) == (3, [])
    rejected = (
        f"1 row waits for the test video r001, which is rejected: `callsheet retake {name} r001"
    )
    assert rejected in refused.err
    assert rejected in ended.err
    assert "if these are good" not in ended.err


def test_approving_what_waits_goes_on_with_the_first_video(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ |= studio.environ
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    studio.plan_fault(on="render", nth=1, do="slow", seconds=1800)
    assert desk.run(sheet, "--canary", "--max-wait", "2s").status == 5

    ended = desk.call("approve", name, "--yes", "--run", "--max-wait", "1s", "--json")

    assert (ended.status, ended.json["approved"]) == (5, [])
    assert ended.json["rows"] == {"total": 3, "rendering": 1, "held": 2}
    assert "2 rows wait for the test video r001, which is rendering" in ended.err


def test_what_waits_is_approved_without_its_sheet(desk: Desk, service: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.run(sheet, "--canary")
    (desk.folder / sheet).unlink()

    asked = desk.call("approve", name)
    done = desk.call("approve", name, "--yes", "--run", "--json")
    nothing = desk.call("approve", name, "--yes", "--json")

    assert asked.status == 4
    assert "by product-launch, length 5 s, ratio 9:16, lang: the service's choice" in asked.out
    assert "leave the length" not in asked.out
    assert states(desk, name)["r002"] == "delivered"
    assert (done.status, done.json["approved"]) == (0, ["r002", "r003"])
    assert done.json["credits"]["charged"] == 45
    assert "3 delivered; this run was charged 30 credits, the campaign has cost 45" in done.err
    assert desk.rows(name)["r001"]["review"] == "keep"
    assert (nothing.status, nothing.json["approved"]) == (0, [])


def test_the_checks_let_the_others_go_on_the_same_approval(
    desk: Desk, service: Sandbox, real: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))

    short = desk.run(sheet, "--canary", "auto", "--budget", "40")
    flagged = desk.run(sheet, "--canary", "auto", "--budget", "45")
    desk.environ |= real.environ
    other = desk.sheet(f"{name}-b.csv", simple_sheet(3, title="Other").replace("Kettle", "Pot"))
    ended = desk.run(other, "--canary", "auto", "--budget", "45")

    # A video of another length than was asked for is looked at by somebody first.
    assert (short.status, flagged.status) == (4, 3)
    assert flagged.json["credits"]["charged"] == 15
    assert (ended.status, ended.json["rows"]) == (0, {"total": 3, "delivered": 3})
    assert ended.json["credits"]["charged_this_run"] == 45
    assert "3 delivered; this run was charged 45 credits" in ended.err
    runs = desk.call("status", f"{name}-b", "--json").json["runs"]
    assert [(run["kind"], run["exit"]) for run in runs] == [("run", 0)], "its rounds are one run"
    history = desk.call("explain", f"{name}-b", "r002").out
    assert " with --yes, and the first videos passed their checks, plan " in history


@pytest.mark.parametrize("at", ["service: before the request", "service: after the answer"])
def test_a_run_that_was_killed_in_its_first_round_needs_one_more(
    desk: Desk, real: Sandbox, name: str, at: str
) -> None:
    desk.environ |= real.environ
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=at))
    hook = Hook(desk.folder / "trace", f"{at} (create)").as_json()
    words = ("run", sheet, "--canary", "auto", "--without-prefect", "--json")
    killed = desk.call(*words, "--yes", hook=hook)

    # Whoever goes on with it is asked about the price of the others.
    asked = desk.call(*words)
    ended = desk.call(*words, "--yes")

    assert (killed.status, asked.status, ended.status) == (-9, 4, 0), asked.err + ended.err
    assert "15 credits are not approved" in asked.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}
    assert ended.json["credits"]["charged"] == 30


async def test_what_is_let_go_is_not_paid_for_at_another_price(
    desk: Desk, real: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.environ |= real.environ
    settings = load_settings(environ=desk.environ, folder=desk.folder)

    async def edited() -> None:
        file = desk.folder / sheet
        file.write_text(file.read_text().replace("r003", "r004"))

    options = RunOptions(sheet=str(desk.folder / sheet), canary="auto", campaign=name)
    with pytest.raises(SpendRefused, match="r004: not in the plan"):
        await run_sheet(options, settings, Approving(later=True), begins=edited)
    assert sorted(states(desk, name).values()).count("delivered") == 1


#: Approves both rounds.
LATER = Approving(later=True)


def stopped(run: Run) -> None:
    run.stop("Ctrl-C")


def lost(run: Run) -> None:
    run.lose("another run has the campaign")


def interrupted(run: Run) -> None:
    run.interrupted = "stopped in Prefect"


@pytest.mark.parametrize("end", [stopped, lost, interrupted])
async def test_a_run_that_is_stopped_starts_no_second_round(
    desk: Desk, real: Sandbox, name: str, end: Callable[[Run], None]
) -> None:
    outcome = await of_both(desk, real, name, watch=stopping(end))
    assert outcome.charged_this_run == 15
    assert sorted(states(desk, name).values()) == ["delivered", "held", "held"]


def stopping(end: Callable[[Run], None]) -> Watch:
    """Stop a run while it reports, when its canary is delivered."""

    @asynccontextmanager
    async def watch(run: Run) -> AsyncIterator[None]:
        def hear(snapshot: Snapshot) -> None:
            if snapshot.rows.get("delivered"):
                end(run)

        run.listeners.append(hear)
        yield

    return watch


async def of_both(
    desk: Desk,
    real: Sandbox,
    name: str,
    *,
    approver: Approving = LATER,
    watch: Watch = unwatched,
    **options: Any,
) -> RunOutcome:
    """Run three rows of one kind with `canary="auto"` in this process."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.environ |= real.environ
    settings = load_settings(environ=desk.environ, folder=desk.folder)
    asked = {"sheet": str(desk.folder / sheet), "canary": "auto", "campaign": name, **options}
    running = partial(run_sheet, RunOptions.of(asked), settings, approver)
    return await running(watch=watch)


async def test_who_was_not_shown_the_price_of_a_second_round_approves_none(
    desk: Desk, real: Sandbox, name: str
) -> None:
    outcome = await of_both(desk, real, name, approver=Approving())
    assert (outcome.charged_this_run, outcome.exit_status) == (15, 3)


async def test_both_rounds_share_the_budget_of_the_run(
    desk: Desk, real: Sandbox, name: str
) -> None:
    outcome = await of_both(desk, real, name, run_budget="30", at_limit="fit")
    assert outcome.charged_this_run == 30


async def test_a_second_round_keeps_the_budget_that_was_approved(
    desk: Desk, real: Sandbox, name: str
) -> None:
    class Raised(Approving):
        async def approve(self, plan: Plan) -> Plan:
            return replace(await super().approve(plan), budget=Decimal(50))

    await of_both(desk, real, name, approver=Raised(later=True), budget="45")
    assert desk.call("status", name, "--json").json["credits"]["budget"] == 50


async def test_a_second_round_gives_no_budget_back_that_was_lowered_meanwhile(
    desk: Desk, real: Sandbox, name: str
) -> None:
    text = simple_sheet(3, columns=",language", cells=",en").replace("9:16,en", "9:16,de", 1)
    sheet = desk.sheet(f"{name}.csv", text)
    desk.environ |= real.environ
    assert desk.run(sheet, "--first", "1", "--budget", "90").status == 0
    other = replace(desk, may_be_here=False)

    async def lowered() -> None:
        words = ("retake", name, "r001", "--yes", "--budget", "45", "--json")
        assert (await asyncio.to_thread(other.call, *words)).status == 0

    settings = load_settings(environ=desk.environ, folder=desk.folder)
    options = RunOptions(
        sheet=str(desk.folder / sheet), canary="auto", budget=Decimal(90), campaign=name
    )
    with pytest.raises(OverBudget, match="45 credits for the campaign"):
        await run_sheet(options, settings, Approving(later=True), begins=lowered)

    assert desk.call("status", name, "--json").json["credits"]["budget"] == 45
    keys = [row["key"] for row in desk.rows(name).values() if row["key"]]
    assert states(desk, name) == {"r001": "delivered", "r002": "delivered", "r003": "quoted"}
    assert sum(real.charged(keys).values()) == 2


def test_the_first_rows_alone_are_made_however_often(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))

    first = desk.run(sheet, "--first", "2")
    again = desk.run(sheet, "--first", "2")
    wrong = desk.run(sheet, "--first", "none")

    assert first.json["credits"]["charged"] == 30
    assert again.json["credits"]["charged_this_run"] == 0
    assert {row for row, state in states(desk, name).items() if state == "delivered"} == {
        "r001", "r002"
    }  # fmt: skip
    assert wrong.status == 2
    assert '"none" for first is not a number of rows' in wrong.err


CLIP = "id,operation,image,tool,fields.product,title,duration_seconds,aspect_ratio\n"


def test_what_is_paid_for_is_fetched_though_a_price_is_missing(
    desk: Desk, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = ("--render", "real", "--time-scale", "3")
    with sandbox(tmp_path_factory.mktemp("slow"), *options) as slow:
        desk.environ |= slow.environ
        text = simple_sheet(3)
        sheet = desk.sheet(f"{name}.csv", text)
        words = ("--canary", "auto", "--budget", "45")
        mixed = desk.sheet(
            f"{name}-b.csv",
            f"{CLIP}a,,,product-launch,Kettle,{name},5,9:16\n"
            "b,image-to-video,https://img.example/x.png,,,,,\n",
        )
        left = [
            desk.leave_under_way(sheet, *words),
            desk.leave_under_way(mixed, "--select", "a", "--budget", "45"),
        ]
        assert [one.status for one in left] == [5, 5], left[1].err

        # A row that waits for the canary is edited: its new price is not known yet.
        desk.sheet(sheet, text.replace("Kettle 3", "Pot 3"))
        fetched = desk.run(sheet, *words)
        assert fetched.status in (0, 3), fetched.err
        assert states(desk, name)["r001"] == "delivered"
        ended = desk.run(sheet, *words)
        assert (ended.status, ended.json["credits"]["charged"]) == (0, 45), ended.err

        # Nothing new is paid for while a price cannot be read under a budget.
        refused = desk.run(mixed, "--budget", "45")
        assert (refused.status, "no readable price" in refused.err) == (4, True), refused.err
        assert states(desk, f"{name}-b") == {"a": "delivered", "b": "quoted"}
        assert sum(one["event"] == "charge" for one in slow.charges()) == 4


def test_a_refused_run_sends_no_request_that_may_not_have_left(
    desk: Desk, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with sandbox(tmp_path_factory.mktemp("lost")) as service:
        desk.environ |= service.environ
        sheet = desk.sheet(
            f"{name}.csv",
            f"{CLIP}a,,,product-launch,Kettle,{name},5,9:16\n"
            "b,image-to-video,https://img.example/x.png,,,,,\n",
        )
        service.plan_fault(on="create", do="drop-before")
        parked = desk.run(sheet, "--select", "a", "--budget", "45", "--max-wait", "1s")
        service.clear_faults()

        refused = desk.run(sheet, "--budget", "45")

        assert (parked.status, parked.json["rows"]["submitting"]) == (5, 1), parked.err
        assert (refused.status, "no readable price" in refused.err) == (4, True), refused.err
        assert states(desk, name)["a"] == "submitting"
        assert service.charges() == []
