"""Set right what a comparison found, as far as that is free and certain.

Every change is a guarded one of the ledger: what has moved on since it was read is left alone.
Nothing here asks anything of the service.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from sqlalchemy import Connection

from tasks.aftercare.reconcile.differences import Adopt, Book, Carry, Change, Comparison
from tasks.aftercare.reconcile.reconcile import applied
from tasks.campaign.lease import leased
from tasks.engine.context import Clock
from tasks.ledger import (
    Ledger,
    adopt_video,
    all_campaigns,
    correct_charge,
    move,
    resolve_call,
)


async def apply_changes(ledger: Ledger, comparison: Comparison, *, clock: Clock) -> Comparison:
    """Carry out every change of a comparison; say of each whether it was.

    Raises Parked, before anything is changed, while a run is at work on one of the campaigns.
    """
    concerned = {one.campaign for one in comparison.differences if one.change}
    async with AsyncExitStack() as held:
        for campaign in await ledger.read(all_campaigns):
            if campaign.name in concerned:
                await held.enter_async_context(leased(ledger, campaign, clock=clock))
        done = []
        for one in comparison.differences:
            change = one.change
            done.append(
                change is not None
                and await ledger.write(partial(_carry_out, change=change, at=clock()))
            )
    return applied(comparison, done)


def _carry_out(connection: Connection, change: Change, at: float) -> bool:
    match change:
        case Carry(row, take):
            words = f"reconciled: the service has {take.video_id}"
            return move(connection, row, "rendering", at=at, words=words, take=take)
        case Book(row, take, charged):
            return correct_charge(connection, row, take, charged=charged, at=at)
        case Adopt(video_id, row=row, take=take) if row is not None and take is not None:
            words = f"reconciled: it made {video_id}"
            return adopt_video(connection, row, take, video_id=video_id, at=at, words=words)
        case Adopt(video_id, call_id=call_id):
            return resolve_call(connection, call_id=call_id, video_id=video_id, at=at)
