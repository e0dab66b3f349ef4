"""Restores missing or damaged files of paid videos, and their pictures. Costs nothing."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import cast

from callsheet.tasks.aftercare.verify import Audit, AuditedFile, BareVideo, Places
from callsheet.tasks.engine.context import Context
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
from callsheet.tasks.store import File, FileKind, check_captions, inspect_apart, object_name
from callsheet.tasks.store.checks import judge_length
from callsheet.tasks.store.inspection import (
    ENDINGS,
    Inspection,
    inspect_closely_apart,
    keep_pictures,
)
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.briefs import CaptionFormat

# Bring back what a look at the store found missing or damaged: free, since it is paid for.
#
# A video is fetched from the service by its take's video and put under its old name, but only when
# it is the very video that was delivered: the same sha256. When the service gives another one by
# now, nothing is put in place, and a person decides. A damaged file is not overwritten and not
# removed: it is set aside under a name of its own first, since nobody knows whose work it is.


#: Digits of a damaged file's sha256 in the name it is set aside under.
MARK = 12


async def repair(audit: Audit, at: Context, places: Places) -> Audit:
    """Bring back what can be, several files at a time; the rest says why it was left."""
    slots = asyncio.Semaphore(at.settings.at_once)

    async def mend(one: AuditedFile) -> AuditedFile:
        if one.sound or one.verdict == "unknown":
            return one
        async with slots:
            return await _mend(one, at, places)

    files: Sequence[AuditedFile] = await asyncio.gather(*(mend(one) for one in audit.files))
    return replace(audit, files=files)


async def _mend(one: AuditedFile, at: Context, places: Places) -> AuditedFile:
    try:
        return replace(one, repaired=await _bring_back(one, at, places))
    except NotFound:
        return replace(one, left="the service no longer has this video: it cannot be fetched again")
    except (Conflict, BadRequest):
        return replace(one, left="the service has no such file of this video now")
    except (VideoError, _Another) as error:
        return replace(one, left=str(error))
    except CallsheetError as error:
        # The service or the store in trouble: nothing is known, and another time may do.
        passing = isinstance(error, ServiceError | StoreError | StoreUnusable)
        permanent = isinstance(error, StoreError) and error.permanent
        verdict = one.verdict if permanent or not passing else "unknown"
        return replace(one, verdict=verdict, left=str(error))


class _Another(CallsheetError):
    """The service gives another file than the one delivered; a person decides."""


async def _bring_back(one: AuditedFile, at: Context, places: Places) -> str:
    """Fetch a file, see that it is the one delivered, put it in place; return what was done."""
    name = _name(one, at)
    async with _fetched(one, at) as (source, sha256):
        if one.file is not None and sha256 != one.file.sha256:
            raise _Another(
                f"the service now gives another file (sha256 {sha256[:MARK]}..., delivered was "
                f"{one.file.sha256[:MARK]}...): look at both, then decide; nothing was put in place"
            )
        words = "fetched again"
        if one.file is not None and one.verdict in ("changed", "unplayable"):
            words += f"; what was there is {await _set_aside(one, one.file, places)} now"
        kind = cast("FileKind", one.kind)
        file = File(kind=kind, name=name, source=source, sha256=sha256)
        metadata = {"callsheet-row": one.row.row, "callsheet-video": one.take.video_id or ""}
        (stored,) = await at.store.put(file, metadata=metadata)
    delivered = Delivered(kind=one.kind, uri=stored.uri, sha256=stored.sha256, bytes=stored.bytes)
    await _record(one, delivered, words, at)
    return words


def _name(one: AuditedFile, at: Context) -> str:
    """Return the name a file had in this store; raise StoreError where it was in another."""
    if one.file is None:
        return object_name(
            at.settings.names,
            campaign=one.row.campaign,
            row=one.row.row,
            take=one.take.number,
            kind=cast("FileKind", one.kind),
        )
    name = name_below(at.store.address, one.file.uri)
    if name is None:
        message = f"it was delivered to another store than {at.store.address}"
        raise StoreError(f"{message}: set CALLSHEET_STORE to that one", permanent=True)
    return name


@asynccontextmanager
async def _fetched(one: AuditedFile, at: Context) -> AsyncIterator[tuple[Path | bytes, str]]:
    """Yield a file of the take as the service has it now, looked at, and its sha256."""
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
        await inspect_apart(video.path, at.second)
        yield video.path, video.sha256
    finally:
        video.path.unlink(missing_ok=True)


async def _set_aside(one: AuditedFile, file: Delivered, places: Places) -> str:
    inventory = places.of(file.uri)
    # A quick look knows no digest; the name has to tell one content from another.
    mark = (one.found or f"{await inventory.size(file.uri)}-bytes")[:MARK]
    return await inventory.set_aside(file.uri, f"damaged-{mark}")


async def _record(one: AuditedFile, file: Delivered, words: str, at: Context) -> None:
    """Write into the row's history what was done; captions that never were become a delivery."""
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
    await at.ledger.write(
        partial(add_delivery, row=one.row, take=one.take, file=file, at=at.clock())
    )


# Make pictures anew that are not beside their videos; with them, what older ledgers do not know
# is found of the video. Reads the video from the store, and asks no service.


async def repair_pictures(audit: Audit, at: Context, places: Places) -> Audit:
    """Make the pictures of bare videos, several at a time; return the audit with what was made."""
    slots = asyncio.Semaphore(at.settings.at_once)

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
