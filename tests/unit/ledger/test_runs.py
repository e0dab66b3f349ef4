"""Runs in the ledger: each is a row from whatever door, and what stopped without a word is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from callsheet.tasks.ledger.leases import find, run_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.plans import add_approved, pack
from callsheet.tasks.ledger.runs import (
    KEPT,
    LEFT,
    RunRow,
    RunState,
    ask_run,
    begin_run,
    claim_run,
    drop_old_runs,
    end_run,
    find_run,
    note_expected,
    note_plan,
    note_step,
    open_runs,
    parts_of,
    run_for,
    runs_of,
    unbegun_run,
)
from tests.leasing import let_lapse

NOW = 1_800_000_000.0
RUN = RunRow(id="one", kind="run", door="terminal", started_by="ann", asked_at=NOW, campaign="tea")


def lives(_: str) -> bool:
    return False


async def begin(ledger: Ledger, run: RunRow = RUN, owner: str = "here:1") -> bool:
    return await ledger.write(begin_run, run=run, owner=owner, seconds=60.0, is_dead=lives)


async def end(ledger: Ledger, run_id: str = "one", *, owner: str = "here:1", at: float) -> bool:
    ending: dict[str, Any] = {"place": owner, "exit_status": 0, "words": None, "at": at}
    return await ledger.write(end_run, run_id=run_id, **ending)


async def found(ledger: Ledger, run_id: str = "one") -> RunRow:
    run = await ledger.read(find_run, run_id=run_id)
    assert run is not None
    return run


async def test_a_run_is_there_while_it_works_and_keeps_what_it_was(ledger: Ledger) -> None:
    assert await begin(ledger, replace(RUN, options={"sheet": "tea.csv"}, step="planning"))
    begun = await found(ledger)
    assert (begun.state(lives), begun.step, begun.owner) == ("running", "planning", "here:1")
    assert begun.options == {"sheet": "tea.csv"}

    await ledger.write(note_step, run_id="one", step="waiting")
    await ledger.write(note_expected, run_id="one", at=NOW + 90)
    run = await found(ledger)
    assert (run.state(lives), run.expected_at) == ("waiting", NOW + 90)

    assert await end(ledger, at=NOW + 9)
    ended = await found(ledger)
    assert (ended.state(lives), ended.exit, ended.ended_at) == ("ended", 0, NOW + 9)
    assert (ended.owner, ended.place) == ("here:1", None)


async def test_a_run_whose_process_is_gone_has_stopped(ledger: Ledger) -> None:
    await begin(ledger)

    assert (await found(ledger)).state(lambda owner: owner == "here:1") == "stopped"
    await ledger.write(let_lapse, name=run_lease("one"))
    assert (await found(ledger)).state(lives) == "stopped"


async def test_the_next_run_of_a_campaign_notes_what_stopped_before_it(ledger: Ledger) -> None:
    others = {"alive": "tea", "elsewhere": "coffee", "gone": "tea"}
    for name, campaign in others.items():
        await begin(ledger, replace(RUN, id=name, campaign=campaign), owner=name)
    for name in ("elsewhere", "gone"):
        await ledger.write(let_lapse, name=run_lease(name))

    await begin(ledger, replace(RUN, asked_at=NOW + 60))

    gone = await found(ledger, "gone")
    assert (gone.ended_at, gone.exit, gone.words) == (NOW + 60, None, LEFT)
    assert gone.state(lives) == "stopped"
    assert [(await found(ledger, name)).ended_at for name in ("alive", "elsewhere")] == [None, None]


async def test_a_run_that_begins_again_is_the_same_run(ledger: Ledger) -> None:
    await begin(ledger)
    await end(ledger, at=NOW + 9)

    assert await begin(ledger, replace(RUN, asked_at=NOW + 60, step="planning"), owner="there:2")

    again = await found(ledger)
    assert (again.asked_at, again.owner, again.state(lives)) == (NOW, "there:2", "running")
    assert (again.ended_at, again.exit) == (None, None)
    assert not await begin(ledger, owner="late:3"), "another process is at work on it"
    assert len(await ledger.read(runs_of, campaign="tea", limit=9)) == 1


async def approve(ledger: Ledger, plan_id: str) -> None:
    approving: dict[str, Any] = {
        "kind": "run",
        "campaign": "tea",
        "document": pack([b"{}"]),
        "total": 0,
    }
    await ledger.write(add_approved, plan_id=plan_id, **approving, by="ann", at=NOW)


async def test_a_plan_is_of_one_run(ledger: Ledger) -> None:
    await approve(ledger, "plan")
    for name in ("one", "two"):
        await begin(ledger, replace(RUN, id=name), owner=name)
        await ledger.write(note_plan, run_id=name, plan_id="plan")

    assert [(await found(ledger, name)).plan_id for name in ("one", "two")] == ["plan", None]


async def test_only_the_board_goes_on_with_runs_by_itself_and_only_with_its_own(
    ledger: Ledger,
) -> None:
    for name in ("typed", "asked"):
        await approve(ledger, name)
    await begin(ledger, replace(RUN, id="typed"))
    await ledger.write(note_plan, run_id="typed", plan_id="typed")
    await begin(ledger, replace(RUN, id="resumed", door="board", kind="fetch"), owner="board:1")
    asking: dict[str, Any] = {"plan_id": "asked", "campaign": "tea", "by": "ann", "at": NOW}
    await ledger.write(ask_run, run_id="asked", **asking)

    assert [run.id for run in await ledger.read(open_runs)] == ["asked"]
    assert (unbegun := await ledger.read(unbegun_run, campaign="tea")) is not None
    assert (unbegun.id, unbegun.state(lives)) == ("asked", "waiting")
    assert await ledger.read(run_for, plan_id="typed") is None
    claim: dict[str, Any] = {"place": "board:2", "at": NOW, "seconds": 60.0}
    assert await ledger.write(claim_run, run_id="asked", **claim) is not None
    assert (await found(ledger, "asked")).owner == "board:2"
    # A new run of the campaign leaves the board's alone when their process is gone.
    await ledger.write(let_lapse, name=run_lease("asked"))
    await begin(ledger, replace(RUN, id="next"), owner="next")
    assert (await found(ledger, "asked")).state(lives) == "waiting"


async def test_the_parts_of_a_run_are_runs_and_workers_are_not_listed(ledger: Ledger) -> None:
    night = replace(RUN, id="night 1", kind="night", campaign="", started_by="spring")
    await begin(ledger, night, owner="night")
    await begin(ledger, replace(RUN, id="sheet", door="night", parent="night 1"), owner="sheet")
    worker = replace(RUN, id="worker", kind="worker", door="worker", parent="sheet")
    await begin(ledger, worker, owner="worker")

    assert [run.id for run in await ledger.read(parts_of, run_id="night 1")] == ["sheet"]
    assert [run.id for run in await ledger.read(parts_of, run_id="sheet")] == ["worker"]
    assert [run.id for run in await ledger.read(runs_of, campaign="tea", limit=9)] == ["sheet"]


async def test_runs_go_a_month_after_their_end_and_never_one_that_is_not_over(
    ledger: Ledger,
) -> None:
    for name in ("old", "new", "open"):
        await begin(ledger, replace(RUN, id=name), owner=name)
    await end(ledger, "old", owner="old", at=NOW)
    await end(ledger, "new", owner="new", at=NOW + 1)

    assert await ledger.write(drop_old_runs, at=NOW + KEPT) == 1

    assert {run.id for run in await ledger.read(runs_of, campaign="tea", limit=9)} == {
        "new",
        "open",
    }
    assert await ledger.read(find, name=run_lease("old")) is None


STATES: dict[str, tuple[dict[str, Any], RunState]] = {
    "approved on the board, and not started": ({"door": "board", "plan_id": "p"}, "waiting"),
    "parked by the board": (
        {"door": "board", "plan_id": "p", "ended_at": 1.0, "exit": 5, "due_at": 9.0},
        "waiting",
    ),
    "a person is asked": ({"step": "approving", "place": "a", "leased_until": 9.0}, "waiting"),
    "parked at a terminal": ({"ended_at": 1.0, "exit": 5}, "ended"),
    "stopped, and noted": ({"ended_at": 1.0}, "stopped"),
    "never claimed": ({}, "stopped"),
}


@pytest.mark.parametrize("what", STATES)
def test_what_a_run_is_at_follows_from_its_row_and_lease(what: str) -> None:
    changes, state = STATES[what]
    assert replace(RUN, **changes).state(lives) == state
