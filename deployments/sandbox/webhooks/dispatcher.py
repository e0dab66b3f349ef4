"""Owns the sending of what is due: at once after a commit, fairly, and never too much at a time.

What is to be sent and what was tried lives in the database alone, so a sandbox that is killed
goes on where it stopped; what was under way then is sent again, as the same attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial

from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.webhooks import outbox
from callsheet.deployments.sandbox.webhooks.attempts import DeliveryAttempts, Ping
from callsheet.deployments.sandbox.webhooks.outbox import Delivery
from callsheet.deployments.sandbox.webhooks.webhook import Webhook

AT_ONCE = 32
#: Seconds. A machine that slept has timers that are late; looking again costs nothing.
LONGEST_SLEEP = 30.0
PAUSE_AFTER_TROUBLE = 1.0
LAST_WORDS = 0.5


class Dispatcher:
    """Sends what is due to whom it is due."""

    def __init__(
        self, database: Database, attempts: DeliveryAttempts, *, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._attempts = attempts
        self._now = now
        self._news = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._under_way: dict[int, tuple[str, asyncio.Task[None]]] = {}

    def start(self) -> None:
        """Begin to send, first of all what was left when the sandbox stopped."""
        self._running = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Look at once whether something is due; call it after the commit of an event."""
        self._news.set()

    def stop(self, webhook_id: str) -> None:
        """Break off what is under way to a webhook that is gone or switched off."""
        for whose, task in list(self._under_way.values()):
            if whose == webhook_id:
                task.cancel()

    async def ping(self, webhook: Webhook) -> Ping:
        """Send a test event now and say what the receiver answered."""
        return await self._attempts.ping(webhook)

    async def close(self) -> None:
        """Give what is under way a moment, then stop; the rest is sent at the next start."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        tasks = [task for _, task in self._under_way.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=LAST_WORDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._attempts.close()

    async def _run(self) -> None:
        while True:
            self._news.clear()
            try:
                pause = await self._round()
            except Exception as error:
                pause = _told(error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)

    async def _round(self) -> float:
        """Start what is due and there is room for; say how long nothing more will be due."""
        now = self._now()
        under_way = set(self._under_way)
        most = AT_ONCE + len(under_way)
        waiting, following = await self._database.run(
            lambda db: (outbox.due(db, now=now, most=most), outbox.next_due(db, now=now))
        )
        # What was under way when the database was asked may have ended since: it is not due now.
        self._share_out(
            {
                whose: [one for one in deliveries if one.n not in under_way]
                for whose, deliveries in waiting.items()
            }
        )
        return LONGEST_SLEEP if following is None else min(LONGEST_SLEEP, following - now)

    def _share_out(self, waiting: dict[str, list[Delivery]]) -> None:
        """Start deliveries, those of the least busy webhook first.

        A webhook may hold no more places than are left free, so that one whose receiver hangs
        never takes the last place from the others.
        """
        busy = Counter(whose for whose, _ in self._under_way.values())
        while waiting := {whose: left for whose, left in waiting.items() if left}:
            whose = min(waiting, key=busy.__getitem__)
            if busy[whose] >= AT_ONCE - len(self._under_way):
                return
            busy[whose] += 1
            self._begin(waiting[whose].pop(0))

    def _begin(self, delivery: Delivery) -> None:
        task = asyncio.create_task(self._attempt(delivery))
        self._under_way[delivery.n] = (delivery.webhook_id, task)
        task.add_done_callback(partial(self._ended, delivery.n))

    async def _attempt(self, delivery: Delivery) -> None:
        try:
            await self._attempts.deliver(delivery)
        except Exception as error:
            await asyncio.sleep(_told(error))

    def _ended(self, n: int, task: asyncio.Task[None]) -> None:
        del self._under_way[n]
        self.wake()


def _told(error: Exception) -> float:
    """Say what went wrong here, a full disk perhaps, and how many seconds to wait with it.

    Nothing was written down, so whatever was due still is.
    """
    traceback.print_exception(error, file=sys.stderr)
    return PAUSE_AFTER_TROUBLE
