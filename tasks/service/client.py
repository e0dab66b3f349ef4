"""The video service, typed: `ask` executes any operation of the table.

Every method ends in its value or a ServiceError. It knows no ledger: anyone who spends commits body
and key first. A paid call that is cancelled (asyncio.CancelledError) while under way may have
been executed: treat it as OutcomeUnknown.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from callsheet.tasks.runtime.errors import BadInput, ServiceError
from callsheet.tasks.runtime.process import Clock, Random, Sleep, utc_now
from callsheet.tasks.runtime.telemetry import Measures
from callsheet.tasks.service import answers
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.answers import Created, Quote, Reader, SignedUrl, Video
from callsheet.tasks.service.operations import MAKING, Money, Operation
from callsheet.tasks.service.rate_limits import Gate
from callsheet.tasks.service.request import Request, Wire, target_of
from callsheet.tasks.service.sending import LONGEST, Sender
from callsheet.tasks.values.briefs import CaptionFormat, Json, canonical_json

if TYPE_CHECKING:
    from callsheet.tasks.runtime.connections import Connections

T = TypeVar("T")
Body = Mapping[str, Json]

_NOT_ESTIMATED = ("idempotency_key", "start_generation")


class VideoService:
    """One service, one key. Use it as `async with`; share `gate` with all clients of the key.

    `measures` counts requests. One may take `longest` seconds, however it trickles; at most
    `concurrency` are under way at once. Tests bring `connections` of their own making.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        connections: Callable[..., Connections] | None = None,
        gate: Gate | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
        concurrency: int = 64,
        measures: Measures | None = None,
        longest: float = LONGEST,
    ) -> None:
        self.gate = gate or Gate(clock=clock, sleep=sleep, random=random)
        self._wire = Wire(
            base_url=base_url, api_key=api_key, connections=connections, limit=concurrency + 8
        )
        self._sender = Sender(
            self._wire,
            self.gate,
            clock=clock,
            sleep=sleep,
            random=random,
            concurrency=concurrency,
            measures=measures,
            longest=longest,
        )
        self._asking_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def ask(
        self,
        operation: Operation[T],
        named: str | None = None,
        body: bytes | Body | None = None,
        *,
        scene: int | None = None,
        query: str = "",
        key: str | None = None,
    ) -> T:
        """Execute any operation, on the thing `named` by its id, as its entry says."""
        request = Request(
            operation=operation,
            target=target_of(operation, named, scene=scene) + query,
            body=body if body is None or isinstance(body, bytes) else canonical_json(body),
            key=key,
        )
        read: Reader[T] = operation.read
        if operation.read in answers.OF_ONE:
            read = partial(operation.read, asked=named or "")
        return await self._sender.send(request, read)

    # What is more than one request, or a request with a condition.

    async def behind(self) -> float:
        """Return how many seconds our clock is behind the service's; 0 where it does not say.

        Where it has not answered yet, one free read asks; a refusal tells the time, too.
        """
        async with self._asking_time:
            if self._sender.behind is None:
                try:
                    await self.ask(ops.LIST)
                except ServiceError:
                    if self._sender.behind is None:
                        raise
        return self._sender.behind or 0.0

    async def estimate(self, request: Body) -> Quote:
        """Ask what `request` would cost; costs nothing."""
        body = {name: value for name, value in request.items() if name not in _NOT_ESTIMATED}
        return await self.ask(ops.ESTIMATE, body=body)

    async def create(self, body: bytes, *, key: str) -> Created:
        """Create a video: `body` goes out as it is, and must hold `key`."""
        return await self.make(ops.CREATE.name, body, key=key)

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        """Execute an operation that makes a video: one of `MAKING`, by its name.

        With a `key`, which `body` must hold, the same bytes may be sent again. Without one the
        body is sent once, on a connection of its own; `create` is never sent without. Raises
        BadInput for an operation that makes no video.
        """
        wanted = MAKING.get(operation)
        if wanted is None:
            raise BadInput(f'"{operation}" makes no video; what does is: {", ".join(MAKING)}')
        if wanted.money is Money.KEYED or key is not None:
            if not key or f'"{key}"'.encode() not in body:
                raise ValueError("a body without its idempotency key would be charged every time")
            if wanted.money is not Money.KEYED:
                wanted = replace(wanted, money=Money.KEYED)
        return await self.ask(wanted, body=body, key=key)

    async def list_videos(self) -> AsyncIterator[Video]:
        """Yield every video the service lists; that one is not among them proves nothing."""
        query: str | None = ""
        asked: set[str] = set()
        while query is not None and query not in asked:
            asked.add(query)
            page = await self.ask(ops.LIST, query=query)
            for video in page.videos:
                yield video
            query = page.next

    async def captions(self, video_id: str, format: CaptionFormat) -> bytes:
        """Return a caption file as it is; raise BadRequest when there is no caption data yet."""
        return await self.ask(ops.CAPTIONS, video_id, query=f"?format={format}")

    # What runs ask often.

    async def get(self, video_id: str) -> Video:
        """Look at one video."""
        return await self.ask(ops.GET, video_id)

    async def download(self, video_id: str) -> SignedUrl:
        """Ask for the video's signed address; raise Conflict when the video is not ready."""
        return await self.ask(ops.DOWNLOAD, video_id)

    async def cancel(self, video_id: str) -> Video | None:
        """Cancel a running render; raise Conflict when none is running."""
        return await self.ask(ops.CANCEL, video_id)

    async def renders(self, video_id: str) -> Json:
        """Return the past exports, in whatever shape: good for telling changed from unchanged."""
        return await self.ask(ops.RENDERS, video_id)

    async def credits(self) -> Decimal | None:
        """Return the credits that can be spent now; None when no amount can be read."""
        return await self.ask(ops.CREDITS)

    # The parts of the catalog; none of these shapes is in the specification.

    async def tools(self) -> list[Json]:
        """Return the tools that write a script from a brief."""
        return await self.ask(ops.TOOLS)

    async def templates(self) -> list[Json]:
        """Return the template library."""
        return await self.ask(ops.TEMPLATES)

    async def characters(self) -> list[Json]:
        """Return the characters that can appear in a video."""
        return await self.ask(ops.CHARACTERS)
