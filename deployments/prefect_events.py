"""Sends webhook events to Prefect, for automations and to resume idle campaigns.

An event may be lost: nothing depends on it and nothing waits for it. The ledger tells whose video
it is. Speaks to the server's own interface; imports nothing of Prefect.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import httpx

from callsheet.deployments.prefect_address import prefect_address
from callsheet.tasks.engine.owner import is_at_work
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import Hint, TrackedVideo, tracked_videos
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.retry import RetryPolicy, retry

log = logging.getLogger("callsheet.events")

#: Sent for every video of the ledger that a webhook event names.
HEARD = "callsheet.hint"
#: Sent as well if the row is in progress and no run processes its campaign.
UNATTENDED = "callsheet.hint.unattended"
#: Maximum queued webhook events; further ones are counted and dropped.
ROOM = 1000
#: Seconds between two requests for a run of the same campaign. Doubled while no run starts, so
#: that runs do not pile up without a Prefect worker.
PAUSE, LONGEST_PAUSE = 60.0, 3600.0
#: Time limit for sending queued events at the end, in seconds.
DRAIN = 3.0
#: Timeout for one event, in seconds. An unavailable server is asked again for ever.
ANSWER, POLICY = 15.0, RetryPolicy(first=1.0, longest=30.0, jitter=0.0)

#: Sends one event and returns when it has arrived, however long that takes.
Emit = Callable[[Mapping[str, Any]], Awaitable[None]]


@asynccontextmanager
async def announcer(ledger: Ledger) -> AsyncIterator[Callable[[Hint], None]]:
    """Yield a function that tells the server that Prefect's settings name of a webhook event."""
    at = prefect_address()
    if at is None:
        log.warning("Prefect gets no events: PREFECT_API_URL is not set")
        yield lambda hint: None
        return
    async with (
        at.client(timeout=ANSWER) as client,
        announcing(ledger, partial(_send, client)) as announce,
    ):
        yield announce


@asynccontextmanager
async def announcing(
    ledger: Ledger,
    emit: Emit,
    *,
    clock: Callable[[], float] = time.time,
    drain: float = DRAIN,
) -> AsyncIterator[Callable[[Hint], None]]:
    """Yield a function that queues a webhook event for Prefect; it never waits or raises.

    Closing takes at most `drain` seconds.
    """
    waiting: asyncio.Queue[Hint] = asyncio.Queue(ROOM)
    heard = 0

    def announce(hint: Hint) -> None:
        nonlocal heard
        if hint.ping or not hint.videos:
            return
        heard += 1
        # Dropped events are counted at the end.
        with suppress(asyncio.QueueFull):
            waiting.put_nowait(hint)

    events = HintEvents(ledger, clock, emit)
    telling = asyncio.create_task(_tell(waiting, events))
    try:
        yield announce
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(drain):
                await waiting.join()
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        if heard > events.told:
            lost = heard - events.told
            log.warning("%d of %d webhook events were not sent to Prefect", lost, heard)


async def _tell(waiting: asyncio.Queue[Hint], events: HintEvents) -> None:
    """Send the queued events one after the other, forever."""
    while True:
        hint = await waiting.get()
        try:
            await events.tell(hint)
        except Exception as error:
            # An error in one event must not stop the next one.
            words = str(error) if isinstance(error, CallsheetError) else type(error).__name__
            log.warning("a webhook event was not sent to Prefect: %s", words)
        finally:
            waiting.task_done()


@dataclass
class HintEvents:
    """Turns webhook events into Prefect events; remembers requested runs by campaign."""

    ledger: Ledger
    clock: Callable[[], float]
    emit: Emit
    #: By campaign: when the next request may be sent, and the pause after that.
    called: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Number of processed webhook events.
    told: int = 0

    async def tell(self, hint: Hint) -> None:
        """Send the events for a webhook event; none for videos that are not in the ledger."""
        for found in await self.ledger.read(tracked_videos, videos=hint.videos):
            now = self.clock()
            # A run is active if its lease is valid and its process alive.
            attended = is_at_work(found.owner)
            if attended:
                self.called.pop(found.campaign, None)
            await self.emit(_event(HEARD, found, attended=attended))
            if not attended and found.under_way and self._may_call(found.campaign, now):
                await self.emit(_event(UNATTENDED, found, attended=attended))
        self.told += 1

    def _may_call(self, campaign: str, now: float) -> bool:
        due, pause = self.called.get(campaign, (now, PAUSE))
        if now < due:
            return False
        self.called[campaign] = (now + pause, min(2 * pause, LONGEST_PAUSE))
        return True


def _event(name: str, found: TrackedVideo, *, attended: bool) -> dict[str, Any]:
    """Return an event as Prefect takes it; one that arrives twice has the same id."""

    def resource(kind: str, of: str, label: str) -> dict[str, str]:
        named = {"prefect.resource.id": f"callsheet.{kind}.{of}", "prefect.resource.name": label}
        return named if kind == "campaign" else {**named, "prefect.resource.role": kind}

    return {
        "id": str(uuid4()),
        "event": name,
        "occurred": datetime.now(UTC).isoformat(),
        "resource": resource("campaign", found.campaign, found.campaign),
        "related": [
            resource("row", f"{found.campaign}.{found.row}", found.row),
            resource("video", found.video_id, found.video_id),
        ],
        "payload": {
            "campaign": found.campaign,
            "row": found.row,
            "video_id": found.video_id,
            # Prefect stores events, and the signature of an address is a secret.
            "sheet": redact(found.sheet or ""),
            "attended": attended,
        },
    }


async def _send(client: httpx.AsyncClient, event: Mapping[str, Any]) -> None:
    """Send an event, again and again for as long as the server is unavailable."""
    away = False

    async def attempt() -> bool:
        nonlocal away
        try:
            answer = await client.post("events", json=[event])
            if answer.status_code == 422:
                raise CallsheetError(f"Prefect refuses an event: {redact(answer.text)}")
            answer.raise_for_status()
        except httpx.HTTPError as error:
            if not away:
                words = redact(str(error)) or type(error).__name__
                log.warning("Prefect gets no webhook events: %s; retrying", words)
            away = True
            return False
        return True

    await retry(attempt, POLICY, again=lambda told: not told)
    if away:
        log.warning("Prefect gets webhook events again")
