"""Sends requests over connections of our own."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
from yarl import URL

from callsheet.tasks.runtime.connections import Answer, Connections, address, sendable
from callsheet.tasks.service.carriers import CONNECT, JSON, POOL
from callsheet.tasks.service.operations import Operation


class Direct:
    """One base address, one key; without `reuse` each connection is closed after its answer."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, limit: int, reuse: bool
    ) -> None:
        try:
            self._base = str(address(base_url)).rstrip("/")
        except ValueError:
            raise aiohttp.InvalidURL(base_url) from None
        self._connections = Connections(
            headers, limit=limit, connect=CONNECT, pool=POOL, reuse=reuse
        )

    async def carry(self, operation: Operation[object], target: str, body: bytes | None) -> Answer:
        """Send one request; `target` is path and query below the base address."""
        return await self._connections.exchange(
            URL(self._base + sendable(target), encoded=True),
            method=operation.method,
            headers=None if body is None else JSON,
            body=body,
            read=operation.read_timeout,
            decompress=True,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()
