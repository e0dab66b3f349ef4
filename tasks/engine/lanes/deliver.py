"""The deliver lane: download, verify, store, and the captions beside it.

Everything here is free to do again: the film is already paid for.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tasks.brief import CaptionFormat
from tasks.crash import crashpoint
from tasks.engine.context import Context
from tasks.engine.lanes.failures import closed
from tasks.engine.policy.decision import Memory
from tasks.engine.policy.observations import FilesStored, NotStored, Observation
from tasks.errors import (
    BadRequest,
    CallsheetError,
    FilmError,
    RateLimited,
    ServiceError,
    StoreError,
    StoreUnusable,
)
from tasks.ledger import CampaignRow, Delivered
from tasks.store import File, FileKind, check_captions, inspect_film, object_name


async def deliver(
    row: CampaignRow, memory: Memory, address: str | None, at: Context
) -> Observation:
    """Bring a row's film and captions into the store; `address` is a fresh signed one, if known."""
    have = {file.kind for file in memory.files}
    found: list[File] = []
    seconds: float | None = None
    late: list[str] = []
    try:
        async with AsyncExitStack() as spooled:
            if "mp4" not in have:
                film, seconds = await _film(row, address, at, spooled)
                found.append(film)
            try:
                for format in row.captions:
                    if format not in have:
                        captions = await _captions(row, format, at)
                        found += [captions] if captions else []
                        late += [] if captions else [format]
            except CallsheetError:
                # The film is stored whatever becomes of its captions.
                await _store(row, found, seconds, at)
                raise
            files = await _store(row, found, seconds, at)
            crashpoint("delivery: before the spool is cleared")
        crashpoint("delivery: after the spool is cleared")
    except RateLimited as error:
        return closed(error, at.clock())
    except CallsheetError as error:
        corrupt = isinstance(error, FilmError)
        return NotStored(str(error), permanent=_permanent(error), corrupt=corrupt)
    return FilesStored((*memory.files, *files), tuple(late))


def _permanent(error: CallsheetError) -> bool:
    if isinstance(error, StoreError | ServiceError):
        return error.permanent
    return isinstance(error, StoreUnusable)


async def _film(
    row: CampaignRow, address: str | None, at: Context, spooled: AsyncExitStack
) -> tuple[File, float]:
    """Fetch a film and return it with its length; it lies in the spool until `spooled` ends."""
    assert row.take is not None
    name = f"{row.campaign_id}-{row.id}-{row.take.number}"
    fetched = await at.fetcher.fetch(name, _addresses(row, address, at))
    # What is verified is in the store by then; what is not is downloaded anew.
    spooled.callback(fetched.path.unlink, missing_ok=True)
    film = await asyncio.to_thread(inspect_film, fetched.path)
    crashpoint("delivery: the film is verified")
    return _file(row, "mp4", fetched.path, fetched.sha256, at), film.seconds


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


async def _captions(row: CampaignRow, format: CaptionFormat, at: Context) -> File | None:
    """Fetch captions in one format; None while the service has none yet."""
    assert row.take is not None
    assert row.take.video_id is not None
    try:
        data = await at.service.captions(row.take.video_id, format)
        check_captions(data, format)
    except (BadRequest, FilmError):
        return None
    return _file(row, format, data, hashlib.sha256(data).hexdigest(), at)


def _file(row: CampaignRow, kind: FileKind, source: Path | bytes, sha256: str, at: Context) -> File:
    assert row.take is not None
    name = object_name(
        at.settings.names,
        campaign=row.campaign,
        row=row.row,
        take=row.take.number,
        kind=kind,
    )
    return File(kind=kind, name=name, source=source, sha256=sha256)


async def _store(
    row: CampaignRow, found: Sequence[File], seconds: float | None, at: Context
) -> list[Delivered]:
    """Put files that are what they should be into the store; `seconds` are the film's."""
    assert row.take is not None
    metadata = {"callsheet-row": row.row, "callsheet-video": row.take.video_id or ""}
    stored = await at.store.put(*found, metadata=metadata)
    return [
        Delivered(
            kind=file.kind,
            uri=there.uri,
            sha256=there.sha256,
            bytes=there.bytes,
            seconds=seconds if file.kind == "mp4" else None,
        )
        for file, there in zip(found, stored, strict=True)
    ]
