"""Runs of approved plans: what became of them, and having one go on that has ended early."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.engine.owner import name_of
from callsheet.tasks.ledger import BoardRun, find_run, note_act, run_again, runs_of


async def see_run(board: Board, person: Person, run_id: str) -> BoardRun:
    """Return a run; raises ProblemDetails (404) for none."""
    run = await board.read(partial(find_run, run_id=run_id))
    if run is None:
        raise ProblemDetails(404, "there is no such run")
    return run


async def see_runs(
    board: Board, person: Person, campaign: str, *, limit: int = 20
) -> list[BoardRun]:
    """Return the newest runs that were started on the board for a campaign."""
    return await board.read(partial(runs_of, campaign=campaign, limit=limit))


async def carry_on(board: Board, person: Person, run_id: str) -> BoardRun:
    """Resume a run that has ended or whose lease lapsed; it pays for what was approved, at most.

    Raises ProblemDetails: 403 below the role of an approver, 409 while its lease lives.
    """
    if not person.may("approver"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {person.role}")
    run = await see_run(board, person, run_id)
    if not await board.write(partial(run_again, run_id=run_id, at=board.clock())):
        raise _at_work(await see_run(board, person, run_id))
    note = partial(note_act, act="carry on", by=person.name, at=board.clock())
    await board.write(partial(note, campaign=run.campaign, words=f"run {run_id}"))
    board.attention.set()
    return run


def _at_work(run: BoardRun) -> ProblemDetails:
    """Say who has the lease of a run, and until when."""
    until = datetime.fromtimestamp(run.leased_until or 0.0, UTC)
    return ProblemDetails(
        409,
        f"the run is active: {name_of(run.place)} has its lease until {until:%H:%M:%S} UTC; "
        "nothing was changed",
        remedy="wait until the run ends; if its process is gone, its lease is not renewed and the "
        "board resumes the run by itself",
    )
