"""The deliver lane: download, verify, store, and the captions beside it.

Everything here is free to do again: the film is already paid for.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Literal

from tasks.brief import CaptionFormat
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
from tasks.production.connections import Connections
from tasks.production.decide import Memory
from tasks.production.news import closed
from tasks.production.seen import NotStored, Seen, Stored
from tasks.store import check_captions, inspect_film, object_name

CONTENT_TYPES = {"mp4": "video/mp4", "srt": "application/x-subrip", "vtt": "text/vtt"}


async def deliver(row: CampaignRow, memory: Memory, address: str | None, at: Connections) -> Seen:
    """Bring a row's film and captions into the store; `address` is a fresh signed one, if known."""
    files = list(memory.files)
    have = {file.kind for file in files}
    late: list[str] = []
    try:
        if "mp4" not in have:
            files.append(await _film(row, address, at))
        for format in row.captions:
            if format in have:
                continue
            captions = await _captions(row, format, at)
            if captions is None:
                late.append(format)
            else:
                files.append(captions)
    except RateLimited as error:
        return closed(error, at.clock())
    except CallsheetError as error:
        return NotStored(str(error), permanent=_permanent(error))
    return Stored(tuple(files), tuple(late))


def _permanent(error: CallsheetError) -> bool:
    if isinstance(error, StoreError | ServiceError):
        return error.permanent
    return isinstance(error, StoreUnusable)


async def _film(row: CampaignRow, address: str | None, at: Connections) -> Delivered:
    assert row.take is not None
    name = _name(row, "mp4", at)
    spooled = f"{row.campaign_id}-{row.id}-{row.take.number}"
    fetched = await at.fetcher.fetch(spooled, _addresses(row, address, at))
    try:
        film = await asyncio.to_thread(inspect_film, fetched.path)
        stored = await at.store.put(
            name,
            fetched.path,
            content_type=CONTENT_TYPES["mp4"],
            sha256=fetched.sha256,
            metadata=_metadata(row),
        )
    finally:
        # What is verified is in the store; what is not is downloaded anew.
        fetched.path.unlink(missing_ok=True)
    return Delivered(
        kind="mp4",
        uri=stored.uri,
        sha256=stored.sha256,
        bytes=stored.bytes,
        seconds=film.seconds,
    )


def _addresses(
    row: CampaignRow, address: str | None, at: Connections
) -> Callable[[], Awaitable[str]]:
    """Return a source of signed addresses: the one at hand first, then a fresh one each time."""
    known = [address] if address else []

    async def fresh() -> str:
        if known:
            return known.pop()
        assert row.take is not None
        assert row.take.video_id is not None
        return (await at.service.download(row.take.video_id)).url

    return fresh


async def _captions(row: CampaignRow, format: CaptionFormat, at: Connections) -> Delivered | None:
    """Store captions in one format; None while the service has none yet."""
    assert row.take is not None
    assert row.take.video_id is not None
    try:
        data = await at.service.captions(row.take.video_id, format)
        check_captions(data, format)
    except (BadRequest, FilmError):
        return None
    stored = await at.store.put(
        _name(row, format, at),
        data,
        content_type=CONTENT_TYPES[format],
        sha256=hashlib.sha256(data).hexdigest(),
        metadata=_metadata(row),
    )
    return Delivered(kind=format, uri=stored.uri, sha256=stored.sha256, bytes=stored.bytes)


def _name(row: CampaignRow, kind: Literal["mp4", "srt", "vtt"], at: Connections) -> str:
    assert row.take is not None
    return object_name(
        at.settings.names,
        campaign=row.campaign,
        row=row.row,
        take=row.take.number,
        kind=kind,
    )


def _metadata(row: CampaignRow) -> dict[str, str]:
    assert row.take is not None
    return {"callsheet-row": row.row, "callsheet-video": row.take.video_id or ""}
