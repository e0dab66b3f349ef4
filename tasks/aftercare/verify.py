"""Finds which files of deliveries are missing or damaged in the store. Changes nothing.

A file is intact if it has the size and sha256 of its delivery. If its bytes are read, a frame of
the video is decoded again and captions are parsed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from callsheet.tasks.aftercare.findings import Finding, Repair, Repairs, Verdict
from callsheet.tasks.campaign.selection import Selection
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    FileCopy,
    PictureKind,
    VideoFindings,
    copies_of,
    deliveries_of,
    findings_of,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of, takes_of
from callsheet.tasks.runtime.errors import StoreError, VideoError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import map_at_once
from callsheet.tasks.store import check_captions, inspect_video, open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.disk import measure
from callsheet.tasks.store.inspection import Wanted
from callsheet.tasks.store.store import Listed
from callsheet.tasks.values.briefs import CaptionFormat

#: The pictures next to a video, by the setting `pictures`.
WANTED: Mapping[Wanted, tuple[PictureKind, ...]] = {
    "yes": ("poster", "strip"),
    "poster": ("poster",),
    "no": (),
}
#: Callsheet's other files in the folder of a campaign.
REPORTS = ("manifest.json", "status.csv")
#: A file as `prune` asks for it before it deletes the video at the service.
AuditedFile = Finding


async def verify(
    ledger: Ledger,
    campaign: Campaign,
    settings: Settings,
    places: Places,
    *,
    chosen: Selection,
    quick: bool = False,
    pictures: Wanted = "no",
) -> Repairs:
    """Check every file of the takes of the selected rows, several at a time.

    `quick` compares sizes only. Other files below the folder of the campaign are listed and not
    touched. Videos without the wanted `pictures` are listed too.
    """
    expected, known = await ledger.read(_expected, campaign=campaign, chosen=chosen)
    look = partial(audited, places=places, spool=settings.spool, quick=quick)
    files = await map_at_once(look, expected, at_once=settings.at_once)
    folder = f"{open_store(settings.store).address.rstrip('/')}/{campaign.name}"
    try:
        there = await places.of(folder).below(folder)
    except StoreError:
        # The store can be read but not listed; each file was requested by name.
        there = []
    findings = await ledger.read(findings_of, campaign_id=campaign.id)
    beside = {picture.uri for one in findings.values() for picture in one.pictures.values()}
    own = {f"{folder}/{name}" for name in REPORTS} | known | beside
    bare = _bare(expected, findings, there, WANTED[pictures]) if there else ()
    return Repairs(
        campaign=campaign,
        findings=[*(one for one in files if one.verdict != "intact"), *bare],
        files=len(files),
        extra=[file for file in there if file.uri not in own],
    )


def _expected(
    connection: Connection, campaign: Campaign, chosen: Selection
) -> tuple[list[Finding], set[str]]:
    """Return the files that should be in the store, and the addresses of all deliveries."""
    rows = {row.id: row for row in rows_of(connection, campaign.id)}
    files = deliveries_of(connection, campaign.id)
    copies = copies_of(connection, campaign.id)
    expected: list[Finding] = []
    for row_id, take in takes_of(connection, campaign.id):
        row, delivered = rows[row_id], {file.kind: file for file in files.get(take.id, ())}
        if chosen(row, row.asked(), row.state):
            expected += _of_take(row, take, delivered, copies.get(take.id, ()))
    known = {file.uri for some in files.values() for file in some}
    return expected, known | {copy.uri for some in copies.values() for copy in some}


def _of_take(
    row: CampaignRow, take: Take, delivered: Mapping[str, Delivered], copies: Iterable[FileCopy]
) -> Iterator[Finding]:
    """Yield the delivered files, their copies that were proved once, and what is wanting."""
    one = Finding(verdict="unknown", row=row, take=take)
    for kind, file in delivered.items():
        yield replace(one, kind=kind, file=file)
    for copy in copies:
        if copy.fault is None and (source := delivered.get(copy.kind)) is not None:
            there = replace(source, uri=copy.uri)
            yield replace(one, kind=copy.kind, file=there, copy_of=source)
    if row.state == "delivered" and row.take is not None and row.take.id == take.id:
        words = "the row asks for it, and it was never delivered"
        for kind in ("mp4", *row.captions):
            if kind not in delivered:
                yield replace(one, verdict="wanting", kind=kind, words=words, repair="refetch")


def _bare(
    expected: Iterable[Finding],
    findings: Mapping[int, VideoFindings],
    there: Iterable[Listed],
    wanted: Collection[PictureKind],
) -> Iterator[Finding]:
    """Yield videos without a picture, or with another file in its place."""
    listed = {file.uri: file.bytes for file in there}
    for one in expected:
        if one.kind != "mp4" or one.file is None or one.copy_of is not None:
            continue
        pictures = findings.get(one.attempt[1].id, VideoFindings()).pictures
        have = {kind for kind, image in pictures.items() if listed.get(image.uri) == image.bytes}
        if not have >= set(wanted):
            yield replace(one, verdict="bare", repair="picture")


async def audited(one: Finding, places: Places, spool: Path, *, quick: bool = False) -> Finding:
    """Return a file as it is in the store now."""
    if one.file is None:
        return one
    try:
        verdict, words, found = await _judge(one.file, places, spool, quick=quick)
    except StoreError as error:
        verdict, words, found = "unknown", str(error), None
    if verdict == "missing" and (deletion := one.attempt[1].deletion):
        words += f"; its video was {deletion}"
    repair: Repair | None = "copy" if one.copy_of else "refetch"
    if verdict in ("intact", "unknown"):
        repair = None
    return replace(one, verdict=verdict, words=words, found=found, repair=repair)


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
