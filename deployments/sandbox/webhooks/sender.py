"""Owns the request to a receiver: the raw bytes and headers of section 6, signed; one connection,
one answer, no redirect, and little patience.

Receivers are strangers. A host is resolved here and every address it has is judged before a
connection is opened to it; of an answer the status counts, and its body is hardly looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import socket
import time
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from callsheet.deployments.sandbox.options import Options
from callsheet.deployments.sandbox.webhooks.address import (
    AddressRefused,
    check_url,
    is_loopback,
    is_public,
)

SENDER = "video-generation-service-webhooks/1.0"
#: How much of an answer's body is read, in bytes and seconds, before the connection is closed.
MOST_READ = 65536
LONGEST_READ = 1.0
#: Seconds that a receiver has, which the specification does not show, and how few a time scale
#: may leave it.
TIMEOUT = 10.0
SHORTEST_TIMEOUT = 2.0


@dataclass(frozen=True, kw_only=True)
class WebhookMessage:
    """One HTTP request to a receiver. `timestamp` is in Unix seconds."""

    url: str
    body: bytes
    kind: str
    event_id: str
    attempt: int
    timestamp: int
    signature: str | None

    def headers(self, vendor: str) -> dict[str, str]:
        """Give the headers; their names hold the vendor's, `Service` in the specification."""
        said = {
            "Content-Type": "application/json",
            "User-Agent": SENDER,
            f"X-{vendor}-Event": self.kind,
            f"X-{vendor}-Event-Id": self.event_id,
            f"X-{vendor}-Timestamp": str(self.timestamp),
            f"X-{vendor}-Attempt": str(self.attempt),
        }
        if self.signature is not None:
            said[f"X-{vendor}-Signature"] = self.signature
        return said


def signature_of(body: bytes, secret: str) -> str:
    """Sign the raw bytes: `sha256=` and the lowercase hexadecimal HMAC-SHA256."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class SendResult:
    """What became of a request: a status, or the reason why there is none."""

    status: int | None
    error: str | None
    milliseconds: int

    @property
    def delivered(self) -> bool:
        return self.error is None


class WebhookSender:
    """Sends messages, all from one event loop."""

    def __init__(self, options: Options) -> None:
        self._vendor = options.webhook_vendor
        self._timeout = max(SHORTEST_TIMEOUT, TIMEOUT / options.time_scale)
        self._allow_loopback = options.allow_loopback_webhooks
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, message: WebhookMessage) -> SendResult:
        """Send one message; whatever happens is an answer, never an exception."""
        began = time.monotonic()
        status = None
        try:
            check_url(message.url, allow_loopback=self._allow_loopback)
            status = await self._post(message)
            error = None if 200 <= status < 300 else f"It answered {status}."
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as trouble:
            error = _words(trouble, self._timeout)
        return SendResult(
            status=status, error=error, milliseconds=round(1000 * (time.monotonic() - began))
        )

    async def _post(self, message: WebhookMessage) -> int:
        async with self._opened().post(
            URL(message.url, encoded=True),
            data=message.body,
            headers=message.headers(self._vendor),
            allow_redirects=False,
        ) as response:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
                await _read_a_little(response)
            response.close()
            return response.status

    def _opened(self) -> aiohttp.ClientSession:
        """Give the session, made in the event loop that uses it first."""
        if self._session is not None:
            return self._session
        # No connection is used twice: one that its receiver just closed would look like a failure.
        connector = aiohttp.TCPConnector(
            resolver=Guard(allow_loopback=self._allow_loopback),
            use_dns_cache=False,
            force_close=True,
            limit=0,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            auto_decompress=False,
            skip_auto_headers=("Accept-Encoding",),
        )
        return self._session


class Guard(AbstractResolver):
    """Resolves a host, and refuses one of which any address is not public."""

    def __init__(self, *, allow_loopback: bool) -> None:
        self._resolver = aiohttp.ThreadedResolver()
        self._allow_loopback = allow_loopback

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for one in found:
            address = ipaddress.ip_address(one["host"])
            if not (is_public(address) or (self._allow_loopback and is_loopback(address))):
                raise NotPublic
        return found

    async def close(self) -> None:
        await self._resolver.close()


class NotPublic(OSError):
    """A host that points into a private network."""


async def _read_a_little(response: aiohttp.ClientResponse) -> None:
    """Let a receiver end its answer, so that closing does not look like a reset to it."""
    read = 0
    async with asyncio.timeout(LONGEST_READ):
        while read < MOST_READ and (chunk := await response.content.read(MOST_READ)):
            read += len(chunk)


def _words(trouble: Exception, timeout: float) -> str:
    if isinstance(trouble, AddressRefused):
        return f"Its address is refused: it {trouble}."
    if isinstance(trouble, TimeoutError):
        return f"It did not answer within {timeout:g} s."
    if isinstance(trouble, aiohttp.ClientConnectorDNSError):
        if isinstance(trouble.os_error, NotPublic):
            return "Its host points to an address that is not public."
        return "Its host name cannot be resolved."
    if isinstance(trouble, aiohttp.ClientSSLError):
        return "Its TLS certificate was not accepted."
    if isinstance(trouble, aiohttp.ClientConnectorError):
        return "It cannot be connected to."
    if isinstance(trouble, aiohttp.ClientConnectionError | OSError):
        return "It closed the connection without an answer."
    return "Its answer was not HTTP."
