"""Sends what is due after each commit, one recorded attempt at a time.

What is to be sent and what was tried lives in the database alone, so a sandbox that is killed
goes on where it stopped; what was under way then is sent again, as the same attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import secrets
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel

from callsheet.deployments.sandbox.database import Database, find, put
from callsheet.deployments.sandbox.faults.fault import Fault
from callsheet.deployments.sandbox.options import Options
from callsheet.deployments.sandbox.webhooks import webhook
from callsheet.deployments.sandbox.webhooks.address import AddressRefused, check_url
from callsheet.deployments.sandbox.webhooks.webhook import (
    PING,
    Delivery,
    KeptAttempt,
    SendResult,
    Webhook,
    new_delivery,
    new_event_id,
)

if TYPE_CHECKING:
    import httpx

AT_ONCE = 32
#: Seconds. A machine that slept has timers that are late; looking again costs nothing.
LONGEST_SLEEP = 30.0
PAUSE_AFTER_TROUBLE = 1.0
LAST_WORDS = 0.5
SENDER = "video-generation-service-webhooks/1.0"
#: How much of an answer's body is read, in bytes and seconds, before the connection is closed.
MOST_READ = 65536
LONGEST_READ = 1.0
#: Seconds that a receiver has, which the specification does not show, and how few a time scale
#: may leave it.
TIMEOUT = 10.0
SHORTEST_TIMEOUT = 2.0


class PingResult(BaseModel):
    """What became of a test ping: `status` is null when the receiver did not answer."""

    delivered: bool
    event_id: str
    status: int | None
    error: str | None
    milliseconds: int


class Dispatcher:
    """Sends what is due to whom it is due. `strike` gives the fault of a delivery about a video."""

    def __init__(
        self,
        database: Database,
        options: Options,
        *,
        strike: Callable[[str | None], Fault | None],
        now: Callable[[], float],
    ) -> None:
        self._database = database
        self._options = options
        self._strike = strike
        self._now = now
        self._news = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._under_way: dict[str, tuple[str, asyncio.Task[None]]] = {}
        self._timeout = max(SHORTEST_TIMEOUT, TIMEOUT / options.time_scale)
        self._client: httpx.AsyncClient | None = None

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
        if self._client is not None:
            await self._client.aclose()

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
        now, under_way = self._now(), set(self._under_way)
        most = AT_ONCE + len(under_way)
        waiting, following = await self._database.run(webhook.due, now=now, most=most)
        # What was under way when the database was asked may have ended since: it is not due now.
        self._share_out(
            {
                whose: [one for one in deliveries if one.id not in under_way]
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
            delivery = waiting[whose].pop(0)
            task = asyncio.create_task(self._attempt(delivery))
            self._under_way[delivery.id] = (whose, task)
            task.add_done_callback(partial(self._ended, delivery.id))

    def _ended(self, delivery_id: str, _: asyncio.Task[None]) -> None:
        del self._under_way[delivery_id]
        self.wake()

    async def _attempt(self, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery)
        except Exception as error:
            await asyncio.sleep(_told(error))

    async def _deliver(self, delivery: Delivery) -> None:
        """Make one attempt and write down what came of it."""
        about = json.loads(delivery.body)["data"].get("id")
        fault = None if delivery.held else self._strike(about)
        do = None if fault is None else fault.do
        if do == "missing":
            await self._database.run(webhook.lose, delivery)
        elif fault is not None and do == "late":
            until = self._now() + fault.seconds
            await self._database.run(webhook.hold, delivery, until=until)
        elif (whose := await self._database.run(find, Webhook, delivery.webhook_id)) is not None:
            tried, scale = await self._try(whose, delivery, do), self._options.time_scale
            now = self._now()
            await self._database.run(webhook.record, delivery, tried, now=now, time_scale=scale)

    async def ping(self, whose: Webhook) -> PingResult:
        """Send a test event at once, to a disabled webhook too; it counts neither way."""
        delivery = new_delivery(whose.id, PING, {"test": True}, now=self._now())
        tried = await self._try(whose, delivery, None)
        await self._database.run(put, tried)
        return PingResult(
            delivered=tried.error is None, event_id=tried.event_id, status=tried.status,
            error=tried.error, milliseconds=tried.milliseconds,
        )  # fmt: skip

    async def _try(self, whose: Webhook, delivery: Delivery, do: str | None) -> KeptAttempt:
        """Send a delivery as the fault `do` spoils it. Such faults happen to real services or are
        tried by strangers; a receiver has to see through them."""
        started_at, raw = self._now(), delivery.body.encode()
        vendor, attempt = f"X-{self._options.webhook_vendor}", delivery.attempts + 1
        headers = {
            "Content-Type": "application/json",
            "User-Agent": SENDER,
            f"{vendor}-Event": delivery.kind,
            f"{vendor}-Event-Id": delivery.event_id,
            f"{vendor}-Timestamp": str(int(started_at)),
            f"{vendor}-Attempt": str(attempt),
        }
        signed = {**headers, f"{vendor}-Signature": signature_of(raw, whose.secret)}
        if do == "doubled":
            await self._send(whose.url, signed, raw)
        if do == "forged":
            forged = signature_of(raw, secrets.token_hex())
            await self._send(whose.url, {**headers, f"{vendor}-Signature": forged}, raw)
        sent = json.dumps(json.loads(raw), indent=1).encode() if do == "reserialized" else raw
        # Whatever else is sent, this answer counts.
        result = await self._send(whose.url, headers if do == "unsigned" else signed, sent)
        if do == "replayed":
            await self._send(whose.url, {**signed, f"{vendor}-Event-Id": new_event_id()}, raw)
        return KeptAttempt(
            id=f"att_{secrets.token_hex(8)}", webhook_id=whose.id, event_id=delivery.event_id,
            event=delivery.kind, attempt=attempt, started_at=started_at, next_attempt_at=None,
            outcome="failed" if result.error else "delivered", **result._asdict(),
        )  # fmt: skip

    async def _send(self, url: str, headers: dict[str, str], body: bytes) -> SendResult:
        """Send one request; whatever happens is an answer, never an exception."""
        import httpx

        client, began, status = self._opened(), time.monotonic(), None
        try:
            check_url(url, allow_loopback=self._options.allow_loopback_webhooks)
            async with asyncio.timeout(self._timeout):
                status = await self._post(client, url, headers, body)
            error = None if 200 <= status < 300 else f"It answered {status}."
        except AddressRefused as refusal:
            error = f"Its address is refused: it {refusal}."
        except TimeoutError:
            error = f"It did not answer within {self._timeout:g} s."
        except httpx.ConnectError:
            error = "It cannot be connected to."
        except httpx.LocalProtocolError as trouble:
            error = f"It cannot be sent: {trouble}."
        except (httpx.HTTPError, OSError) as trouble:
            gone = isinstance(trouble, httpx.NetworkError | OSError)
            gone = gone or "disconnected" in str(trouble)
            error = "It closed the connection without an answer." if gone else None
            error = error or "Its answer was not HTTP."
        return SendResult(status, error, round(1000 * (time.monotonic() - began)))

    def _opened(self) -> httpx.AsyncClient:
        # Only now: a sandbox without webhooks starts without it.
        import httpx

        if self._client is None:
            # No connection is used twice: one that its receiver just closed would look like a
            # failure.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            self._client = httpx.AsyncClient(limits=limits, timeout=None, trust_env=False)
        return self._client

    async def _post(
        self, client: httpx.AsyncClient, url: str, headers: dict[str, str], body: bytes
    ) -> int:
        import httpx

        async with client.stream("POST", url, content=body, headers=headers) as response:
            read = 0
            # A receiver may end its answer, so that closing does not look like a reset to it.
            with contextlib.suppress(httpx.HTTPError, TimeoutError, OSError):
                async with asyncio.timeout(LONGEST_READ):
                    async for chunk in response.aiter_raw():
                        read += len(chunk)
                        if read > MOST_READ:
                            break
        client.cookies.clear()
        return response.status_code


def signature_of(body: bytes, secret: str) -> str:
    """Sign the raw bytes: `sha256=` and the lowercase hexadecimal HMAC-SHA256."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def _told(error: Exception) -> float:
    """Say what went wrong here, a full disk perhaps, and how many seconds to wait with it.

    Nothing was written down, so whatever was due still is.
    """
    traceback.print_exception(error, file=sys.stderr)
    return PAUSE_AFTER_TROUBLE
