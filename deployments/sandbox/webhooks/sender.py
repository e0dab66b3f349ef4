"""Sends webhook requests, signed, to public https addresses only.

Receivers are strangers. A host is resolved here and every address it has is judged before a
connection is opened to it; of an answer the status counts, and its body is hardly looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import re
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from callsheet.deployments.sandbox.options import Options

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


# Owns which addresses a webhook may have: public and https (specification, section 8).
#
# The address is judged twice: as it is written, when a webhook is created or updated, and as it
# resolves, before each delivery, since a public name may point at a private machine by then.


IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST = 2048
#: Names that never leave a machine or a network (RFC 6761, RFC 6762, RFC 8375).
PRIVATE_NAMES = ("localhost", "local", "internal", "home.arpa")
URL_CHARACTERS = re.compile(r"[!#-;=?-\[\]_a-z~]+")
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: What `ipaddress` takes for global, and yet no receiver of a stranger's lives there.
SPECIAL = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))


class AddressRefused(ValueError):
    """A webhook cannot have this address; the message says why, without repeating it."""


def check_url(url: str, *, allow_loopback: bool) -> None:
    """Pass a public https address, and one of this machine if it is allowed; refuse any other."""
    if len(url) > LONGEST:
        raise AddressRefused(f"must not be longer than {LONGEST} characters")
    if not URL_CHARACTERS.fullmatch(url):
        raise AddressRefused("must be a URL in ASCII, without spaces")
    scheme, host = _parts(url)
    here = _is_here(host)
    if here and allow_loopback and scheme in ("http", "https"):
        return
    if scheme != "https":
        raise AddressRefused("must be an https URL")
    if not _is_public_host(host):
        raise AddressRefused("must have a public host: this one is not reachable from outside")


def is_public(address: IPAddress) -> bool:
    """Say whether an address is one of the open Internet, whatever it is wrapped in."""
    inner = _unwrapped(address)
    if not inner.is_global or any(inner in network for network in SPECIAL):
        return False
    site_local = isinstance(inner, ipaddress.IPv6Address) and inner.is_site_local
    return not (inner.is_multicast or inner.is_reserved or site_local)


def is_loopback(address: IPAddress) -> bool:
    return _unwrapped(address).is_loopback


def _parts(url: str) -> tuple[str, str]:
    try:
        said = urlsplit(url)
        port = said.port
    except ValueError:
        raise AddressRefused("must be a URL") from None
    if "@" in said.netloc:
        raise AddressRefused("must not hold a user name or a password")
    if "#" in url:
        raise AddressRefused("must not hold a fragment")
    if not said.hostname or "%" in said.netloc:
        raise AddressRefused("must name a host")
    if port == 0 or said.netloc.endswith(":"):
        raise AddressRefused("must have a port from 1 to 65535, or none")
    if said.netloc.startswith("[") and ":" not in said.hostname:
        raise AddressRefused("must be a URL")
    # One dot at the end says that a name is whole; resolvers drop it.
    return said.scheme, said.hostname.removesuffix(".")


def _is_here(host: str) -> bool:
    address = _literal(host)
    return host == "localhost" or (address is not None and is_loopback(address))


def _is_public_host(host: str) -> bool:
    address = _literal(host)
    if address is not None:
        return is_public(address)
    labels = host.split(".")
    if len(host) > 253 or len(labels) < 2 or not all(LABEL.fullmatch(one) for one in labels):
        return False
    # No top-level domain is a number: this is an address in disguise, such as 0x7f.1 or 2130706433.
    if NUMBER.fullmatch(labels[-1]):
        return False
    return not any(host.endswith(f".{name}") for name in PRIVATE_NAMES)


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _unwrapped(address: IPAddress) -> IPAddress:
    """Take an IPv4 address out of the IPv6 address that stands for it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address
