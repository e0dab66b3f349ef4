"""From an operation to the request that is sent, and to its whole answer.

Follows no redirect, repeats nothing. Time limits are the carrier's own; nothing is ended by
cancelling it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import register_secret
from callsheet.tasks.service.carriers import Carrier, GivenTransport
from callsheet.tasks.service.operations import Money, Operation
from callsheet.tasks.service.response import Response

if TYPE_CHECKING:
    import httpx


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
    """One base address and one key, over `transport` where one is given."""

    def __init__(
        self, *, base_url: str, api_key: str, transport: httpx.AsyncBaseTransport | None, limit: int
    ) -> None:
        self._base = _checked(base_url)
        self._headers = _headers(api_key)
        self._limit = limit
        given = (
            GivenTransport(self._base, self._headers, transport) if transport is not None else None
        )
        # What is sent once goes over a connection of its own: one that was idle may be closed by
        # the service just as it is used, and no one could tell whether the request arrived.
        self._kept: Carrier | None = given
        self._fresh: Carrier | None = given

    async def send(self, request: Request) -> Response:
        """Send one request and return its whole response."""
        operation = request.operation
        carrier = self._ready(fresh=operation.money is Money.ONCE)
        crashpoint("service: before the request", operation.name)
        came = await carrier.carry(operation, request.target, request.body)
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
        for carrier in {self._kept, self._fresh} - {None}:
            assert carrier is not None
            await carrier.aclose()

    def _ready(self, *, fresh: bool) -> Carrier:
        found = self._fresh if fresh else self._kept
        if found is not None:
            return found
        from callsheet.tasks.service.direct import Direct

        made = Direct(self._base, self._headers, limit=self._limit, reuse=not fresh)
        if fresh:
            self._fresh = made
        else:
            self._kept = made
        return made


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
