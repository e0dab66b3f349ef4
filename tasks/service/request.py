"""From an operation to the request that is sent, and to its whole answer.

Follows no redirect, repeats nothing. Time limits are those of the connections; nothing is ended by
cancelling it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import register_secret
from callsheet.tasks.service.operations import Money, Operation
from callsheet.tasks.service.response import Response

if TYPE_CHECKING:
    from yarl import URL

    from callsheet.tasks.runtime.connections import Connections

#: Seconds for a connection to be made, and for a free one to be had.
_CONNECT, _POOL = 10.0, 30.0
_JSON = {"content-type": "application/json"}
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.~-]+")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is sent: `target` is path and query, encoded, and `key` stands in `body` too."""

    operation: Operation[object]
    target: str
    body: bytes | None = field(default=None, repr=False)
    key: str | None = None


def target_of(
    operation: Operation[object], named: str | None = None, *, scene: int | None = None
) -> str:
    """Return the path of an operation with its ids in it; raise BadInput for one that is none."""
    target = operation.path
    if named is not None:
        if not named.strip(". /"):
            raise BadInput(f'"{named}" is not the id of a {operation.about}')
        # Nearly every id is plain already, and to quote one takes its time.
        plain = _PLAIN_ID.fullmatch(named)
        target = target.replace("{id}", named if plain else quote(named, safe=""))
    if scene is not None:
        if scene < 1:
            raise BadInput(f"there is no scene {scene}: they are counted from 1")
        target = target.replace("{n}", str(scene))
    return target


class Wire:
    """One base address and one key, over `connections` of the caller's making if those are given.

    They are made as `Connections` are; at most `limit` are open at once.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        limit: int,
        connections: Callable[..., Connections] | None = None,
    ) -> None:
        self._base = _checked(base_url)
        self._headers = _headers(api_key)
        self._limit = limit
        self._make = connections
        self._open: dict[bool, Connections] = {}

    async def send(self, request: Request) -> Response:
        """Send one request and return its whole response."""
        operation = request.operation
        # What is sent once goes over a connection of its own: one that was idle may be closed by
        # the service just as it is used, and no one could tell whether the request arrived.
        connections = self._connections(reuse=operation.money is not Money.ONCE)
        crashpoint("service: before the request", operation.name)
        came = await connections.exchange(
            self._below(request.target),
            method=operation.method,
            headers=None if request.body is None else _JSON,
            body=request.body,
            read=operation.read_timeout,
            decompress=True,
        )
        try:
            content = await came.read()
        except Exception:
            # The status alone is a definite answer, should its explanation have been cut.
            if came.status < 300:
                raise
            content = b""
        crashpoint("service: after the answer", operation.name)
        return Response(came.status, came.headers, content)

    async def aclose(self) -> None:
        """Close the connections."""
        for connections in self._open.values():
            await connections.aclose()

    def _connections(self, *, reuse: bool) -> Connections:
        if reuse not in self._open:
            # Slow to import, and not needed by anyone who only looks at the table of operations.
            from callsheet.tasks.runtime.connections import Connections

            make = self._make or Connections
            self._open[reuse] = make(
                self._headers, limit=self._limit, connect=_CONNECT, pool=_POOL, reuse=reuse
            )
        return self._open[reuse]

    def _below(self, target: str) -> URL:
        from yarl import URL

        from callsheet.tasks.runtime.connections import sendable

        return URL(self._sendable_base + sendable(target), encoded=True)

    @cached_property
    def _sendable_base(self) -> str:
        from aiohttp import InvalidURL

        from callsheet.tasks.runtime.connections import address

        try:
            return str(address(self._base)).rstrip("/")
        except ValueError:
            raise InvalidURL(self._base) from None


class _Headers(dict[str, str]):
    """What every request says of itself; its repr does not show the key."""

    def __repr__(self) -> str:
        return f"_Headers({', '.join(self)})"


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


def _headers(api_key: str) -> _Headers:
    key = api_key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            "CALLSHEET_API_KEY is empty or holds characters that no key has",
            remedy="set CALLSHEET_API_KEY to the key as it was shown",
        )
    register_secret(key)
    return _Headers(
        {
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": f"callsheet/{own_version()}",
            "authorization": "Bearer " + key,
        }
    )
