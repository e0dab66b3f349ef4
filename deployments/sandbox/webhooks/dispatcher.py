"""Sends what is due after each commit, one recorded attempt at a time.

What is to be sent and what was tried lives in the database alone, so a sandbox that is killed
goes on where it stopped; what was under way then is sent again, as the same attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.faults.fault import Fault
from callsheet.deployments.sandbox.webhooks import outbox
from callsheet.deployments.sandbox.webhooks.outbox import (
    Delivery,
    DeliveryAttempt,
    body_of_event,
    new_event_id,
)
from callsheet.deployments.sandbox.webhooks.sender import (
    SendResult,
    WebhookMessage,
    WebhookSender,
    signature_of,
)
from callsheet.deployments.sandbox.webhooks.webhook import PING, Webhook

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


# Owns one attempt at a delivery: what is sent for it, how the fault that strikes it spoils that,
# and its record. Such faults happen to real services or are tried by strangers; a receiver has to
# see through them.


Strike = Callable[[str | None], Fault | None]


class Ping(NamedTuple):
    event_id: str
    result: SendResult


class DeliveryAttempts:
    """Takes events to receivers. `strike` gives the fault of a delivery about a video."""

    def __init__(
        self,
        database: Database,
        sender: WebhookSender,
        *,
        strike: Strike,
        time_scale: float,
        now: Callable[[], float],
    ) -> None:
        self._database = database
        self._sender = sender
        self._strike = strike
        self._time_scale = time_scale
        self._now = now

    async def close(self) -> None:
        await self._sender.close()

    async def ping(self, webhook: Webhook) -> Ping:
        """Send a test event at once, to a disabled webhook too; it counts neither way."""
        event_id = new_event_id()
        body = body_of_event(event_id, kind=PING, data={"test": True}, now=self._now())
        delivery = Delivery(
            n=0, webhook_id=webhook.id, url=webhook.url, secret=webhook.secret,
            event_id=event_id, kind=PING, body=body, attempt=1, held=0,
        )  # fmt: skip
        tried = await self._try(delivery, None)
        await self._database.run(outbox.log_attempt, webhook.id, tried, again=None)
        return Ping(event_id, tried.result)

    async def deliver(self, delivery: Delivery) -> None:
        """Make one attempt and write down what came of it."""
        fault = None if delivery.held else self._strike(_video_of(delivery))
        do = None if fault is None else fault.do
        if do == "missing":
            await self._database.run(outbox.lose, delivery)
            return
        if fault is not None and do == "late":
            until = self._now() + fault.seconds
            await self._database.run(outbox.hold, delivery, until=until)
            return
        tried = await self._try(delivery, do)
        now = self._now()
        await self._database.run(
            outbox.record, delivery, tried, now=now, time_scale=self._time_scale
        )

    async def _try(self, delivery: Delivery, do: str | None) -> DeliveryAttempt:
        started_at = self._now()
        message = signed(delivery, now=started_at)
        before, message, after = volley(message, do)
        for copy in before:
            await self._sender.send(copy)
        result = await self._sender.send(message)
        for copy in after:
            await self._sender.send(copy)
        return DeliveryAttempt(
            delivery.event_id, delivery.kind, delivery.attempt, started_at, result
        )


def signed(delivery: Delivery, *, now: float) -> WebhookMessage:
    """Make the message that a receiver should accept."""
    return WebhookMessage(
        url=delivery.url, body=delivery.body, kind=delivery.kind, event_id=delivery.event_id,
        attempt=delivery.attempt, timestamp=int(now),
        signature=signature_of(delivery.body, delivery.secret),
    )  # fmt: skip


def _video_of(delivery: Delivery) -> str | None:
    """Give the id of the video that an event is about, by which faults may count."""
    about = json.loads(delivery.body)["data"].get("id")
    return about if isinstance(about, str) else None


Messages = tuple[WebhookMessage, ...]


def volley(message: WebhookMessage, do: str | None) -> tuple[Messages, WebhookMessage, Messages]:
    """Say what is really sent when a message is due and the fault `do` strikes it.

    It is sent in this order; only the answer to the one in the middle counts.
    """
    if do == "doubled":
        return (message,), message, ()
    if do == "forged":
        forged = replace(message, signature=signature_of(message.body, secrets.token_hex()))
        return (forged,), message, ()
    if do == "replayed":
        return (), message, (replace(message, event_id=new_event_id()),)
    if do == "reserialized":
        return (), replace(message, body=_reserialized(message.body)), ()
    if do == "unsigned":
        return (), replace(message, signature=None), ()
    return (), message, ()


def _reserialized(body: bytes) -> bytes:
    """Say the same in other bytes, as a proxy does that parses JSON and writes it again."""
    return json.dumps(json.loads(body), indent=1).encode()
