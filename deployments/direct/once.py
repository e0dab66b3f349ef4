"""Sends what is sent once: a paid call without a key, or one that would leave a second thing.

The one way out for every operation of class ONCE (specification, section 4: none of them takes
an idempotency key). A paid one is in the ledger before it leaves, and stays there as unsettled
until its outcome was told or a person has settled it: what nobody was told would be typed again.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from deployments.direct.endings import Unsettled
from deployments.direct.session import Session
from deployments.direct.trace import Paid, Trace
from deployments.signals import on_signal
from tasks.engine.context import organisation_of
from tasks.engine.direct_calls import journaled
from tasks.errors import OutcomeUnknown
from tasks.ledger import NEW
from tasks.service import Created, Operation, Started

T = TypeVar("T")
Look = Callable[[str], Unsettled]


async def pay_once(
    at: Session, call: Paid, send: Callable[[], Awaitable[Created | Started]]
) -> Created | Started:
    """Return what `send` returns; it is called once, whatever becomes of it.

    When its answer is lost, what shows that it was carried out is looked for. Raises SpendRefused,
    and sends nothing, while an earlier such call is not settled; Unsettled when nobody knows
    whether this one was carried out; the client's own errors when it was not.
    """
    assert at.ledger is not None, "a verb that pays has a ledger"
    trace = await Trace.begin(at, call)
    journal = journaled(
        at.ledger,
        organisation=organisation_of(at.settings),
        operation=call.operation.name,
        body=call.body,
        clock=time.time,
        target=call.video_id or NEW,
    )
    entry = await at.until_told.enter_async_context(journal)
    try:
        made = await send_once(call.operation, send, _unsettled(call, entry.number))
    except Unsettled as lost:
        found = await trace.find() if isinstance(lost.__cause__, OutcomeUnknown) else None
        if found is None:
            raise
        made = found
    entry.made(made.video_id)
    return made


async def send_once(operation: Operation, send: Callable[[], Awaitable[T]], look: Look) -> T:
    """Return what `send` returns; raise what `look` makes of the words, should that be unknown.

    Somebody who stops waiting for the answer does not know the outcome either.
    """
    sending = asyncio.ensure_future(send())
    try:
        with _patient(sending):
            return await sending
    except OutcomeUnknown as error:
        raise look(str(error).rstrip(".")) from error
    except asyncio.CancelledError:
        raise look(f"{operation.name}: sent, but its answer was not waited for") from None


def _unsettled(call: Paid, number: int) -> Look:
    look = "`callsheet video list` shows whether there is a new video"
    if call.video_id is not None:
        look = f"`callsheet video show {call.video_id}`, `callsheet video renders {call.video_id}`"
    settle = f"`callsheet resolve --call {number}` with --adopt ID or --abandon"

    def tell(words: str) -> Unsettled:
        return Unsettled(
            f"{words}; it may have been carried out and charged",
            remedy=f"look first: {look}; then settle it: {settle}. "
            "Doing it again may pay a second time",
        )

    return tell


@contextmanager
def _patient(sending: asyncio.Future[Any]) -> Iterator[None]:
    """Let a call under way end at the first signal, and be left at the second."""
    warned = False

    def stop() -> None:
        nonlocal warned
        if warned:
            sending.cancel()
            return
        warned = True
        words = "the call is under way and its answer is waited for; once more leaves it"
        print(words, file=sys.stderr)

    with on_signal(stop):
        yield
