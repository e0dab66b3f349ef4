"""Sends webhook events to Prefect, for automations and to resume idle campaigns.

An event may be lost: nothing depends on it and nothing waits for it. `flows.event_stream` sends the
events; the ledger tells whose video it is.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from callsheet.tasks.engine.owner import is_at_work
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import Hint, TrackedVideo, tracked_videos
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact

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

Resource = Mapping[str, str]
Payload = Mapping[str, str | bool]


class Emit(Protocol):
    """Sends one event and returns when it has arrived, however long that takes."""

    async def __call__(
        self, event: str, *, resource: Resource, related: Sequence[Resource], payload: Payload
    ) -> None: ...


#: Opens a connection for events.
Stream = Callable[[], AbstractAsyncContextManager[Emit]]


@asynccontextmanager
async def announcer(
    ledger: Ledger,
    *,
    stream: Stream | None = None,
    clock: Callable[[], float] = time.time,
    drain: float = DRAIN,
) -> AsyncIterator[Callable[[Hint], None]]:
    """Yield a function that queues a webhook event for Prefect; it never waits or raises.

    Closing takes at most `drain` seconds, and about one more if Prefect does not answer.
    """
    waiting: asyncio.Queue[Hint] = asyncio.Queue(ROOM)
    events = HintEvents(ledger, clock)
    heard = 0

    def announce(hint: Hint) -> None:
        nonlocal heard
        if hint.ping or not hint.videos:
            return
        heard += 1
        # Dropped events are counted at the end.
        with suppress(asyncio.QueueFull):
            waiting.put_nowait(hint)

    telling = asyncio.create_task(_tell(waiting, events, stream or _to_prefect))
    try:
        yield announce
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(drain):
                await waiting.join()
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        if heard > events.told:
            log.warning(
                "%d of %d webhook events were not sent to Prefect", heard - events.told, heard
            )


async def _tell(waiting: asyncio.Queue[Hint], events: HintEvents, stream: Stream) -> None:
    """Send the queued events one after the other, forever."""
    async with stream() as emit:
        while True:
            hint = await waiting.get()
            try:
                await events.tell(hint, emit)
            except Exception as error:
                # An error in one event must not stop the next one.
                words = str(error) if isinstance(error, CallsheetError) else type(error).__name__
                log.warning("a webhook event was not sent to Prefect: %s", words)
            finally:
                waiting.task_done()


@asynccontextmanager
async def _to_prefect() -> AsyncIterator[Emit]:
    # Prefect takes seconds to import, and webhook events arrive meanwhile.
    prefect = await asyncio.to_thread(importlib.import_module, "callsheet.flows.event_stream")
    async with prefect.event_stream() as emit:
        yield emit


@dataclass
class HintEvents:
    """Turns webhook events into Prefect events; remembers requested runs by campaign."""

    ledger: Ledger
    clock: Callable[[], float]
    #: By campaign: when the next request may be sent, and the pause after that.
    called: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Number of processed webhook events.
    told: int = 0

    async def tell(self, hint: Hint, emit: Emit) -> None:
        """Send the events for a webhook event; none for videos that are not in the ledger."""
        for found in await self.ledger.read(tracked_videos, videos=hint.videos):
            now = self.clock()
            attended = _is_attended(found)
            if attended:
                self.called.pop(found.campaign, None)
            events = [HEARD]
            if not attended and found.under_way and self._may_call(found.campaign, now):
                events.append(UNATTENDED)
            for event in events:
                await emit(
                    event,
                    resource=_resource(f"campaign.{found.campaign}", found.campaign),
                    related=[
                        _resource(f"row.{found.campaign}.{found.row}", found.row, role="row"),
                        _resource(f"video.{found.video_id}", found.video_id, role="video"),
                    ],
                    payload=_payload(found, attended=attended),
                )
        self.told += 1

    def _may_call(self, campaign: str, now: float) -> bool:
        due, pause = self.called.get(campaign, (now, PAUSE))
        if now < due:
            return False
        self.called[campaign] = (now + pause, min(2 * pause, LONGEST_PAUSE))
        return True


def _is_attended(found: TrackedVideo) -> bool:
    """Return whether a run is active: its lease is valid and its process alive."""
    return is_at_work(found.owner)


def _resource(name: str, label: str, *, role: str | None = None) -> Resource:
    named = {"prefect.resource.id": f"callsheet.{name}", "prefect.resource.name": label}
    return named if role is None else {**named, "prefect.resource.role": role}


def _payload(found: TrackedVideo, *, attended: bool) -> Payload:
    return {
        "campaign": found.campaign,
        "row": found.row,
        "video_id": found.video_id,
        # Prefect stores events, and the signature of an address is a secret.
        "sheet": redact(found.sheet or ""),
        "attended": attended,
    }
