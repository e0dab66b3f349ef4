"""The video service, typed: one short method for each operation.

Every method ends in its value or a ServiceError. It knows no ledger: whoever spends commits
body and key first. A `create` that is cancelled (asyncio.CancelledError) while under way may
have been carried out: treat it as OutcomeUnknown.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Self, TypeVar
from urllib.parse import quote

import httpx

from tasks.brief import CaptionFormat, Json, canonical_json
from tasks.errors import BadInput
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.answer import Answer, Unparsable
from tasks.service.calls import Calls
from tasks.service.clock import Clock, Random, Sleep, utc_now
from tasks.service.gate import Gate
from tasks.service.pages import page
from tasks.service.sending import Call, Sender
from tasks.service.shapes import Shapes
from tasks.service.telling import Teller
from tasks.service.values import Attempt, Created, Quote, SignedUrl, Video
from tasks.service.wire import Wire

T = TypeVar("T")
_NOT_ESTIMATED = ("idempotency_key", "start_generation")
_SHAPES = Shapes()


class VideoService:
    """One service, one key. Use it as `async with`; share `gate` with all clients of the key.

    `on_attempt` is called after every request and must not raise.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        transport: httpx.AsyncBaseTransport | None = None,
        gate: Gate | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
        concurrency: int = 64,
        on_attempt: Callable[[Attempt], None] | None = None,
        shapes: Shapes = _SHAPES,
    ) -> None:
        self.gate = gate or Gate(clock=clock, sleep=sleep, random=random)
        self._shapes = shapes
        self._wire = Wire(
            base_url=base_url, api_key=api_key, transport=transport, limit=concurrency + 8
        )
        sender = Sender(
            self._wire,
            self.gate,
            Teller(on_attempt),
            clock=clock,
            random=random,
            concurrency=concurrency,
        )
        self._calls = Calls(sender, clock=clock, sleep=sleep, random=random)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def estimate(self, request: Mapping[str, Json]) -> Quote:
        """Ask what `request` would cost; costs nothing."""
        body = {name: value for name, value in request.items() if name not in _NOT_ESTIMATED}
        return await self._ask(ops.ESTIMATE, records.quote, body=canonical_json(body))

    async def create(self, body: bytes, *, key: str) -> Created:
        """Create a video: `body` goes out as it is, and must hold `key`."""
        if not key or f'"{key}"'.encode() not in body:
            raise ValueError("a body without its idempotency key would be charged every time")
        return await self._ask(ops.CREATE, records.created, body=body, key=key)

    async def get(self, video_id: str) -> Video:
        """Look at one video."""
        return await self._ask(ops.GET, partial(records.video, asked=video_id), video_id=video_id)

    async def list_videos(self) -> AsyncIterator[Video]:
        """Yield every video the service lists; that one is not among them proves nothing."""
        query: str | None = ""
        asked: set[str] = set()
        while query is not None and query not in asked:
            asked.add(query)
            found = await self._ask(ops.LIST, page, query=query)
            for video in found.videos:
                yield video
            query = found.next

    async def download(self, video_id: str) -> SignedUrl:
        """Ask for the film's signed address; raise Conflict when the film is not ready."""
        return await self._ask(ops.DOWNLOAD, records.signed_url, video_id=video_id)

    async def captions(self, video_id: str, format: CaptionFormat) -> bytes:
        """Return a caption file as it is; raise BadRequest when there is no caption data yet."""
        target = _target(ops.CAPTIONS, video_id) + f"?format={format}"
        return await self._calls.make(
            Call(operation=ops.CAPTIONS, target=target, read=_caption_bytes)
        )

    async def cancel(self, video_id: str) -> Video | None:
        """Cancel a running render; raise Conflict when none is running."""

        def read(answer: Answer) -> Video | None:
            # A success is a success, whatever it says.
            try:
                return records.video(answer.json(), self._shapes, asked=video_id)
            except (Unparsable, records.Shapeless):
                return None

        target = _target(ops.CANCEL, video_id)
        return await self._calls.make(Call(operation=ops.CANCEL, target=target, read=read))

    async def _ask(
        self,
        operation: ops.Operation,
        read: Callable[[Json, Shapes], T],
        *,
        video_id: str | None = None,
        query: str = "",
        body: bytes | None = None,
        key: str | None = None,
    ) -> T:
        return await self._calls.make(
            Call(
                operation=operation,
                target=_target(operation, video_id) + query,
                read=lambda answer: read(answer.json(), self._shapes),
                body=body,
                key=key,
            )
        )


def _target(operation: ops.Operation, video_id: str | None) -> str:
    if video_id is None:
        return operation.path
    if not video_id.strip(". /"):
        raise BadInput(f'"{video_id}" is not the id of a video')
    return operation.path.replace("{id}", quote(video_id, safe=""))


def _caption_bytes(answer: Answer) -> bytes:
    # A page in place of the file is a proxy's, and may be gone the next time.
    if "text/html" in answer.headers.get("content-type", ""):
        raise Unparsable
    return answer.content
