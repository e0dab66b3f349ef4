"""Make pictures anew that are not beside their videos; with them, what older ledgers do not know
is found of the video. Reads the video from the store, and asks no service."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

from callsheet.tasks.aftercare.verify import Audit, BareVideo, Places
from callsheet.tasks.engine.context import Context
from callsheet.tasks.errors import StoreError, VideoError
from callsheet.tasks.ledger import PictureKind, StoredPicture, VideoFindings, keep_findings
from callsheet.tasks.store.checks import judge_length
from callsheet.tasks.store.inspection import Inspection, inspect_closely_apart
from callsheet.tasks.store.keep_pictures import ENDINGS, keep_pictures
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.store.store import name_below


async def repair_pictures(audit: Audit, at: Context, places: Places) -> Audit:
    """Make the pictures of bare videos, several at a time; return the audit with what was made."""
    slots = asyncio.Semaphore(at.settings.deliveries)

    async def make(one: BareVideo) -> BareVideo:
        async with slots:
            return replace(one, made=await _made(one, at, places))

    bare: Sequence[BareVideo] = await asyncio.gather(*(make(one) for one in audit.bare))
    return replace(audit, bare=bare)


async def _made(one: BareVideo, at: Context, places: Places) -> bool:
    name = name_below(at.store.address, one.file.uri)
    if name is None:
        # It was delivered to another store, where nothing is written now.
        return False
    try:
        async with places.of(one.file.uri).opened(one.file.uri, at.settings.spool) as path:
            if path is None:
                return False
            seen = await inspect_closely_apart(path, at.settings.pictures, at.second)
        kept = await _kept(one, name, seen, at)
    except (VideoError, StoreError):
        return False
    checks = dict([*one.findings.checks.items(), *seen.findings.items()])
    if (asked := one.take.wanted_seconds()) is not None:
        checks["length"] = judge_length(seen.video.seconds, asked)
    findings = VideoFindings(checks=checks, pictures={**one.findings.pictures, **kept})
    await at.ledger.write(partial(keep_findings, take_id=one.take.id, findings=findings))
    return bool(kept)


async def _kept(
    one: BareVideo, name: str, seen: Inspection, at: Context
) -> dict[PictureKind, StoredPicture]:
    """Keep pictures beside a video; what is damaged is ours, and is replaced."""
    made: dict[PictureKind, Jpeg | None] = {"poster": seen.poster, "strip": seen.strip}
    for kind, jpeg in made.items():
        before = one.findings.pictures.get(kind)
        if jpeg is None or before is None:
            continue
        known = name_below(at.store.address, before.uri)
        if known == f"{name.removesuffix('.mp4')}{ENDINGS[kind]}":
            await at.store.replace(known, jpeg.data, content_type="image/jpeg")
    kept = await keep_pictures(at.store, name, seen)
    return {kind: StoredPicture(**asdict(picture)) for kind, picture in kept.items()}
