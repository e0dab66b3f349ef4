"""Runs in the ledger: each is a row from whatever door, and what stopped without a word is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from callsheet.tasks.ledger import runs
from callsheet.tasks.ledger.leases import find, run_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.plans import add_approved, pack
from tests.leasing import let_lapse

NOW = 1_800_000_000.0
RUN = runs.RunRow(
    id="one", kind="run", door="terminal", started_by="ann", asked_at=NOW, campaign="tea"
)


def lives(_: str) -> bool:
    return False


async def begin(ledger: Ledger, run: runs.RunRow = RUN, owner: str = "here:1") -> bool:
    return await ledger.write(runs.begin_run, run=run, owner=owner, seconds=60.0, is_dead=lives)


async def end(ledger: Ledger, run_id: str = "one", *, owner: str = "here:1", at: float) -> bool:
    ending: dict[str, Any] = {"place": owner, "exit_status": 0, "words": None, "at": at}
    return await ledger.write(runs.end_run, run_id=run_id, **ending)


async def found(ledger: Ledger, run_id: str = "one") -> runs.RunRow:
    run = await ledger.read(runs.find_run, run_id=run_id)
    assert run is not None
    return run


async def test_a_run_is_there_while_it_works_and_keeps_what_it_was(ledger: Ledger) -> None:
    assert await begin(ledger, replace(RUN, options={"sheet": "tea.csv"}, step="planning"))
    begun = await found(ledger)
    assert (begun.state(lives), begun.step, begun.owner) == ("running", "planning", "here:1")
    assert begun.options == {"sheet": "tea.csv"}

    await ledger.write(runs.note_step, run_id="one", step="waiting")
    await ledger.write(runs.note_expected, run_id="one", at=NOW + 90)
    run = await found(ledger)
    assert (run.state(lives), run.expected_at) == ("waiting", NOW + 90)
    assert run.state(lambda owner: owner == "here:1") == "stopped"
    await ledger.write(let_lapse, name=run_lease("one"))
    assert (await found(ledger)).state(lives) == "stopped"

    assert await end(ledger, at=NOW + 9)
    ended = await found(ledger)
    assert (ended.state(lives), ended.exit, ended.ended_at) == ("ended", 0, NOW + 9)
    assert (ended.owner, ended.place) == ("here:1", None)


async def approve(ledger: Ledger, plan_id: str) -> None:
    plan: dict[str, Any] = {"kind": "run", "campaign": "tea", "document": pack([b"{}"]), "total": 0}
    await ledger.write(add_approved, plan_id=plan_id, **plan, by="ann", at=NOW)


@pytest.mark.safeguard(
    "tasks/ledger/runs.py",
    '_ASKED = (runs.c.door == "board") & runs.c.plan_id.is_not(None)',
    "_ASKED = runs.c.plan_id.is_not(None)",
)
async def test_only_the_board_goes_on_with_runs_by_itself_and_only_with_its_own(ledger: Ledger):
    for name in ("typed", "asked"):
        await approve(ledger, name)
    await begin(ledger, replace(RUN, id="typed"))
    await ledger.write(runs.note_plan, run_id="typed", plan_id="typed")
    await begin(ledger, replace(RUN, id="resumed", door="board", kind="fetch"), owner="board:1")
    asking: dict[str, Any] = {"plan_id": "asked", "campaign": "tea", "by": "ann", "at": NOW}
    await ledger.write(runs.ask_run, run_id="asked", **asking)

    assert [run.id for run in await ledger.read(runs.open_runs)] == ["asked"]
    assert (unbegun := await ledger.read(runs.unbegun_run, campaign="tea")) is not None
    assert (unbegun.id, unbegun.state(lives)) == ("asked", "waiting")
    assert await ledger.read(runs.run_for, plan_id="typed") is None
    claim: dict[str, Any] = {"place": "board:2", "at": NOW, "seconds": 60.0}
    assert await ledger.write(runs.claim_run, run_id="asked", **claim) is not None
    assert (await found(ledger, "asked")).owner == "board:2"
    # A new run of the campaign leaves the board's alone when their process is gone.
    await ledger.write(let_lapse, name=run_lease("asked"))
    await begin(ledger, replace(RUN, id="next"), owner="next")
    assert (await found(ledger, "asked")).state(lives) == "waiting"


async def test_runs_go_a_month_after_their_end_and_never_one_that_is_not_over(ledger: Ledger):
    for name in ("old", "new", "open"):
        await begin(ledger, replace(RUN, id=name), owner=name)
    await end(ledger, "old", owner="old", at=NOW)
    await end(ledger, "new", owner="new", at=NOW + 1)

    assert await ledger.write(runs.drop_old_runs, at=NOW + runs.KEPT) == 1

    left = await ledger.read(runs.runs_of, campaign="tea", limit=9)
    assert {run.id for run in left} == {"new", "open"}
    assert await ledger.read(find, name=run_lease("old")) is None


STATES: dict[str, tuple[dict[str, Any], runs.RunState]] = {
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
