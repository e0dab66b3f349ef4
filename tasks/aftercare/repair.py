"""Restores missing or damaged files of paid videos, and their pictures. Costs nothing.

A file is downloaded from the service and stored under its old name only if it is the delivered
one, with the same sha256. If the service now has another file, nothing is replaced and a person
decides. A damaged file is first renamed, never overwritten or deleted, because it may be wanted.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import cast

from callsheet.tasks.aftercare.verify import Audit, AuditedFile, BareVideo
from callsheet.tasks.campaign.outputs import copy_file
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.deliver import file_name
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    PictureKind,
    StoredPicture,
    VideoFindings,
    add_delivery,
    keep_findings,
)
from callsheet.tasks.ledger.moves import note
from callsheet.tasks.runtime.errors import (
    BadRequest,
    CallsheetError,
    Conflict,
    NotFound,
    ServiceError,
    StoreError,
    StoreUnusable,
    VideoError,
)
from callsheet.tasks.store import File, FileKind, check_captions, open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.checks import judge_length
from callsheet.tasks.store.inspection import (
    ENDINGS,
    Inspection,
    keep_pictures,
)
from callsheet.tasks.store.inspector import inspect_apart
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.briefs import CaptionFormat

#: Digits of the sha256 in the new name of a damaged file.
MARK = 12


async def repair(audit: Audit, at: Context, places: Places) -> Audit:
    """Restore files, several at a time; the others get a reason."""
    slots = asyncio.Semaphore(at.settings.at_once)

    async def repair_one(one: AuditedFile) -> AuditedFile:
        if one.sound or one.verdict == "unknown":
            return one
        async with slots:
            return await _fix(one, at, places)

    files: Sequence[AuditedFile] = await asyncio.gather(*(repair_one(one) for one in audit.files))
    return replace(audit, files=files)


async def _fix(one: AuditedFile, at: Context, places: Places) -> AuditedFile:
    bring_back = _bring_back if one.copy_of is None else _copy_again
    try:
        return replace(one, repaired=await bring_back(one, at, places))
    except NotFound:
        words = one.take.deletion or "the service no longer has this video"
        return replace(one, left=f"{words}: it cannot be fetched again")
    except (Conflict, BadRequest):
        return replace(one, left="the service no longer has this file of the video")
    except (VideoError, _Another) as error:
        return replace(one, left=str(error))
    except CallsheetError as error:
        # The service or the store is in trouble: try again later.
        passing = isinstance(error, ServiceError | StoreError | StoreUnusable)
        permanent = isinstance(error, StoreError) and error.permanent
        verdict = one.verdict if permanent or not passing else "unknown"
        return replace(one, verdict=verdict, left=str(error))


async def _copy_again(one: AuditedFile, at: Context, places: Places) -> str:
    """Make a copy at another place once more; raise StoreError if there is another file."""
    assert one.copy_of is not None
    assert one.file is not None
    place, _, name = one.file.uri.rpartition("/")
    store = open_store(place)
    try:
        await copy_file(one.copy_of, name, store, places, at.settings.spool)
    finally:
        await store.aclose()
    return "copied again"


class _Another(CallsheetError):
    """The service has another file than the delivered one; a person must decide."""


async def _bring_back(one: AuditedFile, at: Context, places: Places) -> str:
    """Download a file, verify that it is the delivered one, store it; return what was done."""
    name = await _name(one, at)
    async with _fetched(one, at) as (source, sha256):
        if one.file is not None and sha256 != one.file.sha256:
            raise _Another(
                f"the service now has another file (sha256 {sha256[:MARK]}..., delivered was "
                f"{one.file.sha256[:MARK]}...): look at both, then decide; nothing was put in place"
            )
        words = "fetched again"
        if one.file is not None and one.verdict in ("changed", "unplayable"):
            words += f"; the damaged file is now {await _set_aside(one, one.file, places)}"
        kind = cast("FileKind", one.kind)
        file = File(kind=kind, name=name, source=source, sha256=sha256)
        metadata = {"callsheet-row": one.row.row, "callsheet-video": one.take.video_id or ""}
        (stored,) = await at.store.put(file, metadata=metadata)
    delivered = Delivered(kind=one.kind, uri=stored.uri, sha256=stored.sha256, bytes=stored.bytes)
    await _record(one, delivered, words, at)
    return words


async def _name(one: AuditedFile, at: Context) -> str:
    """Return the name of a file in this store; raise StoreError if it is in another."""
    if one.file is None:
        return await file_name(one.row, one.take.number, one.kind, at)
    name = name_below(at.store.address, one.file.uri)
    if name is None:
        message = f"it was delivered to another store than {at.store.address}"
        raise StoreError(f"{message}: set CALLSHEET_STORE to that one", permanent=True)
    return name


@asynccontextmanager
async def _fetched(one: AuditedFile, at: Context) -> AsyncIterator[tuple[Path | bytes, str]]:
    """Yield the current file of the take at the service, inspected, and its sha256."""
    video_id = one.take.video_id
    if video_id is None:
        raise _Another("the ledger does not know which video it is of")
    if one.kind != "mp4":
        format = cast("CaptionFormat", one.kind)
        data = await at.service.captions(video_id, format)
        check_captions(data, format)
        yield data, hashlib.sha256(data).hexdigest()
        return

    async def address() -> str:
        return (await at.service.download(video_id)).url

    video = await at.fetcher.fetch(f"repair-{one.take.id}", address)
    try:
        await inspect_apart(video.path, "no", at.inspector)
        yield video.path, video.sha256
    finally:
        video.path.unlink(missing_ok=True)


async def _set_aside(one: AuditedFile, file: Delivered, places: Places) -> str:
    inventory = places.of(file.uri)
    # A quick check has no digest; the name must distinguish contents.
    mark = (one.found or f"{await inventory.size(file.uri)}-bytes")[:MARK]
    return await inventory.set_aside(file.uri, f"damaged-{mark}")


async def _record(one: AuditedFile, file: Delivered, words: str, at: Context) -> None:
    """Record the repair in the history of the row; new captions become a delivery."""
    what = partial(
        note,
        row=one.row,
        kind="repair",
        words=f"{one.kind} {one.verdict}: {words}",
        at=at.clock(),
        take=one.take,
    )
    if one.file is not None:
        await at.ledger.write(what)
        return
    await at.ledger.write(add_delivery, row=one.row, take=one.take, file=file, at=at.clock())


# Makes missing pictures of videos, and fills in video data that the ledger lacks. Reads
# the video from the store; does not call the service.


async def repair_pictures(audit: Audit, at: Context, places: Places) -> Audit:
    """Make missing pictures, several at a time; return the audit with the results."""
    slots = asyncio.Semaphore(at.settings.at_once)

    async def make(one: BareVideo) -> BareVideo:
        async with slots:
            return replace(one, made=await _made(one, at, places))

    bare: Sequence[BareVideo] = await asyncio.gather(*(make(one) for one in audit.bare))
    return replace(audit, bare=bare)


async def _made(one: BareVideo, at: Context, places: Places) -> bool:
    name = name_below(at.store.address, one.file.uri)
    if name is None:
        # It was delivered to another store, which is not written to.
        return False
    try:
        async with places.of(one.file.uri).opened(one.file.uri, at.settings.spool) as path:
            if path is None:
                return False
            seen = await inspect_apart(path, at.settings.pictures, at.inspector)
        kept = await _kept(one, name, seen, at)
    except (VideoError, StoreError):
        return False
    checks = dict([*one.findings.checks.items(), *seen.findings.items()])
    if (asked := one.take.wanted_seconds()) is not None:
        checks["length"] = judge_length(seen.video.seconds, asked)
    findings = VideoFindings(checks=checks, pictures={**one.findings.pictures, **kept})
    await at.ledger.write(keep_findings, take_id=one.take.id, findings=findings)
    return bool(kept)


async def _kept(
    one: BareVideo, name: str, seen: Inspection, at: Context
) -> dict[PictureKind, StoredPicture]:
    """Store pictures next to a video; a damaged picture is replaced."""
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
