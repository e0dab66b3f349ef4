"""Carries requests over connections of our own, every byte of their heads made ready."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from tasks.connections import Answer, Connections, address, lines_of, sendable
from tasks.service.carriers import CONNECT, JSON, POOL
from tasks.service.operations import Operation


class Direct:
    """One base address, one key; without `reuse` each connection is closed after its answer."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, limit: int, reuse: bool
    ) -> None:
        try:
            self._base = address(base_url)
        except ValueError:
            raise aiohttp.InvalidURL(base_url) from None
        self._path = self._base.raw_path.rstrip("/")
        self._lines = lines_of(headers)
        self._lines_of_json = lines_of({**headers, **JSON})
        self._connections = Connections(limit=limit, connect=CONNECT, pool=POOL, reuse=reuse)

    async def carry(self, operation: Operation, target: str, body: bytes | None) -> Answer:
        """Send one request; `target` is path and query below the base address."""
        return await self._connections.exchange(
            self._base,
            method=operation.method,
            target=self._path + sendable(target),
            headers=self._lines if body is None else self._lines_of_json,
            body=body or b"",
            read=operation.read_timeout,
            decompress=True,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()
