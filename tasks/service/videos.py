"""The operations on videos themselves: quote, make, look, edit, cancel, delete."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial

from tasks.brief import Json, canonical_json
from tasks.errors import BadInput
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.answer import Answer, Unparsable
from tasks.service.connection import Connection
from tasks.service.operations import MAKING, Money
from tasks.service.pages import page
from tasks.service.values import Created, Quote, Video

_NOT_ESTIMATED = ("idempotency_key", "start_generation")


class Videos(Connection):
    """Videos: what makes them, shows them and ends them."""

    async def estimate(self, request: Mapping[str, Json]) -> Quote:
        """Ask what `request` would cost; costs nothing."""
        body = {name: value for name, value in request.items() if name not in _NOT_ESTIMATED}
        return await self._ask(ops.ESTIMATE, records.quote, body=canonical_json(body))

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
            wanted = replace(wanted, money=Money.KEYED)
        return await self._ask(wanted, records.created, body=body, key=key)

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

    async def edit(self, video_id: str, changes: Mapping[str, Json]) -> Video | None:
        """Edit title, topic, script or caption settings; the next generate uses them."""
        body = canonical_json(changes)
        return await self._call(ops.EDIT, self._seen(video_id), video_id=video_id, body=body)

    async def delete(self, video_id: str) -> None:
        """Delete a video and its files; raise NotFound when there is none."""
        await self._call(ops.DELETE, records.nothing, video_id=video_id)

    async def cancel(self, video_id: str) -> Video | None:
        """Cancel a running render; raise Conflict when none is running."""
        return await self._call(ops.CANCEL, self._seen(video_id), video_id=video_id)

    def _seen(self, video_id: str) -> records.Reader[Video | None]:
        def read(answer: Answer) -> Video | None:
            # A success is a success, whatever it says.
            try:
                return records.video(answer.json(), self._shapes, asked=video_id)
            except (Unparsable, records.Shapeless):
                return None

        return read
