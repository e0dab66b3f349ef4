"""The ledger's record of a paid call without a key that a person sends by hand.

The intent is committed before the call leaves and closed with what became of it, so that what
was paid for is in the ledger, and nobody sends a second one while the first is not settled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from callsheet.tasks.clock import UnixClock
from callsheet.tasks.errors import (
    CallsheetError,
    NotSent,
    RateLimited,
    Refused,
    RunStopped,
    SpendRefused,
)
from callsheet.tasks.ledger import NEW, CallOutcome, Ledger, close_call, open_call, unsettled_calls
from callsheet.tasks.suggest import suggest


@dataclass
class Entry:
    """One call in the ledger; `video_id` is set to the video that it made or changed."""

    number: int
    video_id: str | None = None


@asynccontextmanager
async def journaled(
    ledger: Ledger,
    *,
    organisation: str,
    operation: str,
    body: bytes,
    clock: UnixClock,
    target: str = NEW,
) -> AsyncIterator[Entry]:
    """Record a call around its sending; `target` is the video it changes.

    Raises SpendRefused, and nothing may be sent, while another call for the same target is open
    or its outcome unknown.
    """
    number = await _open(ledger, organisation, operation, body, target, clock())
    entry = Entry(number)
    outcome: CallOutcome = "unknown"
    try:
        yield entry
        outcome = "made"
    except (NotSent, Refused, RateLimited):
        outcome = "refused"
        raise
    finally:
        close = partial(
            close_call, call_id=number, outcome=outcome, at=clock(), video_id=entry.video_id
        )
        # Also when the command is being stopped: an open call would block the next one.
        try:
            await asyncio.shield(ledger.write(close))
        except CallsheetError as error:
            if outcome == "refused":
                raise
            # The request left: whatever keeps the ledger from noting it, it may be charged.
            stopped = RunStopped.by(error)
            words = f"the {operation} call was sent and may be charged (call {number})"
            raise stopped.saying(words, spent=None) from error


async def _open(
    ledger: Ledger, organisation: str, operation: str, body: bytes, target: str, now: float
) -> int:
    found = await ledger.read(partial(unsettled_calls, organisation=organisation))
    same = [call for call in found if call.target == target and (target or not call.closed_at)]
    number = None
    if not same:
        number = await ledger.write(
            partial(
                open_call,
                organisation=organisation,
                operation=operation,
                body=body,
                target=target,
                at=now,
            )
        )
    if number is None:
        named = ", ".join(str(call) for call in same) or "another process"
        known = str(same[0]) if same else "N"
        raise SpendRefused(
            f"a paid call before this one is not settled: {named}; nothing was spent",
            remedy="look at what it made, then settle it: "
            f"`{suggest('resolve', '--call', known, '--adopt', 'ID')}` or "
            f"`{suggest('resolve', '--call', known, '--abandon')}`",
        )
    return number
