"""The videos of a campaign as one ZIP, made while it is sent: it is never whole anywhere here.

Files are stored and not compressed. Each is checked before it goes in; one that is missing or
damaged is left out, and the status sheet in the ZIP says so.
"""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sqlalchemy import Connection

from callsheet.tasks.campaign.report import status_line
from callsheet.tasks.campaign.report_files import STATUS
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.figures import numbers_of, pages_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import names_shown
from callsheet.tasks.ledger.row_views import ShownRow, stream
from callsheet.tasks.runtime.errors import BadInput, StoreError
from callsheet.tasks.runtime.spreadsheets import csv_writer
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.disk import disk_trouble, measure
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.names import name_fault

#: Bytes that are read at a time, and of the status sheet that may be in memory.
BLOCK, IN_MEMORY = 1024 * 1024, 8 * 1024 * 1024
#: Lines of the status sheet that are written at a time.
LINES = 500


def rows_to_take(connection: Connection, campaign: Campaign, which: RowFilter) -> frozenset[str]:
    """Return the ids of the rows that a ZIP is of; raise BadInput where no row has a video."""
    names = frozenset(names_shown(connection, campaign.id, which))
    if names.isdisjoint(names_shown(connection, campaign.id, RowFilter.of(video="yes"))):
        raise BadInput(
            f"none of these rows of {campaign.name} has a video to take",
            remedy="choose other rows, or take all videos and not only those that are kept",
        )
    return names


class _Sink(io.RawIOBase):
    """Takes what the ZIP is written of, and hands it on; it cannot go back."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return what was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


@dataclass(kw_only=True)
class VideosZip:
    """A ZIP of the videos of some `rows`, with their captions and a status sheet.

    `at` dates its files (Unix seconds). `inside` says that it is for people of the organization: a
    guest's has no credits, briefs, names or notes. `shown` is what a line of the status sheet is
    for those who get it. `videos`, `size` (bytes of files) and
    `missing`, which are names of files, are complete at its end.
    """

    ledger: Ledger
    campaign: Campaign
    rows: frozenset[str]
    places: Places
    spool: Path
    store: str
    at: float
    inside: bool = True
    shown: Callable[[Any], Any] = lambda value: value
    videos: int = 0
    size: int = 0
    missing: list[str] = field(default_factory=list)
    _names: set[str] = field(default_factory=set, repr=False)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the ZIP; it has no end, and no program opens it, where this raises StoreError."""
        sink = _Sink()
        columns: dict[str, None] = {}
        with (
            ZipFile(sink, "w") as archive,
            SpooledTemporaryFile(IN_MEMORY, mode="w+", encoding="utf-8") as lines,
        ):
            async for line in self._lines():
                added: dict[str, str] = {}
                for file in line.document["deliveries"]:
                    # Where nobody takes more, the file in it is closed before the ZIP.
                    async with aclosing(self._add(archive, sink, line.row, file, added)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                status = self._status(line, added)
                columns.update(dict.fromkeys(status))
                lines.write(json.dumps(status, default=str) + "\n")
            lines.seek(0)
            for chunk in self._add_status(archive, sink, list(columns), lines):
                yield chunk
            archive.close()
            yield sink.take()

    async def _lines(self) -> AsyncIterator[ShownRow]:
        numbers = await self.ledger.read(numbers_of, campaign_id=self.campaign.id)
        for page in pages_of(numbers):
            for line in await self.ledger.read(self._page, numbers=page):
                yield line

    def _page(self, connection: Connection, numbers: Sequence[int]) -> list[ShownRow]:
        found = stream(connection, self.campaign.id, numbers=numbers)
        return [row for row in found if row.row in self.rows]

    async def _add(
        self,
        archive: ZipFile,
        sink: _Sink,
        row: str,
        file: Mapping[str, Any],
        added: dict[str, str],
    ) -> AsyncGenerator[bytes, None]:
        """Add one file, or note by its kind in `added` why it is not there."""
        name = self._name_inside(row, file["uri"])
        async with self.places.of(file["uri"]).opened(file["uri"], self.spool) as path:
            if fault := await _fault(path, file):
                self.missing.append(name)
                added[file["kind"]] = fault
                return
            assert path is not None
            info = self._info(name, ZIP_STORED)
            info.file_size = file["bytes"]
            with (
                disk_trouble("the disk of the store", path.parent),
                path.open("rb") as source,
                archive.open(info, "w") as entry,
            ):
                left = info.file_size
                while block := await asyncio.to_thread(source.read, BLOCK):
                    left -= len(block)
                    await asyncio.to_thread(entry.write, block)
                    yield sink.take()
            if left:
                raise StoreError(f"{file['uri']} changed while it was read; the ZIP is not whole")
        added[file["kind"]] = name
        self.videos += file["kind"] == "mp4"
        self.size += info.file_size
        yield sink.take()

    def _name_inside(self, row: str, uri: str) -> str:
        """Return the name that a file has in its store, in the campaign's folder, and only once."""
        name = name_below(self.store, uri) or ""
        campaign = self.campaign.name
        if not name or name_fault(name) is not None:
            # From another store, or from a ledger that was changed by hand.
            name = f"{campaign}/{row}/{Path(uri).name.lstrip('.')}"
        name = name if name.startswith(f"{campaign}/") else f"{campaign}/{name}"
        stem, dot, kind = name.rpartition(".")
        number = 1
        while name.casefold() in self._names:
            number += 1
            name = f"{stem}-{number}{dot}{kind}"
        self._names.add(name.casefold())
        return name

    def _info(self, name: str, compression: int) -> ZipInfo:
        info = ZipInfo(name, time.gmtime(self.at)[:6])
        info.compress_type, info.external_attr = compression, 0o644 << 16
        return info

    def _status(self, line: ShownRow, added: Mapping[str, str]) -> dict[str, Any]:
        """Return a row's line of the status sheet, with the names of its files in the ZIP."""
        if self.inside:
            status = dict(self.shown(status_line(line, line.document)))
        else:
            # Somebody from outside, whose verdict is the client's.
            status = {"row": line.row, "title": line.title, "take": line.video_take}
            status |= {"review": line.client_verdict, **line.provenance._asdict()}
        files = {f"cs_file_{kind}": added.get(kind) for kind in ("mp4", "srt", "vtt")}
        return status | files

    def _add_status(
        self, archive: ZipFile, sink: _Sink, columns: Sequence[str], lines: IO[str]
    ) -> Iterator[bytes]:
        info = self._info(f"{self.campaign.name}/{STATUS}", ZIP_DEFLATED)
        with archive.open(info, "w") as entry:
            text = io.TextIOWrapper(cast("io.BufferedWriter", entry), "utf-8", newline="")
            add = csv_writer(text, columns)
            for number, line in enumerate(lines, start=1):
                add(json.loads(line))
                if number % LINES == 0:
                    text.flush()
                    yield sink.take()
            text.flush()
            text.detach()
        yield sink.take()


async def _fault(path: Path | None, file: Mapping[str, Any]) -> str | None:
    """Return why a file cannot be taken; None for one that is what was delivered."""
    if path is None:
        return "MISSING: it is not in the store"
    found = await asyncio.to_thread(measure, path, md5=False)
    if (found.sha256, found.bytes) != (file["sha256"], file["bytes"]):
        return "MISSING: the file in the store is not the one that was delivered"
    return None
