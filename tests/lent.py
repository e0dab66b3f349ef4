"""Connections that tests bring: answers come out of an httpx transport, without a socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import httpx
from yarl import URL

from callsheet.tasks.runtime.connections import Answer, Connections

#: What never left: our own connections say so in words of aiohttp.
_UNREACHED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_UNSENDABLE = (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL)


def lent(transport: httpx.AsyncBaseTransport) -> Callable[..., Connections]:
    """Return what makes connections over a transport, for `VideoService(connections=...)`."""
    return lambda headers, **_: _Lent(transport, headers)


class _Lent(Connections):
    def __init__(self, transport: httpx.AsyncBaseTransport, headers: Mapping[str, str]) -> None:
        self._transport, self._given = transport, headers

    async def exchange(
        self,
        url: URL,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        **_: Any,
    ) -> Answer:
        named = {**self._given, **(headers or {})}
        request = httpx.Request(method, str(url), headers=named, content=body)
        try:
            return _Given(await self._transport.handle_async_request(request))
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise _as_ours(error) from error

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Given(Answer):
    __slots__ = ("_given",)

    def __init__(self, answer: httpx.Response) -> None:
        self.status, self.headers, self._given = answer.status_code, answer.headers, answer

    async def read(self) -> bytes:
        try:
            return await self._given.aread()
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise _as_ours(error) from error
        finally:
            await self._given.aclose()


def _as_ours(error: Exception) -> Exception:
    if type(error) in _UNREACHED:
        return aiohttp.ConnectionTimeoutError(str(error))
    if type(error) in _UNSENDABLE:
        return aiohttp.InvalidURL(str(error))
    return aiohttp.ClientPayloadError(str(error))
