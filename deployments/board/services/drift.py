"""What changed outside since delivery: looked for when a person asks, and repaired at no charge."""

from __future__ import annotations

from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.tasks.aftercare.findings import Repairs
from callsheet.tasks.aftercare.repairs import plan_repairs, repair
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.people import Person


async def see_drift(board: Board, person: Person, campaign: str) -> Repairs:
    """Compare a campaign with service and store; raises ProblemDetails (404) for an unknown one.

    Reads only. Raises Parked or ConfigurationError when the service cannot be asked.
    """
    known = await board.campaign(campaign)
    plan = partial(plan_repairs, board.ledger, board.settings, known, files=True)
    async with board.service() as service:
        return await plan(service=service, clock=board.clock)


async def repair_drift(board: Board, person: Person, campaign: str) -> Repairs:
    """Fix what changed where that is free; return what was found, and what was done about it."""
    found = await see_drift(board, person, campaign)
    note = partial(note_act, act="repair", by=person.name, at=board.clock(), campaign=campaign)
    await board.write(note, rows=len({one.owner[1] for one in found.drift if one.row}))
    async with connect(board.settings, clock=board.clock) as at:
        return await repair(found, at)
