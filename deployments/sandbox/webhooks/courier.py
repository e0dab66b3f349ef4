"""Owns one attempt: what is sent for it, with the fault that strikes it, and its record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from deployments.sandbox.database import Database
from deployments.sandbox.faults.plan import Fault
from deployments.sandbox.webhooks import attempts, outbox
from deployments.sandbox.webhooks.attempts import Tried
from deployments.sandbox.webhooks.events import PING, body_of_event, new_event_id
from deployments.sandbox.webhooks.message import signed
from deployments.sandbox.webhooks.mishaps import volley
from deployments.sandbox.webhooks.outbox import Delivery
from deployments.sandbox.webhooks.sender import Answer, Sender
from deployments.sandbox.webhooks.webhook import Webhook

Strike = Callable[[str | None], Fault | None]


class Ping(NamedTuple):
    event_id: str
    answer: Answer


class Courier:
    """Takes one event to one receiver. `strike` gives the fault of a delivery about a video."""

    def __init__(
        self,
        database: Database,
        sender: Sender,
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
        event_id, started_at = new_event_id(), self._now()
        body = body_of_event(event_id, kind=PING, data={"test": True}, now=started_at)
        message = signed(
            url=webhook.url, secret=webhook.secret, body=body, kind=PING,
            event_id=event_id, attempt=1, now=started_at,
        )  # fmt: skip
        answer = await self._sender.send(message)
        tried = Tried(event_id, PING, attempt=1, started_at=started_at, answer=answer)
        await self._database.run(lambda db: attempts.log(db, webhook.id, tried, again=None))
        return Ping(event_id, answer)

    async def deliver(self, delivery: Delivery) -> None:
        """Make one attempt and write down what came of it."""
        fault = None if delivery.held else self._strike(_video_of(delivery))
        mishap = None if fault is None else fault.do
        if mishap == "missing":
            await self._database.run(lambda db: outbox.lose(db, delivery))
            return
        if fault is not None and mishap == "late":
            until = self._now() + fault.seconds
            await self._database.run(lambda db: outbox.hold(db, delivery, until=until))
            return
        tried = await self._try(delivery, mishap)
        now = self._now()
        await self._database.run(
            lambda db: outbox.record(db, delivery, tried, now=now, time_scale=self._time_scale)
        )

    async def _try(self, delivery: Delivery, mishap: str | None) -> Tried:
        started_at = self._now()
        message = signed(
            url=delivery.url, secret=delivery.secret, body=delivery.body, kind=delivery.kind,
            event_id=delivery.event_id, attempt=delivery.attempt, now=started_at,
        )  # fmt: skip
        before, message, after = volley(message, mishap)
        for copy in before:
            await self._sender.send(copy)
        answer = await self._sender.send(message)
        for copy in after:
            await self._sender.send(copy)
        return Tried(delivery.event_id, delivery.kind, delivery.attempt, started_at, answer)


def _video_of(delivery: Delivery) -> str | None:
    """Give the id of the video that an event is about, by which faults may count."""
    about = json.loads(delivery.body)["data"].get("id")
    return about if isinstance(about, str) else None
