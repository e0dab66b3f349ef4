"""Verifies deliveries in the store, and makes pictures of videos.

A file is intact if it has the size and sha256 of its delivery. If its bytes are read, a frame of
the video is decoded again and captions are parsed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from callsheet.tasks.campaign.selection import Selection
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    FileCopy,
    PictureKind,
    TakeVideo,
    VideoFindings,
    copies_of,
    deliveries_of,
    findings_of,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of, takes_of
from callsheet.tasks.runtime.errors import CallsheetError, StoreError, VideoError
from callsheet.tasks.store import check_captions, inspect_video
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.disk import measure
from callsheet.tasks.store.inspection import ENDINGS, Wanted
from callsheet.tasks.store.pictures import picture_moments
from callsheet.tasks.store.store import Listed
from callsheet.tasks.values.briefs import CaptionFormat
from callsheet.tasks.values.locations import is_object

#: `missing` is gone, `changed` has other bytes, `unplayable` has the right bytes and is no video;
#: `wanting` was never delivered although the row asks for it; `unknown` could not be checked.
Verdict = Literal["intact", "missing", "changed", "unplayable", "wanting", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: The pictures next to a video, by the setting `pictures`.
WANTED: Mapping[Wanted, tuple[PictureKind, ...]] = {
    "yes": ("poster", "strip"),
    "poster": ("poster",),
    "no": (),
}
#: Callsheet's other files in the folder of a campaign.
REPORTS = ("manifest.json", "status.csv")


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditedFile:
    """One file that should be in the store, and the result of the check.

    `file` is the delivery (None for captions that were never delivered), or a copy of the delivery
    `copy_of` at another place; `found` is the sha256 of the current file; `repaired` says what a
    repair did, `left` why it did nothing.
    """

    row: CampaignRow
    take: Take
    kind: str
    file: Delivered | None
    verdict: Verdict
    words: str = ""
    found: str | None = None
    repaired: str | None = None
    left: str | None = None
    copy_of: Delivered | None = None

    @property
    def sound(self) -> bool:
        """Whether the file needs no action."""
        return self.verdict == "intact" or self.repaired is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class BareVideo:
    """A delivered video without a picture; `made` is set once a repair has made it."""

    row: CampaignRow
    take: Take
    file: Delivered
    findings: VideoFindings
    made: bool = False


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The result of checking the deliveries of a campaign; `extra` are other files."""

    campaign: str
    files: Sequence[AuditedFile]
    extra: Sequence[Listed] = ()
    #: Videos without pictures. This is not an error: pictures can be made again.
    bare: Sequence[BareVideo] = ()

    @property
    def exit_status(self) -> int:
        """0 if all files are intact, 3 if some are not, 5 if some could not be checked."""
        if any(one.verdict == "unknown" and not one.sound for one in self.files):
            return 5
        return 0 if all(one.sound for one in self.files) else 3

    def counts(self) -> dict[str, int]:
        """Return the number of files by result, and how many were repaired."""
        found = {verdict: sum(one.verdict == verdict for one in self.files) for verdict in VERDICTS}
        return {
            "total": len(self.files),
            **{verdict: count for verdict, count in found.items() if count},
            "repaired": sum(one.repaired is not None for one in self.files),
        }


def audit_document(audit: Audit, *, quick: bool) -> dict[str, Any]:
    """Return an audit as JSON: the document of `verify --json`."""
    return {
        "campaign": audit.campaign,
        "quick": quick,
        "files": audit.counts(),
        "problems": [
            {
                "row": one.row.row,
                "take": one.take.number,
                "kind": one.kind,
                "uri": one.file.uri if one.file else None,
                "problem": one.verdict,
                "words": one.words,
                "repaired": one.repaired,
                "left": one.left,
            }
            for one in audit.files
            if one.verdict != "intact"
        ],
        "pictures": {
            "missing": sum(not one.made for one in audit.bare),
            "made": sum(one.made for one in audit.bare),
        },
        "extra": [{"uri": file.uri, "bytes": file.bytes} for file in audit.extra],
        "exit": audit.exit_status,
    }


async def verify(
    ledger: Ledger,
    campaign: Campaign,
    places: Places,
    *,
    chosen: Selection,
    store: str,
    spool: Path,
    at_once: int,
    quick: bool = False,
    pictures: Wanted = "no",
) -> Audit:
    """Check every file of the takes of the selected rows, `at_once` at a time.

    `quick` compares sizes only. Other files below the folder of the campaign in `store` are listed
    and not touched. Videos without the wanted `pictures` are listed too.
    """
    expected, known = await _expected(ledger, campaign, chosen)
    slots = asyncio.Semaphore(at_once)

    async def check(one: AuditedFile) -> AuditedFile:
        async with slots:
            return await audited(one, places, spool, quick=quick)

    files = await asyncio.gather(*(check(one) for one in expected))
    folder = f"{store.rstrip('/')}/{campaign.name}"
    try:
        there = await places.of(folder).below(folder)
    except StoreError:
        # The store can be read but not listed; each file was requested by name.
        there = []
    findings = await ledger.read(findings_of, campaign_id=campaign.id)
    beside = {picture.uri for one in findings.values() for picture in one.pictures.values()}
    own = {f"{folder}/{name}" for name in REPORTS} | known | beside
    extra = [file for file in there if file.uri not in own]
    bare = list(_bare(expected, findings, there, WANTED[pictures])) if there else []
    return Audit(campaign=campaign.name, files=files, extra=extra, bare=bare)


def _bare(
    expected: Iterable[AuditedFile],
    findings: Mapping[int, VideoFindings],
    there: Iterable[Listed],
    wanted: Collection[PictureKind],
) -> Iterator[BareVideo]:
    """Yield videos without a picture, or with another file in its place."""
    listed = {file.uri: file.bytes for file in there}
    for one in expected:
        if one.kind != "mp4" or one.file is None or one.copy_of is not None:
            continue
        known = findings.get(one.take.id, VideoFindings())
        have = {
            k for k, picture in known.pictures.items() if listed.get(picture.uri) == picture.bytes
        }
        if not have >= set(wanted):
            yield BareVideo(row=one.row, take=one.take, file=one.file, findings=known)


async def _expected(
    ledger: Ledger, campaign: Campaign, chosen: Selection
) -> tuple[list[AuditedFile], set[str]]:
    """Return the files that should be in the store, and the addresses of all deliveries."""
    rows = {row.id: row for row in await ledger.read(rows_of, campaign_id=campaign.id)}
    takes = await ledger.read(takes_of, campaign_id=campaign.id)
    files = await ledger.read(deliveries_of, campaign_id=campaign.id)
    copies = await ledger.read(copies_of, campaign_id=campaign.id)
    expected: list[AuditedFile] = []
    for row_id, take in takes:
        row, delivered = rows[row_id], files.get(take.id, [])
        if not chosen(row, row.asked(), row.state):
            continue
        expected += [
            AuditedFile(row=row, take=take, kind=file.kind, file=file, verdict="unknown")
            for file in delivered
        ]
        expected += _copies(row, take, delivered, copies.get(take.id, ()))
        if row.state == "delivered" and row.take is not None and row.take.id == take.id:
            expected += _wanting(row, take, {file.kind for file in delivered})
    known = {file.uri for some in files.values() for file in some}
    return expected, known | {copy.uri for some in copies.values() for copy in some}


def _copies(
    row: CampaignRow, take: Take, delivered: Iterable[Delivered], copies: Iterable[FileCopy]
) -> Iterator[AuditedFile]:
    """Yield the copies of delivered files that were proved once."""
    kinds = {file.kind: file for file in delivered}
    for copy in copies:
        if copy.fault is None and (source := kinds.get(copy.kind)) is not None:
            file = replace(source, uri=copy.uri)
            yield AuditedFile(
                row=row, take=take, kind=copy.kind, file=file, verdict="unknown", copy_of=source
            )


def _wanting(row: CampaignRow, take: Take, have: Iterable[str]) -> list[AuditedFile]:
    words = "the row asks for it, and it was never delivered"
    return [
        AuditedFile(row=row, take=take, kind=kind, file=None, verdict="wanting", words=words)
        for kind in ("mp4", *row.captions)
        if kind not in have
    ]


async def audited(
    one: AuditedFile, places: Places, spool: Path, *, quick: bool = False
) -> AuditedFile:
    """Return a file as it is in the store now."""
    if one.file is None:
        return one
    try:
        verdict, words, found = await _judge(one.file, places, spool, quick=quick)
    except StoreError as error:
        verdict, words, found = "unknown", str(error), None
    if verdict == "missing" and one.take.deletion:
        words += f"; its video was {one.take.deletion}"
    return replace(one, verdict=verdict, words=words, found=found)


async def _judge(
    file: Delivered, places: Places, spool: Path, *, quick: bool
) -> tuple[Verdict, str, str | None]:
    """Return the result for a file, the reason, and its sha256 if it was read."""
    inventory = places.of(file.uri)
    size = await inventory.size(file.uri)
    if size is None:
        return "missing", "it is not there", None
    if quick:
        if size != file.bytes:
            return "changed", f"it has {size} bytes instead of {file.bytes}", None
        return "intact", "", None
    if size == file.bytes and await inventory.vouched(file.uri) == file.sha256:
        return "intact", "", file.sha256
    async with inventory.opened(file.uri, spool) as path:
        if path is None:
            return "missing", "it is not there", None
        return await asyncio.to_thread(_read, file, path)


def _read(file: Delivered, path: Path) -> tuple[Verdict, str, str]:
    try:
        there = measure(path, md5=False)
    except OSError as error:
        raise StoreError(f"{file.uri} cannot be read: {error.strerror}") from None
    if there.bytes != file.bytes:
        words = f"it has {there.bytes} bytes instead of {file.bytes}"
        return "changed", words, there.sha256
    if there.sha256 != file.sha256:
        return "changed", "it has other bytes than were delivered", there.sha256
    try:
        if file.kind == "mp4":
            inspect_video(path)
        else:
            check_captions(path.read_bytes(), cast("CaptionFormat", file.kind))
    except VideoError as error:
        return "unplayable", str(error), there.sha256
    return "intact", "", there.sha256


# Pictures of videos: from the store, or made now.
#
# New pictures are cached in a local folder by the sha256 of the video; you may delete it.


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
        for kind, jpeg in zip(ENDINGS, made, strict=True):
            await asyncio.to_thread(self._keep, f"{video.sha256}{ENDINGS[kind]}", jpeg.data)

    def _keep(self, name: str, data: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = self._folder / f".{secrets.token_hex(8)}.part"
        fresh.write_bytes(data)
        os.replace(fresh, self._folder / name)

    async def _read(self, uri: str) -> bytes | None:
        try:
            async with self._places.of(uri).opened(uri, self._spool) as path:
                return None if path is None else await asyncio.to_thread(path.read_bytes)
        except (CallsheetError, OSError):
            return None
