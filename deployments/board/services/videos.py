"""Videos: their files, reviews, and events as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.places import hiding
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.aftercare.archive import VideosZip
from callsheet.tasks.aftercare.pictures import Pictures
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import Delivered, PictureKind, TakeVideo, find_take_video
from callsheet.tasks.ledger.row_history import Horizon, ShownEvent, events_between, horizon
from callsheet.tasks.store import open_store
from callsheet.tasks.store.addresses import LASTING, Places, disposition_of
from callsheet.tasks.store.captions import as_vtt
from callsheet.tasks.values.locations import is_object

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
        self._pictures = Pictures(self._places, spool=self._spool, folder=board.folder / "pictures")

    async def find(self, campaign: str, row: str, take: int) -> TakeVideo:
        """Return the video of a take; raise ProblemDetails where there is none."""
        found = await self._board.read(find_take_video, campaign=campaign, row=row, take=take)
        if found is None:
            raise ProblemDetails(404, f"there is no video of take {take} of {row} in {campaign}")
        return found

    async def address(self, file: Delivered, *, download: bool) -> str | None:
        """Return a signed address of a file in a bucket, None of one in a folder."""
        return await self.address_of(file.uri, file.kind, download=download)

    async def address_of(self, uri: str, kind: str, *, download: bool) -> str | None:
        """Return a signed address of anything in a bucket, by the end of its name."""
        if not is_object(uri):
            return None
        disposition = disposition_of(uri.rpartition("/")[2], download=download)
        return await asyncio.to_thread(
            self._places.of(uri).sign,
            uri,
            lasting=LASTING,
            content_type=CONTENT_TYPES[kind],
            disposition=disposition,
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

    async def poster(self, campaign: str, row: str, take: int) -> bytes | None:
        """Return a video's poster as JPEG, wherever it is; None where there is none."""
        return await self._pictures.find(await self.find(campaign, row, take), "poster")

    def zip_of(self, campaign: Campaign, rows: frozenset[str], *, inside: bool) -> VideosZip:
        """Return the ZIP of the videos of some rows; a guest's (not `inside`) says less."""
        return VideosZip(
            ledger=self._board.ledger,
            campaign=campaign,
            rows=rows,
            places=self._places,
            spool=self._spool,
            store=open_store(self._board.settings.store).address,
            at=self._board.clock(),
            inside=inside,
            shown=hiding(),
        )

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


# A campaign's events as they come: each once, in order, none left out.


#: Seconds between two looks: a page is told of changes twice a second at most.
PAUSE = 0.5
#: Events that are told at once at most.
MANY = 500


async def events_as_they_come(
    board: Board, campaign_id: int, *, after: int | None, pause: float = PAUSE
) -> AsyncIterator[Sequence[ShownEvent]]:
    """Yield a campaign's events behind one (None: from now on), some at a time, for ever.

    What has come since is yielded after every pause, also where it is nothing. Anyone who broke off
    goes on exactly behind the last event that was yielded.
    """
    known = Horizon()
    while after is None:
        known = await board.read(horizon, before=known)
        after = known.told if known.told == known.newest else None
        if after is None:
            await asyncio.sleep(pause)
    while True:
        known = await board.read(horizon, before=known)
        found: Sequence[ShownEvent] = ()
        if known.told > after:
            between = partial(events_between, after=after, upto=known.told, limit=MANY)
            found = await board.read(between, campaign_id=campaign_id)
            after = found[-1].id if len(found) == MANY else known.told
        yield found
        if len(found) < MANY:
            await asyncio.sleep(pause)
