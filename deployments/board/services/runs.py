"""Runs of plans that were approved here, and rows that any run left under way."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from pydantic import BaseModel, Field

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.places import Place
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.run_process import resuming
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.engine.owner import is_dead, name_of
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.runs import LeftRows, RunRow, find_run, left_under_way, run_again
from callsheet.tasks.values.answers import Moment

RunId = Annotated[str, Field(max_length=64)]


class RunOut(BaseModel):
    """A run; `exit` as the command line's exit status.

    `place` had its lease last; `leased_until` is null once that has lapsed or was released.
    """

    id: str
    plan_id: str
    campaign: str
    started_by: str
    asked_at: Moment
    place: str | None
    begun_at: Moment | None
    ended_at: Moment | None
    exit: int | None
    words: Place | None
    due_at: Moment | None
    leased_until: Moment | None


class Resumed(BaseModel):
    """How many rows under way are resumed."""

    campaign: str
    rows: int


async def get_run(board: Board, run: RunId) -> RunOut:
    """Return a run as it is now."""
    return RunOut(**asdict(await _see(board, run)))


async def carry_run_on(board: Board, run: RunId) -> RunOut:
    """Resume a run that has ended or whose lease lapsed; it pays for what was approved, at most."""
    found = await _see(board, run)
    if not await board.write(run_again, run_id=run, at=board.clock()):
        raise _at_work(await _see(board, run))
    note = partial(note_act, act="carry on", by=board.by, at=board.clock())
    await board.write(note, campaign=found.campaign, words=f"run {run}")
    board.attention.set()
    return RunOut(**asdict(found))


async def _see(board: Board, run_id: str) -> RunRow:
    run = await board.read(find_run, run_id=run_id)
    if run is None or not run.is_asked:
        raise ProblemDetails(404, "there is no such run")
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


async def carry_campaign_on(board: Board, campaign: str) -> Resumed:
    """Deliver the rows that a run left under way; it starts and pays for nothing new."""
    found = await board.campaign(campaign)
    check_same_money(found, sandbox=board.sandbox)
    left = next(iter(await see_left(board, campaign)), None)
    if left is None:
        raise ProblemDetails(409, f"no row of {campaign} is under way without a run")
    note = partial(note_act, act="carry on", by=board.by, at=board.clock())
    await board.write(note, campaign=campaign, rows=left.rows, words="rows under way")
    board.asked.add(resuming(found.id))
    board.attention.set()
    return Resumed(campaign=campaign, rows=left.rows)


async def see_left(board: Board, only: str | None = None) -> list[LeftRows]:
    """Return the campaigns (or `only` that) whose rows under way no one resumes by itself."""
    found = await board.read(left_under_way, is_dead=is_dead, only=only)
    begun = (one for one in found if resuming(one.campaign.id) not in board.asked)
    return [one for one in begun if not one.board_resumes]
