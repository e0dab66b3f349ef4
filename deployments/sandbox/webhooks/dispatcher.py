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
import time
import traceback
from functools import cached_property
from typing import TYPE_CHECKING

from callsheet.deployments.sandbox.database import Database, find, put
from callsheet.deployments.sandbox.faults.planned import Faults
from callsheet.deployments.sandbox.options import Options
from callsheet.deployments.sandbox.webhooks import webhook
from callsheet.deployments.sandbox.webhooks.webhook import (
    PING,
    AddressRefused,
    Attempt,
    Delivery,
    Webhook,
    check_url,
    new_delivery,
    new_event_id,
)

if TYPE_CHECKING:
    import httpx

#: For each webhook: one whose receiver hangs takes no place from the others.
AT_ONCE = 32
#: Seconds. A machine that slept has timers that are late; looking again costs nothing.
LONGEST_SLEEP = 30.0
PAUSE_AFTER_TROUBLE = 1.0
SENDER = "video-generation-service-webhooks/1.0"
#: Seconds in which the beginning of an answer's body is read before the connection is closed.
LONGEST_READ = 1.0
#: Seconds that a receiver has, which the specification does not show, and how few a time scale
#: may leave it.
TIMEOUT = 10.0
SHORTEST_TIMEOUT = 2.0


class Dispatcher:
    """Sends what is due to whom it is due."""

    def __init__(self, database: Database, options: Options, faults: Faults) -> None:
        self._database = database
        self._options = options
        self._faults = faults
        self._news = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._timeout = max(SHORTEST_TIMEOUT, TIMEOUT / options.time_scale)

    def start(self) -> None:
        """Begin to send, first of all what was left when the sandbox stopped."""
        self._running = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Look at once whether something is due; call it after the commit of an event."""
        self._news.set()

    def stop(self, webhook_id: str) -> None:
        """Break off what is under way to a webhook that is gone or switched off."""
        for delivery_id, task in self._under_way.items():
            if delivery_id.endswith(webhook_id):
                task.cancel()

    async def close(self) -> None:
        """Stop sending; the rest, and what is under way, is sent at the next start."""
        tasks = [*self._under_way.values(), *([self._running] if self._running else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if "_client" in vars(self):
            await self._client.aclose()

    async def _run(self) -> None:
        while True:
            self._news.clear()
            try:
                pause = await self._round()
            except Exception:
                # A full disk, perhaps: nothing was written down, so whatever was due still is.
                traceback.print_exc()
                pause = PAUSE_AFTER_TROUBLE
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)

    async def _round(self) -> float:
        """Start what is due and there is room for; say how long nothing more will be due."""
        now, under_way = time.time(), set(self._under_way)
        waiting, following = await self._database.run(webhook.due, now=now, most=AT_ONCE)
        for one in waiting:
            # What was under way when the database was asked may have ended since: it is not due.
            if one.id not in under_way:
                self._under_way[one.id] = asyncio.create_task(self._attempt(one))
        return LONGEST_SLEEP if following is None else min(LONGEST_SLEEP, following - now)

    async def _attempt(self, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery)
        except Exception:
            traceback.print_exc()
            await asyncio.sleep(PAUSE_AFTER_TROUBLE)
        finally:
            del self._under_way[delivery.id]
            self.wake()

    async def _deliver(self, delivery: Delivery) -> None:
        """Make one attempt and write down what came of it."""
        about = json.loads(delivery.body)["data"].get("id")
        fault = None if delivery.held else self._faults.strike("webhook", video=about)
        do = None if fault is None else fault.do
        if do == "missing":
            await self._database.run(webhook.move, delivery, state="lost")
        elif fault is not None and do == "late":
            late = {"due_at": time.time() + fault.seconds, "held": True}
            await self._database.run(webhook.move, delivery, **late)
        elif (whose := await self._database.run(find, Webhook, delivery.webhook_id)) is not None:
            tried, scale = await self._try(whose, delivery, do), self._options.time_scale
            now = time.time()
            await self._database.run(webhook.record, delivery, tried, now=now, time_scale=scale)

    async def ping(self, whose: Webhook) -> Attempt:
        """Send a test event at once, to a disabled webhook too; it counts neither way."""
        delivery = new_delivery(whose.id, PING, {"test": True}, now=time.time())
        return await self._database.run(put, await self._try(whose, delivery, None))

    async def _try(self, whose: Webhook, delivery: Delivery, do: str | None) -> Attempt:
        """Send a delivery as the fault `do` spoils it. Such faults happen to real services or are
        tried by strangers; a receiver has to see through them."""
        started_at, began, raw = time.time(), time.monotonic(), delivery.body.encode()
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
        status, error = await self._send(whose.url, headers if do == "unsigned" else signed, sent)
        if do == "replayed":
            await self._send(whose.url, {**signed, f"{vendor}-Event-Id": new_event_id()}, raw)
        return Attempt(
            id=f"att_{secrets.token_hex(8)}", webhook_id=whose.id, event_id=delivery.event_id,
            event=delivery.kind, attempt=attempt, started_at=started_at, status=status, error=error,
            milliseconds=round(1000 * (time.monotonic() - began)),
        )  # fmt: skip

    async def _send(
        self, url: str, headers: dict[str, str], body: bytes
    ) -> tuple[int | None, str | None]:
        """Send one request; give its status and what is wrong with it, never an exception."""
        import httpx

        try:
            check_url(url, allow_loopback=self._options.allow_loopback_webhooks)
            async with asyncio.timeout(self._timeout):
                status = await self._post(url, headers, body)
        except AddressRefused as refusal:
            return None, f"Its address is refused: it {refusal}."
        except TimeoutError:
            return None, f"It did not answer within {self._timeout:g} s."
        except httpx.ConnectError:
            return None, "It cannot be connected to."
        except (httpx.HTTPError, OSError) as trouble:
            babbled = isinstance(trouble, httpx.ProtocolError) and "disconn" not in str(trouble)
            closed = "It closed the connection without an answer."
            return None, "Its answer was not HTTP." if babbled else closed
        return status, None if 200 <= status < 300 else f"It answered {status}."

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        # Only now: a sandbox without webhooks starts without it.
        import httpx

        # No connection is used twice: one that its receiver just closed would look like a failure.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        return httpx.AsyncClient(limits=limits, timeout=None, trust_env=False)

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> int:
        import httpx

        async with self._client.stream("POST", url, content=body, headers=headers) as response:
            # A receiver may end its answer, so that closing does not look like a reset to it.
            with contextlib.suppress(httpx.HTTPError, TimeoutError, OSError):
                async with asyncio.timeout(LONGEST_READ):
                    await anext(response.aiter_raw(), b"")
        self._client.cookies.clear()
        return response.status_code


def signature_of(body: bytes, secret: str) -> str:
    """Sign the raw bytes: `sha256=` and the lowercase hexadecimal HMAC-SHA256."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
