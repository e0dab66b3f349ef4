"""The video service, typed: one short method for each operation.

Every method ends in its value or a ServiceError. It knows no ledger: whoever spends commits
body and key first. A `create` that is cancelled (asyncio.CancelledError) while under way may
have been carried out: treat it as OutcomeUnknown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial

from tasks.brief import CaptionFormat, Json, canonical_json
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.answer import Answer, Unparsable
from tasks.service.connection import Connection
from tasks.service.pages import page
from tasks.service.values import Created, Quote, SignedUrl, Video

_NOT_ESTIMATED = ("idempotency_key", "start_generation")


class VideoService(Connection):
    """The operations on videos."""

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
        query = f"?format={format}"
        return await self._call(ops.CAPTIONS, _caption_bytes, video_id=video_id, query=query)

    async def cancel(self, video_id: str) -> Video | None:
        """Cancel a running render; raise Conflict when none is running."""

        def read(answer: Answer) -> Video | None:
            # A success is a success, whatever it says.
            try:
                return records.video(answer.json(), self._shapes, asked=video_id)
            except (Unparsable, records.Shapeless):
                return None

        return await self._call(ops.CANCEL, read, video_id=video_id)


def _caption_bytes(answer: Answer) -> bytes:
    # A page in place of the file is a proxy's, and may be gone the next time.
    if "text/html" in answer.headers.get("content-type", ""):
        raise Unparsable
    return answer.content
