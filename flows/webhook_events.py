"""Tells Prefect of hints, so that automations can hang on them and an idle campaign is taken up.

What is told may be lost: nothing depends on it, and nobody waits for it. Knows neither who hears
hints nor what carries events (`flows.event_stream`); the ledger says whose video it is.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from callsheet.tasks.engine.owner import is_at_work
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import Hint, TrackedVideo, tracked_videos
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact

log = logging.getLogger("callsheet.events")

#: Told for every video of ours that a hint names.
HEARD = "callsheet.hint"
#: Told as well when a row is under way and no run carries its campaign.
UNATTENDED = "callsheet.hint.unattended"
#: Hints that wait to be told; what comes beyond them is counted and dropped.
ROOM = 1000
#: Between two calls for a run of the same campaign, in seconds: it takes some to start. Doubled
#: as long as none comes, so that runs do not pile up where nobody starts them.
PAUSE, LONGEST_PAUSE = 60.0, 3600.0
#: How long the rest may take to be told at the end, in seconds.
DRAIN = 3.0

Resource = Mapping[str, str]
Payload = Mapping[str, str | bool]


class Emit(Protocol):
    """Sends one event and returns when it is there, however long that takes."""

    async def __call__(
        self, event: str, *, resource: Resource, related: Sequence[Resource], payload: Payload
    ) -> None: ...


#: Opens the way that events take.
Stream = Callable[[], AbstractAsyncContextManager[Emit]]


@asynccontextmanager
async def announcer(
    ledger: Ledger,
    *,
    stream: Stream | None = None,
    clock: Callable[[], float] = time.time,
    drain: float = DRAIN,
) -> AsyncIterator[Callable[[Hint], None]]:
    """Yield what tells Prefect of a hint: it never waits and never raises.

    Leaving takes `drain` seconds at most, and about one more where Prefect does not answer.
    """
    waiting: asyncio.Queue[Hint] = asyncio.Queue(ROOM)
    events = HintEvents(ledger, clock)
    heard = 0

    def announce(hint: Hint) -> None:
        nonlocal heard
        if hint.ping or not hint.videos:
            return
        heard += 1
        # What finds no room is counted at the end.
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
            log.warning("%d of %d hints were not told to Prefect", heard - events.told, heard)


async def _tell(waiting: asyncio.Queue[Hint], events: HintEvents, stream: Stream) -> None:
    """Tell of one hint after the other, for ever."""
    async with stream() as emit:
        while True:
            hint = await waiting.get()
            try:
                await events.tell(hint, emit)
            except Exception as error:
                # Nothing that is wrong with one hint may keep the next from being told.
                words = str(error) if isinstance(error, CallsheetError) else type(error).__name__
                log.warning("Prefect was not told of a hint: %s", words)
            finally:
                waiting.task_done()


@asynccontextmanager
async def _to_prefect() -> AsyncIterator[Emit]:
    # Prefect takes seconds to import, and hints come in meanwhile.
    prefect = await asyncio.to_thread(importlib.import_module, "callsheet.flows.event_stream")
    async with prefect.event_stream() as emit:
        yield emit


@dataclass
class HintEvents:
    """Turns hints into events; remembers which campaigns a run was called for."""

    ledger: Ledger
    clock: Callable[[], float]
    #: By campaign: when the next call may go out, and the pause after that.
    called: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Hints that were looked into, and told where there was something to tell.
    told: int = 0

    async def tell(self, hint: Hint, emit: Emit) -> None:
        """Emit what is to be told of a hint; nothing for videos that are not ours."""
        for found in await self.ledger.read(partial(tracked_videos, videos=hint.videos)):
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
    """Whether a run carries the campaign: its lease has not lapsed, nor is its process gone."""
    return is_at_work(found.owner)


def _resource(name: str, label: str, *, role: str | None = None) -> Resource:
    named = {"prefect.resource.id": f"callsheet.{name}", "prefect.resource.name": label}
    return named if role is None else {**named, "prefect.resource.role": role}


def _payload(found: TrackedVideo, *, attended: bool) -> Payload:
    return {
        "campaign": found.campaign,
        "row": found.row,
        "video_id": found.video_id,
        # Prefect keeps events, and what signs an address is a secret.
        "sheet": redact(found.sheet or ""),
        "attended": attended,
    }
