"""The operations on finished films: fetch, list what was exported, share, report."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.brief import CaptionFormat, Json, canonical_json
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.answer import Answer, Unparsable
from tasks.service.connection import Connection
from tasks.service.values import ShareLink, SignedUrl


class Films(Connection):
    """Films: what can be taken away from a video, and what can be said of it."""

    async def download(self, video_id: str) -> SignedUrl:
        """Ask for the film's signed address; raise Conflict when the film is not ready."""
        return await self._ask(ops.DOWNLOAD, records.signed_url, video_id=video_id)

    async def captions(self, video_id: str, format: CaptionFormat) -> bytes:
        """Return a caption file as it is; raise BadRequest when there is no caption data yet."""
        query = f"?format={format}"
        return await self._call(ops.CAPTIONS, _caption_bytes, video_id=video_id, query=query)

    async def renders(self, video_id: str) -> Json:
        """Return the past exports, in whatever shape: good for telling changed from unchanged."""
        return await self._call(ops.RENDERS, records.opaque, video_id=video_id)

    async def render_progress(self, video_id: str) -> Json:
        """Return the progress of the current export, in whatever shape."""
        return await self._call(ops.RENDER_PROGRESS, records.opaque, video_id=video_id)

    async def share(self, video_id: str, request: Mapping[str, Json] | None = None) -> ShareLink:
        """Make a public link to the film that expires; it needs no account to open."""
        body = None if request is None else canonical_json(request)
        return await self._ask(ops.SHARE, records.share_link, video_id=video_id, body=body)

    async def report(self, video_id: str, request: Mapping[str, Json]) -> None:
        """Flag a video for review."""
        body = canonical_json(request)
        await self._call(ops.REPORT, records.nothing, video_id=video_id, body=body)


def _caption_bytes(answer: Answer) -> bytes:
    # A page in place of the file is a proxy's, and may be gone the next time.
    if "text/html" in answer.headers.get("content-type", ""):
        raise Unparsable
    return answer.content
