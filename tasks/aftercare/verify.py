"""Finds which files of deliveries are missing or damaged in the store. Changes nothing.

A file is intact if it has the size and sha256 of its delivery. If its bytes are read, a frame of
the video is decoded again and captions are parsed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.findings import Finding, Repair, Repairs, Verdict
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    TakeVideo,
    videos_of,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import numbers_shown
from callsheet.tasks.ledger.schema import takes
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of, takes_of
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import StoreError, VideoError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.store import check_captions, inspect_video, open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.disk import measure
from callsheet.tasks.store.inspection import ENDINGS, Wanted
from callsheet.tasks.store.store import Listed
from callsheet.tasks.values.briefs import CaptionFormat

#: Callsheet's other files in the folder of a campaign.
REPORTS = ("manifest.json", "status.csv")


async def verify(
    ledger: Ledger,
    settings: Settings,
    campaign: Campaign,
    *,
    which: RowFilter,
    quick: bool = False,
    reports: bool = False,
) -> Repairs:
    """Check every file of the takes of the selected rows, several at a time.

    `quick` compares sizes only. Other files below the folder of the campaign are listed and not
    touched. Videos without the wanted pictures are found too, or, for a plan, changed `reports`.
    """
    expected, videos = await ledger.read(_expected, campaign=campaign, which=which)
    folder = f"{open_store(settings.store).address.rstrip('/')}/{campaign.name}"
    async with Places() as places:
        try:
            there = await places.of(folder).below(folder)
        except StoreError:
            # The store can be read but not listed; each file is requested by name.
            there = []
        sizes = {file.uri: file.bytes for file in there} if quick else None
        look = partial(audited, places=places, spool=settings.spool, sizes=sizes)
        files = await map_at_once(look, expected, at_once=settings.at_once)
        found = [one for one in files if one.verdict != "intact"]
        if reports:
            found += [one async for one in _reports(campaign, folder, places, settings.spool)]
    if there and not reports:
        found += _bare(expected, videos, there, settings.pictures)
    own = {f"{folder}/{name}" for name in REPORTS}
    for one in videos.values():
        own |= {file.uri for file in one.files.values()} | {copy.uri for copy in one.copied}
        own |= {picture.uri for picture in one.pictures.values()}
    return Repairs(
        campaign=campaign,
        findings=found,
        files=len(files),
        extra=[file for file in there if file.uri not in own],
    )


def _expected(
    connection: Connection, campaign: Campaign, which: RowFilter
) -> tuple[list[Finding], dict[int, TakeVideo]]:
    """Return the files that should be in the store, and what there is of each take, by its id."""
    chosen = frozenset(numbers_shown(connection, campaign.id, which))
    rows = {row.id: row for row in rows_of(connection, campaign.id)}
    videos = videos_of(connection, takes.c.campaign_id == campaign.id)
    expected: list[Finding] = []
    for row_id, take in takes_of(connection, campaign.id):
        if row_id in chosen:
            expected += _of_take(rows[row_id], take, videos[take.id])
    return expected, videos


def _of_take(row: CampaignRow, take: Take, video: TakeVideo) -> Iterator[Finding]:
    """Yield the delivered files, their copies that were proved once, and what is wanting."""
    one = Finding(verdict="unknown", row=row, take=take)
    for kind, file in video.files.items():
        yield replace(one, kind=kind, file=file)
    for copy in video.copied:
        if copy.fault is None and (source := video.files.get(copy.kind)) is not None:
            there = replace(source, uri=copy.uri)
            yield replace(one, kind=copy.kind, file=there, copy_of=source)
    if row.state == "delivered" and row.take is not None and row.take.id == take.id:
        words = "the row asks for it, and it was never delivered"
        for kind in ("mp4", *row.captions):
            if kind not in video.files:
                yield replace(one, verdict="wanting", kind=kind, words=words, repair="refetch")


def _bare(
    expected: Iterable[Finding],
    videos: Mapping[int, TakeVideo],
    there: Iterable[Listed],
    pictures: Wanted,
) -> Iterator[Finding]:
    """Yield videos without a picture, or with another file in its place."""
    listed = {file.uri: file.bytes for file in there}
    wanted = {kind for kind in ENDINGS if pictures in ("yes", kind)}
    for one in expected:
        if one.kind != "mp4" or one.file is None or one.copy_of is not None:
            continue
        known = videos[one.attempt[1].id].pictures
        if not wanted <= {kind for kind, at in known.items() if listed.get(at.uri) == at.bytes}:
            yield replace(one, verdict="bare", repair="picture")


async def _reports(
    campaign: Campaign, folder: str, places: Places, spool: Path
) -> AsyncIterator[Finding]:
    """Yield Callsheet's own files of a campaign that are not as they were written."""
    reported = Reported.read(campaign.reported)
    for name, digest in zip(REPORTS, reported.files if reported else (), strict=False):
        try:
            async with places.of(folder).opened(f"{folder}/{name}", spool) as path:
                same = path is not None and await asyncio.to_thread(_has, path, digest)
        except StoreError:
            # Each file of a row says that the store cannot be read.
            continue
        if not same:
            sheet = campaign.sheet or "SHEET"
            remedy = suggest("plan", sheet, "--repair", *service_of(campaign))
            words = f"{name} is missing or was changed"
            yield Finding(verdict="report", words=words, remedy=remedy)


def _has(path: Path, digest: str) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == digest


async def audited(
    one: Finding, places: Places, spool: Path, *, sizes: Mapping[str, int] | None = None
) -> Finding:
    """Return a file as it is in the store now.

    With `sizes`, which are those of files that were listed, nothing but its size is looked at.
    """
    if one.file is None:
        return one
    try:
        verdict, words, found = await _judge(one.file, places, spool, sizes)
    except StoreError as error:
        verdict, words, found = "unknown", str(error), None
    if verdict == "missing" and (deletion := one.attempt[1].deletion):
        words += f"; its video was {deletion}"
    repair: Repair | None = "copy" if one.copy_of else "refetch"
    if verdict in ("intact", "unknown"):
        repair = None
    return replace(one, verdict=verdict, words=words, found=found, repair=repair)


async def _judge(
    file: Delivered, places: Places, spool: Path, sizes: Mapping[str, int] | None
) -> tuple[Verdict, str, str | None]:
    """Return the result for a file, the reason, and its sha256 if it was read."""
    inventory = places.of(file.uri)
    size = None if sizes is None else sizes.get(file.uri)
    if size is None:
        # Not among the files that were listed: it may be in another folder.
        size = await inventory.size(file.uri)
    if size is None:
        return "missing", "it is not there", None
    if sizes is not None and size != file.bytes:
        return "changed", f"it has {size} bytes instead of {file.bytes}", None
    if sizes is not None:
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
