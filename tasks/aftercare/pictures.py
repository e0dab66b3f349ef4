"""Pictures of videos: from the store, or made now.

New pictures are cached in a local folder by the sha256 of the video; you may delete it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from callsheet.tasks.ledger.deliveries import Delivered, PictureKind, TakeVideo
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.files import write_whole
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.inspection import ENDINGS
from callsheet.tasks.store.pictures import picture_moments
from callsheet.tasks.values.locations import is_object

#: Minimum number of different frames in a useful strip.
ENOUGH = 5
#: A local video of at most this many bytes is decoded immediately for a better picture.
SMALL = 3_000_000


class Pictures:
    """Finds and makes pictures; one video is decoded at a time."""

    def __init__(self, places: Places, *, spool: Path, folder: Path) -> None:
        self._places, self._spool, self._folder = places, spool, folder
        self._one_at_a_time = asyncio.Semaphore(1)

    def in_store(self, take: TakeVideo, kind: PictureKind) -> str | None:
        """Return the location of a stored picture that cannot be improved."""
        stored, video = take.findings.pictures.get(kind), take.files.get("mp4")
        if stored is None or video is None:
            return None
        strip = take.findings.pictures.get("strip")
        if strip is None or strip.shown >= ENOUGH:
            return stored.uri
        dear = video.bytes > SMALL or is_object(video.uri)
        return stored.uri if kind == "poster" and dear else None

    async def find(self, take: TakeVideo, kind: PictureKind) -> bytes | None:
        """Return a picture, made now if there is no useful one; None if it cannot be made."""
        if (uri := self.in_store(take, kind)) and (data := await self._read(uri)):
            return data
        video, stored = take.files.get("mp4"), take.findings.pictures.get(kind)
        if video is not None and (made := await self._made(video, kind)):
            return made
        return await self._read(stored.uri) if stored is not None else None

    async def _made(self, video: Delivered, kind: PictureKind) -> bytes | None:
        kept = self._folder / f"{video.sha256}{ENDINGS[kind]}"
        async with self._one_at_a_time:
            if not kept.exists():
                try:
                    await self._make(video)
                except (CallsheetError, OSError):
                    return None
            return await asyncio.to_thread(kept.read_bytes)

    async def _make(self, video: Delivered) -> None:
        async with self._places.of(video.uri).opened(video.uri, self._spool) as path:
            if path is None:
                raise FileNotFoundError(video.uri)
            made = await asyncio.to_thread(picture_moments, path)
        self._folder.mkdir(parents=True, exist_ok=True)
        for kind, jpeg in zip(ENDINGS, made, strict=True):
            file = self._folder / f"{video.sha256}{ENDINGS[kind]}"
            await asyncio.to_thread(write_whole, file, jpeg.data)

    async def _read(self, uri: str) -> bytes | None:
        try:
            async with self._places.of(uri).opened(uri, self._spool) as path:
                return None if path is None else await asyncio.to_thread(path.read_bytes)
        except (CallsheetError, OSError):
            return None
