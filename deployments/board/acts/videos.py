"""What is shown of a video: its file, its captions and its pictures, wherever they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.aftercare.verify import Places
from callsheet.tasks.aftercare.video_pictures import Pictures
from callsheet.tasks.ledger import Delivered, PictureKind, TakeVideo, find_take_video
from callsheet.tasks.store.captions import as_vtt
from callsheet.tasks.store.signed_addresses import SignedAddresses, disposition_of

CONTENT_TYPES = {
    "mp4": "video/mp4",
    "srt": "application/x-subrip; charset=utf-8",
    "vtt": "text/vtt; charset=utf-8",
    "jpg": "image/jpeg",
}
Captions = Literal["srt", "vtt"]


class Videos:
    """Videos of the board's ledger; no address is ever made of what a request says."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._spool = board.settings.spool
        self._places = Places()
        self._signed = SignedAddresses()
        self._pictures = Pictures(self._places, spool=self._spool, folder=board.folder / "pictures")

    async def find(self, campaign: str, row: str, take: int) -> TakeVideo:
        """Return the video of a take; raise ProblemDetails where there is none."""
        query = partial(find_take_video, campaign=campaign, row=row, take=take)
        found = await self._board.read(query)
        if found is None:
            raise ProblemDetails(404, f"there is no video of take {take} of {row} in {campaign}")
        return found

    async def address(self, file: Delivered, *, download: bool) -> str | None:
        """Return a signed address of a file in a bucket, None of one in a folder."""
        return await self.address_of(file.uri, file.kind, download=download)

    async def address_of(self, uri: str, kind: str, *, download: bool) -> str | None:
        """Return a signed address of anything in a bucket, by the end of its name."""
        if not uri.startswith("s3://"):
            return None
        disposition = disposition_of(uri.rpartition("/")[2], download=download)
        return await self._signed.sign(
            uri, content_type=CONTENT_TYPES[kind], disposition=disposition
        )

    async def path(self, file: Delivered) -> Path:
        """Return where a file in a folder is; raise ProblemDetails unless it is what was stored."""
        path = Path(file.uri)
        size = await self._places.of(file.uri).size(file.uri)
        if size != file.bytes:
            raise _lost(file)
        return path

    async def captions(self, take: TakeVideo, kind: Captions) -> tuple[bytes, str]:
        """Return captions and what they are known by; WebVTT is made of SubRip where need be."""
        file = take.files.get(kind) or (take.files.get("srt") if kind == "vtt" else None)
        if file is None:
            raise ProblemDetails(404, f"there are no {kind} captions of this video")
        async with self._opened(file) as path:
            data = await asyncio.to_thread(path.read_bytes)
        if len(data) != file.bytes:
            raise _lost(file)
        return (data if file.kind == kind else as_vtt(data)), f"{file.sha256}-{kind}"

    async def picture(self, take: TakeVideo, kind: PictureKind) -> bytes | str:
        """Return a picture, or the signed address of the one that is in a bucket."""
        uri = self._pictures.in_store(take, kind)
        if uri is not None and (address := await self.address_of(uri, "jpg", download=False)):
            return address
        found = await self._pictures.find(take, kind)
        if found is None:
            raise ProblemDetails(404, "there is no picture of this video")
        return found

    @asynccontextmanager
    async def _opened(self, file: Delivered) -> AsyncIterator[Path]:
        async with self._places.of(file.uri).opened(file.uri, self._spool) as path:
            if path is None:
                raise _lost(file)
            yield path


def _lost(file: Delivered) -> ProblemDetails:
    return ProblemDetails(
        404,
        f"the {file.kind} that was delivered is not in the store, or is another file by now",
        remedy="`callsheet verify CAMPAIGN --repair` fetches it again, free",
    )
