"""Settling a row of which nobody knows whether it was paid for: a person gives its take up."""

from __future__ import annotations

from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.credits import in_credits
from callsheet.tasks.ledger import find_campaign, give_up, rows_of


async def settle(board: Board, person: Person, campaign: str, row: str) -> str:
    """Give up a row's uncertain take, counting what was set aside for it as spent; say so.

    The row is cancelled. Raises ProblemDetails: 403 below the role of an approver, 404 for no such
    row, 409 where it has moved on.
    """
    if not person.may("approver"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {person.role}")
    known = await board.read(partial(find_campaign, name=campaign))
    rows = (
        [] if known is None else await board.read(partial(rows_of, campaign_id=known.id, row=row))
    )
    if not rows:
        raise ProblemDetails(404, f"{campaign} has no row {row[:80]}")
    found = rows[0]
    if found.state != "uncertain" or found.take is None:
        raise ProblemDetails(409, f"{row} is {found.state}, and only an uncertain row is settled")
    spent = found.take.reserved
    change = partial(give_up, row=found, take=found.take, charged=spent, again=False)
    if not await board.write(partial(change, at=board.clock())):
        raise ProblemDetails(409, f"{row} changed meanwhile: look at it again")
    return f"{row} was given up, {in_credits(spent)} counted as spent on it"
