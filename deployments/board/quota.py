"""How much a person may upload in a day, and how long an upload without a plan is stored."""

from __future__ import annotations

import asyncio
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.campaign.handed_in import bytes_of, forget
from callsheet.tasks.ledger.plans import drop_sheets, sheets_by
from callsheet.tasks.plural import say_bytes

DAY = 86400.0
#: Sheets and bytes of one person in 24 hours.
SHEETS, BYTES = 300, 500_000_000
#: Seconds that a sheet without a plan is stored.
LIFETIME = 30 * DAY


async def make_room(board: Board, person: Person, size: int) -> None:
    """Remove uploads that are past their lifetime; raise ProblemDetails (429) above the quota.

    The caller holds `board.uploads` until the new sheet is in the ledger.
    """
    now = board.clock()
    old = await board.write(partial(drop_sheets, before=now - LIFETIME))
    await asyncio.to_thread(forget, board.settings, old)
    mine = await board.read(partial(sheets_by, person=person.name, since=now - DAY))
    used = await asyncio.to_thread(bytes_of, board.settings, mine)
    if len(mine) < SHEETS and used + size <= BYTES:
        return
    raise ProblemDetails(
        429,
        f"you have uploaded {len(mine)} sheets with {say_bytes(used)} in 24 hours; a person may "
        f"upload {SHEETS} with {say_bytes(BYTES)}. This sheet was not stored",
        title="Too many uploads",
        remedy="use a sheet that you have uploaded already, or try again tomorrow",
    )
