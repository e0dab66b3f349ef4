"""When a run begins nothing more although rows are left: it is asked to, its time is up, a gate
stays closed for long, or the service answers nobody.

One video's trouble is no silence: before a run is parked for it, a read of its own is tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.policy.observations import (
    NotStored,
    Observation,
    Troubled,
    Unknown,
    Unreached,
)
from callsheet.tasks.errors import (
    CallsheetError,
    NotSent,
    OutcomeUnknown,
    RunStopped,
    ServerTrouble,
    ServiceError,
)
from callsheet.tasks.service import VideoService

#: A gate closed for longer than this parks the run instead of pausing it, in seconds.
PAUSE_LIMIT = 900.0
#: A service that has not answered for so long is worth a word, in seconds.
SILENT = 5.0
#: After so long without an answer it is asked whether the service is there at all, in seconds.
SILENCE = 120.0
#: When to come back to a service that is not there, in seconds.
LATER = 300.0


class Stop:
    """Why and until when a run begins nothing more; the first reason stands.

    `then` is called once, at that moment.
    """

    def __init__(self, at: Context, *, max_wait: float | None, then: Callable[[], None]) -> None:
        self.because: str | None = None
        self.until: datetime | None = None
        self._at = at
        self._max_wait = max_wait
        self._then = then
        self._silent_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def waits_for(self) -> str | None:
        """Say what no row can go on without, and since or until when."""
        gate, silent = self._at.service.gate, self._silence()
        if not gate.is_open and gate.closed_until is not None:
            return f"the service accepts no requests before {gate.closed_until:%H:%M:%S} UTC"
        if silent > SILENT:
            since = datetime.fromtimestamp(self._at.clock() - silent, UTC)
            return f"the service has not answered since {since:%H:%M:%S} UTC"
        return self._at.service.pace.limits()

    def _silence(self) -> float:
        """Return for how long no call was answered, in seconds."""
        if self._silent_since is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._silent_since

    def watch(self) -> None:
        """Begin to count the time that the run may take."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        if self._max_wait is not None:
            words = "the time given with --max-wait is up"
            self._timer = loop.call_later(self._max_wait, self.ask, words)

    def close(self) -> None:
        """Count the time no more."""
        if self._timer is not None:
            self._timer.cancel()

    def ask(self, because: str, until: float | None = None) -> None:
        """Stop now; `until` is when to come back, in Unix seconds."""
        if self.because is not None:
            return
        self.because = because
        self.until = datetime.fromtimestamp(until or self._at.clock(), UTC)
        self._then()

    def pause(self, until: float) -> None:
        """Make no request before a moment; stop where that is too far away to wait for."""
        limit = PAUSE_LIMIT
        if self._max_wait is not None:
            spent = asyncio.get_running_loop().time() - self._began
            limit = min(limit, max(0.0, self._max_wait - spent))
        if until - self._at.clock() > limit:
            self.ask("the service asks not to be called before then", until)

    async def notice(self, observation: Observation) -> None:
        """Stop when no call at all is answered, counted from the first that was not."""
        if isinstance(observation, NotStored | Unknown):
            # It may have been answered and may not.
            return
        now = asyncio.get_running_loop().time()
        if not isinstance(observation, Unreached | Troubled):
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since > SILENCE:
            self._silent_since = now
            if await answers(self._at.service):
                self._silent_since = None
            elif self._silent_since == now:
                words = f"the service has not answered for {SILENCE:.0f} s ({observation.words})"
                self.ask(words, self._at.clock() + LATER)


def broken_off(fault: BaseException) -> BaseException:
    """Return a fault as what it means in the middle of a run, where something may be paid."""
    if not isinstance(fault, CallsheetError) or isinstance(fault, RunStopped):
        return fault
    return RunStopped.by(fault, remedy=fault.remedy or "run the same command again")


async def answers(service: VideoService) -> bool:
    """Whether the service answers any read: one kind of request may be in trouble by itself."""
    for read in (partial(_first_video, service), service.templates):
        try:
            await read()
        except (NotSent, OutcomeUnknown, ServerTrouble):
            continue
        except ServiceError:
            pass
        return True
    return False


async def _first_video(service: VideoService) -> object:
    async with aclosing(service.list_videos()) as videos:  # type: ignore[type-var]
        return await anext(videos, None)
