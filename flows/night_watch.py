"""What befalls a night's flow run from outside while it lasts, and what its page says meanwhile.

A night that is cancelled, paused or left by its worker begins nothing more and ends in order.
Nobody's campaign is cancelled with it: what is under way goes on at the service, and the next night
brings it home.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from prefect import get_run_logger
from prefect.client.schemas.objects import State
from prefect.exceptions import Pause
from prefect.states import Cancelled

from callsheet.flows.endings import Ended, park
from callsheet.flows.interruption import ASK, WORDS, Kind, ask_prefect, on_sigterm
from callsheet.flows.shown import showing
from callsheet.tasks.campaign.run import Run

_LEFT = "the service continues what has started, and the next nightly run downloads it"


class NightWatch:
    """Stops the runs of a night where somebody wants its flow run to end."""

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self._state: State[Any] | None = None
        self._runs: list[Run] = []
        self._acting: asyncio.Task[None] | None = None

    @property
    def stopped(self) -> bool:
        """Whether no further sheet is to be begun."""
        return self.kind is not None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen to Prefect and its worker; raise how the flow run ends where they spoke."""
        asking = asyncio.create_task(self._ask(), name="state of the flow run")
        try:
            with on_sigterm(self._signalled):
                yield
        finally:
            asking.cancel()
        if self._acting is not None:
            await asyncio.wait({self._acting})
        if self.kind is not None:
            await self._end(self.kind)

    @asynccontextmanager
    async def watch(self, run: Run) -> AsyncIterator[None]:
        """Show a run of the night in Prefect, and have it stopped with the night."""
        self._runs.append(run)
        if self.kind is not None:
            run.lose(WORDS[self.kind])
        try:
            async with showing(run):
                yield
        finally:
            self._runs.remove(run)

    async def _ask(self) -> None:
        while self.kind is None:
            await asyncio.sleep(ASK)
            kind, self._state = await ask_prefect()
            if kind is not None:
                self._stop(kind)

    def _signalled(self) -> None:
        if self._acting is None:
            self._acting = asyncio.create_task(self._find_out(), name="signal")

    async def _find_out(self) -> None:
        kind, self._state = await ask_prefect()
        self._stop(kind or "stopped")

    def _stop(self, kind: Kind) -> None:
        if self.kind is None:
            self.kind = kind
            for run in self._runs:
                run.lose(WORDS[kind])

    async def _end(self, kind: Kind) -> None:
        words = f"{WORDS[kind]}: {_LEFT}"
        get_run_logger().warning(words)
        if kind == "paused":
            raise Pause(words, state=self._state)
        if kind == "stopped":
            raise Ended(await park(words, datetime.now(UTC), at_once=True))
        raise Ended(Cancelled(message=words))
