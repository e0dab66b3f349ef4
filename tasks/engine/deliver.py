"""The deliver lane: download, verify, store, and the captions next to it.

Everything here is free to do again: the video is already paid for.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.free_calls import closed
from callsheet.tasks.engine.policy.decision import FilesStored, Memory, NotStored, Observation
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    PictureKind,
    StoredPicture,
    VideoFindings,
    find_take_video,
    is_of_earlier,
)
from callsheet.tasks.ledger.values import CampaignRow, Take
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    BadRequest,
    CallsheetError,
    RateLimited,
    ServiceError,
    StoreError,
    StoreUnusable,
    VideoError,
)
from callsheet.tasks.store import File, FileKind, check_captions
from callsheet.tasks.store.captions import judge_captions
from callsheet.tasks.store.checks import judge_ai_mark, judge_length
from callsheet.tasks.store.inspection import Inspection, keep_pictures
from callsheet.tasks.store.store import name_below, name_beside
from callsheet.tasks.values.briefs import OK, CaptionFormat
from callsheet.tasks.values.edits import edit_of
from callsheet.tasks.values.names import object_name


@dataclass(frozen=True)
class FoundFile:
    """A file that is what it should be; a video with what was seen of it."""

    file: File
    inspection: Inspection | None = None

    @property
    def seconds(self) -> float | None:
        """A video's length."""
        return None if self.inspection is None else self.inspection.seconds


#: None while the service has no such captions yet.
Fetched = FoundFile | None


async def deliver(
    row: CampaignRow, memory: Memory, address: str | None, at: Context
) -> Observation:
    """Store a row's video and captions; `address` is a fresh signed one, if known."""
    have = {file.kind for file in memory.files}
    wanted = [format for format in row.captions if format not in have]
    try:
        async with AsyncExitStack() as spooled:
            video = [_video(row, address, at, spooled)] if "mp4" not in have else []
            captions = [_captions(row, format, at) for format in wanted]
            outcomes = await _together(*video, *captions)
            troubles = [one for one in outcomes if isinstance(one, CallsheetError)]
            found = [one for one in outcomes if isinstance(one, FoundFile)]
            if video and outcomes[0] in troubles:
                raise troubles[0]
            try:
                files = await store_files(row, found, at)
            except StoreError as error:
                return await _refused(error, at)
            pictures = await _keep_pictures(row, found, at)
            if troubles:
                # The video is stored whatever becomes of its captions.
                raise troubles[0]
            crashpoint("delivery: before the spool is cleared")
        crashpoint("delivery: after the spool is cleared")
    except RateLimited as error:
        return closed(error, at.clock())
    except CallsheetError as error:
        return _not_stored(error)
    here = {one.file.kind for one in found}
    late = tuple(format for format in wanted if format not in here)
    stored = (*memory.files, *files)
    return FilesStored(stored, late, _findings(row, memory, stored, found, pictures, at))


async def fetch_file(row: CampaignRow, kind: str, at: Context, spooled: AsyncExitStack) -> Fetched:
    """Return a file of the row's take as the service has it now; None for captions it has not.

    A video lies in the spool until `spooled` ends.
    """
    if kind == "mp4":
        return await _video(row, None, at, spooled)
    return await _captions(row, cast("CaptionFormat", kind), at)


async def _together(*work: Awaitable[Fetched]) -> list[Fetched | CallsheetError]:
    """Do everything at once and to its end: what one finds wrong is returned next to the rest.

    Only what is none of our errors ends the others, which have ended when it is raised.
    """

    async def kept(one: Awaitable[Fetched]) -> Fetched | CallsheetError:
        try:
            return await one
        except CallsheetError as error:
            return error

    tasks = [asyncio.ensure_future(kept(one)) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        if left := [task for task in tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)


async def _refused(error: StoreError, at: Context) -> NotStored:
    """Return what a failed write means: trouble with one file, or with the whole store."""
    blocks = str(error) if error.full else None
    if blocks is None and not error.conflict:
        try:
            await at.store.check()
        except StoreUnusable as unusable:
            blocks = f"{unusable}; {unusable.remedy}"
    return NotStored(blocks or str(error), permanent=error.permanent, blocks=blocks)


def _not_stored(error: CallsheetError) -> NotStored:
    full = isinstance(error, StoreError) and error.full
    return NotStored(
        str(error),
        permanent=_permanent(error),
        corrupt=isinstance(error, VideoError),
        # The disk of the spool may have room again once other videos are in the store.
        blocks=str(error) if full else None,
        in_the_end=True,
    )


def _permanent(error: CallsheetError) -> bool:
    if isinstance(error, StoreError | ServiceError):
        return error.permanent
    return isinstance(error, StoreUnusable)


async def _video(
    row: CampaignRow, address: str | None, at: Context, spooled: AsyncExitStack
) -> Fetched:
    """Fetch a video, which lies in the spool until `spooled` ends."""
    assert row.take is not None
    name = f"{row.campaign_id}-{row.id}-{row.take.number}"
    fetched = await at.fetcher.fetch(name, _addresses(row, address, at))
    # What is verified is in the store by then; what is not is downloaded again.
    spooled.callback(fetched.path.unlink, missing_ok=True)
    if edit_of(row.operation) not in (None, "title") and await _is_old(row, fetched.sha256, at):
        raise StoreError("the service still gives the video from before the edit")
    try:
        seen = await at.inspector.inspect(fetched.path, at.settings.pictures)
    except FileNotFoundError:
        # Someone who was thought to be gone has delivered it meanwhile, out of the same spool.
        raise StoreError("another process has taken the download away; it is made again") from None
    crashpoint("delivery: the video is verified")
    return FoundFile(await _file(row, "mp4", fetched.path, fetched.sha256, at), seen)


async def _is_old(row: CampaignRow, sha256: str, at: Context) -> bool:
    """Whether a file was delivered for an earlier take. Not asked of titles: few show theirs."""
    assert row.take is not None
    return await at.ledger.read(is_of_earlier, take=row.take, row_id=row.id, sha256=sha256)


def _addresses(row: CampaignRow, address: str | None, at: Context) -> Callable[[], Awaitable[str]]:
    """Return a source of signed addresses: the one at hand first, then a fresh one each time."""
    known = [address] if address else []

    async def fresh() -> str:
        if known:
            return known.pop()
        assert row.take is not None
        assert row.take.video_id is not None
        return (await at.service.download(row.take.video_id)).url

    return fresh


async def _captions(row: CampaignRow, format: CaptionFormat, at: Context) -> Fetched:
    """Fetch captions in one format; None while the service has none yet."""
    assert row.take is not None
    assert row.take.video_id is not None
    try:
        data = await at.service.captions(row.take.video_id, format)
        check_captions(data, format)
    except (BadRequest, VideoError):
        return None
    return FoundFile(await _file(row, format, data, hashlib.sha256(data).hexdigest(), at))


async def _file(
    row: CampaignRow, kind: FileKind, source: Path | bytes, sha256: str, at: Context
) -> File:
    assert row.take is not None
    take = row.take.number
    # Only files that a sheet names can have had other names before.
    name = name_of(row, take, kind) if row.name is None else await file_name(row, take, kind, at)
    return File(kind=kind, name=name, source=source, sha256=sha256)


async def file_name(row: CampaignRow, take: int, kind: str, at: Context) -> str:
    """Return the name of a file of a take: next to those it has, whatever the sheet says now."""
    known = await at.ledger.read(find_take_video, campaign=row.campaign, row=row.row, take=take)
    for file in known.files.values() if known is not None else ():
        if (name := name_below(at.store.address, file.uri)) is not None:
            return name_beside(name, f".{kind}")
    return name_of(row, take, kind)


def name_of(row: CampaignRow, take: int, kind: str) -> str:
    """Return what a new file of a take is called in the store."""
    return object_name(row.name, campaign=row.campaign, row=row.row, take=take, kind=kind)


async def store_files(row: CampaignRow, found: Sequence[FoundFile], at: Context) -> list[Delivered]:
    """Put files that are what they should be into the store."""
    assert row.take is not None
    metadata = {"callsheet-row": row.row, "callsheet-video": row.take.video_id or ""}
    stored = await at.store.put(*(one.file for one in found), metadata=metadata)
    return [
        Delivered(
            kind=one.file.kind,
            uri=there.uri,
            sha256=there.sha256,
            bytes=there.bytes,
            seconds=one.seconds,
        )
        for one, there in zip(found, stored, strict=True)
    ]


async def _keep_pictures(
    row: CampaignRow, found: Sequence[FoundFile], at: Context
) -> dict[PictureKind, StoredPicture]:
    """Put a video's pictures next to it, if that can be done: no delivery depends on them."""
    videos = [one for one in found if one.inspection is not None]
    if not videos or videos[0].inspection is None:
        return {}
    kept = await keep_pictures(at.store, videos[0].file.name, videos[0].inspection)
    crashpoint("delivery: the pictures are kept")
    return {kind: StoredPicture(**asdict(one)) for kind, one in kept.items()}


def _findings(
    row: CampaignRow,
    memory: Memory,
    stored: Sequence[Delivered],
    found: Sequence[FoundFile],
    pictures: Mapping[PictureKind, StoredPicture],
    at: Context,
) -> VideoFindings | None:
    """Return what is known of the video now: of this delivery, and of what it brought before."""
    before = memory.findings or VideoFindings()
    seconds = next((file.seconds for file in stored if file.kind == "mp4"), None)
    checks, ai_mark = dict(before.checks), before.ai_mark
    for one in found:
        if one.inspection is not None:
            checks |= judged(one.inspection, row.take, at)
            ai_mark = one.inspection.ai_mark
        elif isinstance(one.file.source, bytes) and checks.get("captions", OK) == OK:
            checks["captions"] = judge_captions(one.file.source.decode(), seconds)
    if not checks and not pictures and ai_mark is None:
        return memory.findings
    pictures = {**before.pictures, **pictures}
    return VideoFindings(checks=checks, pictures=pictures, ai_mark=ai_mark)


def judged(seen: Inspection, take: Take | None, at: Context) -> dict[str, str]:
    """Return what was found wrong with the video of a take, or OK, by check.

    That it has no AI mark is only told where the settings ask for one.
    """
    checks: dict[str, str] = dict(seen.findings.items())
    asked = take.wanted_seconds() if take is not None else None
    if asked is not None:
        checks["length"] = judge_length(seen.seconds, asked)
    if "ai_mark" in at.settings.checks:
        checks["ai_mark"] = judge_ai_mark(seen.ai_mark)
    return checks
