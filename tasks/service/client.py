"""The video service, typed: one short method for each operation.

Every method ends in its value or a ServiceError. It knows no ledger: whoever spends commits body
and key first. A paid call that is cancelled (asyncio.CancelledError) while under way may have
been carried out: treat it as OutcomeUnknown.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Self, TypeVar

import httpx

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.process import Clock, Random, Sleep, utc_now
from callsheet.tasks.runtime.telemetry import Measures
from callsheet.tasks.service import answers
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.answers import (
    Created,
    Quote,
    Reader,
    ShareLink,
    SignedUrl,
    Started,
    Video,
    VideoPage,
    Webhook,
)
from callsheet.tasks.service.operations import MAKING, Money, Operation
from callsheet.tasks.service.rate_limits import Gate, Pace
from callsheet.tasks.service.request import Request, Wire, target_of
from callsheet.tasks.service.sending import LONGEST, OnRequest, Sender
from callsheet.tasks.values.briefs import CaptionFormat, Json, canonical_json

T = TypeVar("T")
Body = Mapping[str, Json]

_NOT_ESTIMATED = ("idempotency_key", "start_generation")


class VideoService:
    """One service, one key. Use it as `async with`; share `gate` with all clients of the key.

    Whoever makes many videos takes turns with `async with service.pace`, each around its create.

    `on_request` is called after every request and must not raise; `measures` counts them. One
    request may take `longest` seconds, however it trickles. At most `concurrency` requests are
    under way at once.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        transport: httpx.AsyncBaseTransport | None = None,
        gate: Gate | None = None,
        pace: Pace | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
        concurrency: int = 64,
        on_request: OnRequest | None = None,
        measures: Measures | None = None,
        longest: float = LONGEST,
    ) -> None:
        self.gate = gate or Gate(clock=clock, sleep=sleep, random=random)
        self.pace = pace or Pace(self.gate, clock=clock, sleep=sleep)
        self._wire = Wire(
            base_url=base_url, api_key=api_key, transport=transport, limit=concurrency + 8
        )
        self._sender = Sender(
            self._wire,
            self.gate,
            clock=clock,
            sleep=sleep,
            random=random,
            concurrency=concurrency,
            pace=self.pace,
            on_request=on_request,
            measures=measures,
            longest=longest,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    # Videos: what makes them, shows them and ends them.

    async def estimate(self, request: Body) -> Quote:
        """Ask what `request` would cost; costs nothing."""
        body = {name: value for name, value in request.items() if name not in _NOT_ESTIMATED}
        return await self._ask(ops.ESTIMATE, Quote.read, body=body)

    async def create(self, body: bytes, *, key: str) -> Created:
        """Create a video: `body` goes out as it is, and must hold `key`."""
        return await self.make(ops.CREATE.name, body, key=key)

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        """Carry out an operation that makes a video: one of `MAKING`, by its name.

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
        return await self._ask(wanted, Created.read, body=body, key=key)

    async def get(self, video_id: str) -> Video:
        """Look at one video."""
        return await self._ask(ops.GET, partial(Video.read, asked=video_id), video_id=video_id)

    async def list_videos(self) -> AsyncIterator[Video]:
        """Yield every video the service lists; that one is not among them proves nothing."""
        query: str | None = ""
        asked: set[str] = set()
        while query is not None and query not in asked:
            asked.add(query)
            page = await self._ask(ops.LIST, VideoPage.read, query=query)
            for video in page.videos:
                yield video
            query = page.next

    async def edit(self, video_id: str, changes: Body) -> Video | None:
        """Edit title, topic, script or caption settings; the next generate uses them."""
        read = partial(Video.glimpse, asked=video_id)
        return await self._ask(ops.EDIT, read, video_id=video_id, body=changes)

    async def delete(self, video_id: str) -> None:
        """Delete a video and its files; raise NotFound when there is none."""
        await self._ask(ops.DELETE, answers.nothing, video_id=video_id)

    async def cancel(self, video_id: str) -> Video | None:
        """Cancel a running render; raise Conflict when none is running."""
        read = partial(Video.glimpse, asked=video_id)
        return await self._ask(ops.CANCEL, read, video_id=video_id)

    # Remakes: a new video of an old video, whole or in part. None takes an idempotency key: each
    # is sent once. Their bodies are not in the specification; `bodies.py` has what is likely.

    async def generate(self, video_id: str) -> Started:
        """Start or re-run generation; raise Conflict when it is already generating."""
        return await self._start(ops.GENERATE, video_id)

    async def render(self, video_id: str, request: Body | None = None) -> Started:
        """Export again, after edits."""
        return await self._start(ops.RENDER, video_id, request)

    async def regenerate_scene(
        self, video_id: str, scene: int, request: Body | None = None
    ) -> Started:
        """Regenerate one scene, 1-based; the others stay as they are."""
        return await self._start(ops.SCENE, video_id, request, scene=scene)

    async def change_voice(self, video_id: str, request: Body) -> Started:
        """Regenerate the voiceover with another voice."""
        return await self._start(ops.VOICE, video_id, request)

    async def voice_progress(self, video_id: str) -> Json:
        """Return how far the new voiceover is, in whatever shape."""
        return await self._ask(ops.VOICE_PROGRESS, answers.opaque, video_id=video_id)

    # Videos: what can be taken away from a video, and what can be said of it.

    async def download(self, video_id: str) -> SignedUrl:
        """Ask for the video's signed address; raise Conflict when the video is not ready."""
        return await self._ask(ops.DOWNLOAD, SignedUrl.read, video_id=video_id)

    async def captions(self, video_id: str, format: CaptionFormat) -> bytes:
        """Return a caption file as it is; raise BadRequest when there is no caption data yet."""
        read, query = answers.caption_bytes, f"?format={format}"
        return await self._ask(ops.CAPTIONS, read, video_id=video_id, query=query)

    async def renders(self, video_id: str) -> Json:
        """Return the past exports, in whatever shape: good for telling changed from unchanged."""
        return await self._ask(ops.RENDERS, answers.opaque, video_id=video_id)

    async def render_progress(self, video_id: str) -> Json:
        """Return the progress of the current export, in whatever shape."""
        return await self._ask(ops.RENDER_PROGRESS, answers.opaque, video_id=video_id)

    async def share(self, video_id: str, request: Body | None = None) -> ShareLink:
        """Make a public link to the video that expires; it needs no account to open."""
        return await self._ask(ops.SHARE, ShareLink.read, video_id=video_id, body=request)

    async def report(self, video_id: str, request: Body) -> None:
        """Flag a video for review."""
        await self._ask(ops.REPORT, answers.nothing, video_id=video_id, body=request)

    # Webhooks: where the service tells that a video is ready.

    async def list_webhooks(self) -> list[Webhook]:
        """Return the subscriptions, without their secrets."""
        return await self._ask(ops.LIST_WEBHOOKS, Webhook.read_list)

    async def create_webhook(
        self, url: str, events: Sequence[str], more: Body | None = None
    ) -> Webhook:
        """Subscribe; the answer holds the signing secret, now and never again."""
        body = {**(more or {}), "url": url, "events": list(events)}
        return await self._ask(ops.CREATE_WEBHOOK, Webhook.read, body=body)

    async def get_webhook(self, webhook_id: str) -> Webhook:
        """Look at one subscription."""
        return await self._ask(ops.GET_WEBHOOK, Webhook.read, webhook_id=webhook_id)

    async def edit_webhook(self, webhook_id: str, changes: Body) -> Webhook:
        """Change `url`, `events`, `name`; `is_active` true enables a disabled one again."""
        return await self._ask(ops.EDIT_WEBHOOK, Webhook.read, webhook_id=webhook_id, body=changes)

    async def delete_webhook(self, webhook_id: str) -> None:
        """End a subscription."""
        await self._ask(ops.DELETE_WEBHOOK, answers.nothing, webhook_id=webhook_id)

    async def test_webhook(self, webhook_id: str) -> Json:
        """Have a signed ping sent; return what the service says became of it."""
        return await self._ask(ops.TEST_WEBHOOK, answers.opaque, webhook_id=webhook_id)

    async def deliveries(self, webhook_id: str) -> list[Json]:
        """Return the last 50 attempts at delivery, each in whatever shape."""
        return await self._ask(ops.DELIVERIES, answers.entries, webhook_id=webhook_id)

    # What there is; none of these shapes is in the specification.

    async def templates(self) -> list[Json]:
        """Return the template library."""
        return await self._ask(ops.TEMPLATES, answers.entries)

    async def tools(self) -> list[Json]:
        """Return the tools that write a script from a brief."""
        return await self._ask(ops.TOOLS, answers.entries)

    async def characters(self) -> list[Json]:
        """Return the characters that can appear in a video."""
        return await self._ask(ops.CHARACTERS, answers.entries)

    async def credits(self) -> Decimal | None:
        """Return the credits that can be spent now; None when no amount can be read."""
        return await self._ask(ops.CREDITS, answers.available)

    async def me(self) -> Json:
        """Return what the service says of the organisation behind the key."""
        return await self._ask(ops.ME, answers.opaque)

    async def _start(
        self,
        operation: Operation,
        video_id: str,
        request: Body | None = None,
        *,
        scene: int | None = None,
    ) -> Started:
        read = partial(Started.read, asked=video_id)
        return await self._ask(operation, read, video_id=video_id, scene=scene, body=request)

    async def _ask(
        self,
        operation: Operation,
        read: Reader[T],
        *,
        video_id: str | None = None,
        webhook_id: str | None = None,
        scene: int | None = None,
        query: str = "",
        body: bytes | Body | None = None,
        key: str | None = None,
    ) -> T:
        target = target_of(operation, video_id=video_id, webhook_id=webhook_id, scene=scene)
        request = Request(
            operation=operation,
            target=target + query,
            body=body if body is None or isinstance(body, bytes) else canonical_json(body),
            key=key,
        )
        return await self._sender.send(request, read)
