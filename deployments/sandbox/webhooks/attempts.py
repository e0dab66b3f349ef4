"""Owns one attempt at a delivery: what is sent for it, how the fault that strikes it spoils that,
and its record. Such faults happen to real services or are tried by strangers; a receiver has to
see through them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.faults.kinds import Fault
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
