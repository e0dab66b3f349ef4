"""Rows: retakes, cancellations, settlements, and runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from pydantic import BaseModel

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.aftercare.approval import cancel_on_board
from callsheet.tasks.aftercare.cancel import LIVE, endings, finish, released
from callsheet.tasks.aftercare.retake import plan_retakes
from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.stored_plans import ask_plan
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.engine.owner import is_dead, name_of
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.runs import (
    LeftRows,
    RunRow,
    find_run,
    left_under_way,
    run_again,
    runs_of,
)
from callsheet.tasks.ledger.takes import give_up
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.errors import CallsheetError, VideoKept
from callsheet.tasks.values.amounts import as_number, in_credits

log = logging.getLogger("callsheet.board")

#: Rows that a refusal names at most.
NAMED = 20

_under_way: set[asyncio.Task[None]] = set()


class CancelOut(BaseModel):
    """How many rows were to be cancelled, how many are already, and the credits let go by that."""

    asked: int
    cancelled: int
    released: int | float


async def cancel(
    board: Board,
    person: Person,
    campaign: str,
    *,
    rows: Sequence[str] | None = None,
    select: str | None = None,
) -> CancelOut:
    """Cancel rows, or all that is left of a campaign where neither names nor chooses any.

    What is under way is marked, and cancelled by the run that is at work, or in the background
    here. Raises ProblemDetails (404) for no such campaign, NotHere for rows that are not there.
    """
    ask = RunOptions.of({"campaign": campaign, "rows": rows, "select": select})
    change = partial(cancel_on_board, ask=ask, by=person.name, at=board.clock())
    plan = await board.write(change)
    if plan is None:
        raise ProblemDetails(404, f"there is no campaign {campaign}")
    found = await board.read(endings, plan=plan)
    if not found and not ask.is_whole:
        raise ProblemDetails(422, "no row of the campaign is chosen; nothing was cancelled")
    asked = sum(one.was in LIVE for one in found)
    words = "the rest" if ask.is_whole else "rows"
    note = partial(note_act, act="cancel", by=person.name, at=board.clock(), words=words)
    await board.write(note, campaign=campaign, rows=asked)
    if any(one.waits for one in found):
        task = asyncio.create_task(_finish(board, plan))
        _under_way.add(task)
        task.add_done_callback(_under_way.discard)
    cancelled = sum(one.was != one.now for one in found)
    freed = as_number(released(found)) or 0
    return CancelOut(asked=asked, cancelled=cancelled, released=freed)


async def leave_cancels() -> None:
    """Leave what is being cancelled to the next run, when the board ends."""
    for task in _under_way:
        task.cancel()
    await asyncio.gather(*_under_way, return_exceptions=True)


async def _finish(board: Board, plan: Plan) -> None:
    try:
        await finish(board.ledger, board.settings, plan, clock=board.clock)
    except CallsheetError as error:
        # What is marked stays so: the next run of the campaign obeys.
        log.warning("not all of %s is cancelled yet: %s", plan.campaign, error)


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
    _check_money(board, await campaign_named(board, campaign))
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


async def campaign_named(board: Board, name: str) -> Campaign:
    """Return a campaign; raises ProblemDetails (404) for none."""
    found = await board.read(find_campaign, name=name)
    if found is None:
        raise ProblemDetails(404, f"there is no campaign {name}")
    return found


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
    found = await campaign_named(board, campaign)
    _check_money(board, found)
    left = next(iter(await see_left(board, campaign)), None)
    if left is None:
        raise ProblemDetails(409, f"no row of {campaign} is under way without a run")
    note = partial(note_act, act="carry on", by=person.name, at=board.clock())
    await board.write(note, campaign=campaign, rows=left.rows, words="rows under way")
    board.resuming.add(found.id)
    board.attention.set()
    return left.rows


# Settling a row of which no one knows whether it was paid for: a person gives its take up.


async def settle(board: Board, person: Person, campaign: str, row: str) -> str:
    """Give up a row's uncertain take, counting what was set aside for it as spent; say so.

    The row is cancelled. Raises ProblemDetails: 403 below the role of an approver, 404 for no such
    row, 409 where it has moved on.
    """
    if not person.may("approver"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {person.role}")
    known = await board.read(find_campaign, name=campaign)
    rows = [] if known is None else await board.read(rows_of, campaign_id=known.id, row=row)
    if not rows:
        raise ProblemDetails(404, f"{campaign} has no row {row[:80]}")
    found = rows[0]
    if found.state != "uncertain" or found.take is None:
        raise ProblemDetails(409, f"{row} is {found.state}, and only an uncertain row is settled")
    spent = found.take.reserved
    change = partial(give_up, row=found, take=found.take, charged=spent, again=False)
    if not await board.write(change, at=board.clock()):
        raise ProblemDetails(409, f"{row} changed meanwhile: look at it again")
    return f"{row} was given up, {in_credits(spent)} counted as spent on it"
