"""From an operation to the bytes that are sent, over an httpx transport.

Drives the transport itself and no `httpx.AsyncClient`: that one would keep cookies, merge
addresses and headers for every call, and log whole addresses. Follows no redirect, repeats
nothing. Time limits are the transport's own; nothing is ended by cancelling it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from tasks.crash import crashpoint
from tasks.errors import BadInput, ConfigurationError
from tasks.redact import register_secret
from tasks.service.operations import OPERATIONS, Money, Operation
from tasks.service.response import Response


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is sent: `target` is path and query, encoded, and `key` stands in `body` too."""

    operation: Operation
    target: str
    body: bytes | None = field(default=None, repr=False)
    key: str | None = None


def target_of(
    operation: Operation,
    *,
    video_id: str | None = None,
    webhook_id: str | None = None,
    scene: int | None = None,
) -> str:
    """Return the path of an operation with its ids in it; raise BadInput for one that is none."""
    target = operation.path
    for kind, named in (("video", video_id), ("webhook", webhook_id)):
        if named is not None:
            if not named.strip(". /"):
                raise BadInput(f'"{named}" is not the id of a {kind}')
            target = target.replace("{id}", quote(named, safe=""))
    if scene is not None:
        if scene < 1:
            raise BadInput(f"there is no scene {scene}: they are counted from 1")
        target = target.replace("{n}", str(scene))
    return target


class Wire:
    """One base address, one key, one transport."""

    def __init__(
        self, *, base_url: str, api_key: str, transport: httpx.AsyncBaseTransport | None, limit: int
    ) -> None:
        self._base = _checked(base_url)
        # The headers, once and for all: their repr hides `authorization`.
        self._headers = _headers(api_key)
        self._with_json = httpx.Headers([*self._headers.raw, (b"content-type", _JSON)])
        self._transport = transport
        # What is sent once goes over a connection of its own: one that was idle may be closed by
        # the service just as it is used, and nobody could tell whether the request arrived.
        self._fresh = transport
        self._limit = limit
        self._timeouts = {operation: _timeouts(operation) for operation in OPERATIONS}

    async def send(self, request: Request) -> Response:
        """Send one request and return its whole response."""
        operation, body = request.operation, request.body
        transport = self._ready(fresh=operation.money is Money.ONCE)
        made = httpx.Request(
            operation.method,
            self._base + request.target,
            headers=self._headers if body is None else self._with_json,
            content=body,
            extensions={"timeout": self._timeouts.get(operation) or _timeouts(operation)},
        )
        crashpoint("service: before the request", operation.name)
        came = await transport.handle_async_request(made)
        try:
            content = await came.aread()
        except BaseException as error:
            await came.aclose()
            # The status alone is a definite answer, should its explanation have been cut.
            if came.status_code < 300 or not isinstance(error, Exception):
                raise
            content = b""
        crashpoint("service: after the answer", operation.name)
        return Response(came.status_code, came.headers, content)

    async def aclose(self) -> None:
        """Close the connections."""
        for transport in {self._transport, self._fresh} - {None}:
            assert transport is not None
            await transport.aclose()

    def _ready(self, *, fresh: bool) -> httpx.AsyncBaseTransport:
        found = self._fresh if fresh else self._transport
        if found is not None:
            return found
        from tasks.service.transport import default_transport

        made = default_transport(self._base, limit=self._limit, reuse=not fresh)
        if fresh:
            self._fresh = made
        else:
            self._transport = made
        return made


_JSON = b"application/json"


def _checked(base_url: str) -> str:
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and not parts.query
        _ = parts.port
    except ValueError:
        usable = None
    if not usable or parts.username or parts.fragment:
        raise ConfigurationError(
            "CALLSHEET_BASE_URL is not the address of a service",
            remedy="write it like https://api.example.com/api/v1",
        )
    return base_url.strip().rstrip("/")


def _headers(api_key: str) -> httpx.Headers:
    key = api_key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            "CALLSHEET_API_KEY is empty or holds characters that no key has",
            remedy="set CALLSHEET_API_KEY to the key as it was shown",
        )
    register_secret(key)
    return httpx.Headers(
        {
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": f"callsheet/{_version()}",
            "authorization": "Bearer " + key,
        }
    )


def _version() -> str:
    try:
        return version("callsheet")
    except PackageNotFoundError:
        return "0"


def _timeouts(operation: Operation) -> dict[str, Any]:
    return {"connect": 10.0, "read": operation.read_timeout, "write": 60.0, "pool": 30.0}
