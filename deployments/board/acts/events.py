"""A campaign's events as they come: each once, in order, none left out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.tasks.ledger import ShownEvent, events_between
from callsheet.tasks.ledger.horizon import Horizon, horizon

#: Seconds between two looks: a page is told of changes twice a second at most.
PAUSE = 0.5
#: Events that are told at once at most.
MANY = 500


async def events_as_they_come(
    board: Board, campaign_id: int, *, after: int | None, pause: float = PAUSE
) -> AsyncIterator[Sequence[ShownEvent]]:
    """Yield a campaign's events behind one (None: from now on), some at a time, for ever.

    What has come since is yielded after every pause, also where it is nothing. Whoever broke off
    goes on exactly behind the last event that was yielded.
    """
    known = Horizon()
    while after is None:
        known = await board.read(partial(horizon, before=known))
        after = known.told if known.told == known.newest else None
        if after is None:
            await asyncio.sleep(pause)
    while True:
        known = await board.read(partial(horizon, before=known))
        found: Sequence[ShownEvent] = ()
        if known.told > after:
            between = partial(events_between, after=after, upto=known.told, limit=MANY)
            found = await board.read(partial(between, campaign_id=campaign_id))
            after = found[-1].id if len(found) == MANY else known.told
        yield found
        if len(found) < MANY:
            await asyncio.sleep(pause)
