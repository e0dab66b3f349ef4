"""Rows: retakes, and runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.aftercare.retake import plan_retakes
from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.stored_plans import ask_plan
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.engine.owner import is_dead, name_of
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.runs import (
    LeftRows,
    RunRow,
    find_run,
    left_under_way,
    run_again,
    runs_of,
)
from callsheet.tasks.runtime.errors import VideoKept

log = logging.getLogger("callsheet.board")

#: Rows that a refusal names at most.
NAMED = 20


def _check_money(board: Board, campaign: Campaign) -> None:
    """Raise ProblemDetails (409) where a campaign's videos are at the other kind of service."""
    if is_other_money(campaign, sandbox=board.sandbox):
        made = "with --sandbox" if campaign.sandbox else "with a real service"
        raise ProblemDetails(409, f"campaign {campaign.name} was made {made}; nothing was spent")


# Other takes of rows: a plan with a price for each, approved and executed like any other.


async def plan_of_retakes(
    board: Board,
    person: Person,
    campaign: str,
    *,
    rows: Sequence[str] | None = None,
    select: str | None = None,
    because: str | None = None,
    even_kept: bool = False,
) -> str:
    """Have other takes of rows priced; return the id of the plan, while it is being quoted.

    `rows` names them, `select` chooses among those that can be taken again. A video that someone
    keeps is taken again where it is named, with `even_kept`: a selection leaves it out.

    Raises ProblemDetails: 404 for no such campaign, 422 for rows that are not there or cannot be
    taken again, or for none.
    """
    if not rows and not select:
        raise ProblemDetails(
            422, "say which rows are to be taken again", remedy='"rows": [...] or "select": "..."'
        )
    _check_money(board, await board.campaign(campaign))
    ask = RunOptions(
        campaign=campaign,
        rows=tuple(rows) if rows else None,
        select=select,
        because=because,
        # A selection leaves out what is kept.
        even_kept=even_kept and bool(rows),
        sandbox=board.sandbox,
    )
    try:
        plan = await board.read(plan_retakes, ask=ask)
    except VideoKept as error:
        remedy = '"even_kept": true has them made again all the same'
        raise ProblemDetails(422, str(error), remedy=remedy) from error
    if not plan.spending or (rows and plan.named("fetch")):
        raise ProblemDetails(422, _unfit(plan))
    ask = ask.but(rows=tuple(plan.named("retake")), select=None)
    plan_id = board.token()
    change = partial(ask_plan, plan_id=plan_id, kind="retake", campaign=campaign)
    change = partial(change, terms=ask.kept(), by=person.name, at=board.clock())
    await board.write(change)
    board.attention.set()
    return plan_id


def _unfit(plan: Plan) -> str:
    """Say which of the rows of a plan cannot be taken again, and why."""
    several = [line for line in plan.lines if line.action != "retake"]
    named = ", ".join(f"{line.row} ({line.why})" for line in several[:NAMED])
    words = f"{named} cannot" if named else "none of these rows can"
    return f"{words} be taken again; nothing was spent"


# Runs of approved plans: what became of them, and having one go on that has ended early.


async def see_run(board: Board, person: Person, run_id: str) -> RunRow:
    """Return a run of a plan that was approved here; raises ProblemDetails (404) for none."""
    run = await board.read(find_run, run_id=run_id)
    if run is None or not run.is_asked:
        raise ProblemDetails(404, "there is no such run")
    return run


async def see_runs(board: Board, person: Person, campaign: str, *, limit: int = 20) -> list[RunRow]:
    """Return the newest runs of a campaign, from whatever door."""
    return await board.read(runs_of, campaign=campaign, limit=limit)


async def resume(board: Board, person: Person, run_id: str) -> RunRow:
    """Resume a run that has ended or whose lease lapsed; it pays for what was approved, at most.

    Raises ProblemDetails: 403 below the role of an approver, 409 while its lease lives.
    """
    if not person.may("approver"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {person.role}")
    run = await see_run(board, person, run_id)
    if not await board.write(run_again, run_id=run_id, at=board.clock()):
        raise _at_work(await see_run(board, person, run_id))
    note = partial(note_act, act="carry on", by=person.name, at=board.clock())
    await board.write(note, campaign=run.campaign, words=f"run {run_id}")
    board.attention.set()
    return run


def _at_work(run: RunRow) -> ProblemDetails:
    """Say who has the lease of a run, and until when."""
    until = datetime.fromtimestamp(run.leased_until or 0.0, UTC)
    return ProblemDetails(
        409,
        f"the run is active: {name_of(run.place)} has its lease until {until:%H:%M:%S} UTC; "
        "nothing was changed",
        remedy="wait until the run ends; if its process is gone, its lease is not renewed and the "
        "board resumes the run by itself",
    )


# Rows that a run left under way, from whatever door it came: a typed one, after a power cut.


async def see_left(board: Board, only: str | None = None) -> list[LeftRows]:
    """Return the campaigns (or `only` that) whose rows under way no one resumes by itself."""
    found = await board.read(left_under_way, is_dead=is_dead, only=only)
    return [one for one in found if not one.board_resumes and one.campaign.id not in board.resuming]


async def resume_left(board: Board, person: Person, campaign: str) -> int:
    """Resume a campaign's rows under way, which pays for nothing new; return how many they are.

    Raises ProblemDetails: 404 for no such campaign, 409 where a process is at work on it, or its
    videos are at the other kind of service.
    """
    found = await board.campaign(campaign)
    _check_money(board, found)
    left = next(iter(await see_left(board, campaign)), None)
    if left is None:
        raise ProblemDetails(409, f"no row of {campaign} is under way without a run")
    note = partial(note_act, act="carry on", by=person.name, at=board.clock())
    await board.write(note, campaign=campaign, rows=left.rows, words="rows under way")
    board.resuming.add(found.id)
    board.attention.set()
    return left.rows
