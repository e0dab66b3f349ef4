"""A lost ledger: what the store's manifest still knows of a campaign that this ledger does not.

Keys are derived from the sheet alone, so inside the horizon the service returns the same videos
whatever became of the ledger. What the manifest adds is free of any horizon: films that are in
the store already, videos whose ids are known, and which requests may be too old to send again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from tasks.brief import CREATE
from tasks.credits import parse_credits
from tasks.duration import say_duration
from tasks.engine.context import Context
from tasks.errors import SpendRefused, StoreError
from tasks.ledger import (
    VERDICTS,
    Campaign,
    CampaignRow,
    Delivered,
    PastTake,
    Review,
    has_paid,
    restore_count,
    restore_take,
    rows_of,
)
from tasks.ledger.reviews import BY, NOTE, REASON
from tasks.store import object_name
from tasks.suggest import again_with

if TYPE_CHECKING:
    from tasks.campaign.manifest import Manifest, ManifestFile, ManifestRow


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """What was put back, and the rows whose requests the service may have forgotten."""

    restored: int = 0
    too_old: tuple[str, ...] = ()
    sent_at: float | None = None


async def recover(at: Context, campaign: Campaign) -> Recovery:
    """Put back what the manifest knows of a campaign without takes; pay and send nothing.

    Raises SpendRefused for films of a sandbox that are no real ones.
    """
    if await at.ledger.read(partial(has_paid, campaign_id=campaign.id)):
        return Recovery()
    manifest = await _manifest(at, campaign)
    if manifest is None:
        return Recovery()
    if manifest.sandbox and not campaign.sandbox:
        raise SpendRefused(
            f"{at.store.address}/{campaign.name} has films that were made with --sandbox, and this "
            "ledger knows nothing of them; nothing was spent",
            remedy=f"move that folder away, or {again_with('--campaign', 'NAME')}",
        )
    lines = manifest.by_row
    made_at = manifest.made_at.timestamp() if manifest.made_at else at.clock()
    slots = asyncio.Semaphore(at.settings.watches)

    async def judge(row: CampaignRow) -> tuple[CampaignRow, PastTake | None, float | None]:
        line = lines[row.row]
        async with slots:
            past = await _past_take(at, row, line, made_at)
        return row, past, _too_old(at, row, line, made_at) if past is None else None

    # A row on hold stays so until it is priced, and may have been paid for since this ledger.
    unpaid = partial(rows_of, campaign_id=campaign.id, states=["planned", "held"])
    known = [r for r in await at.ledger.read(unpaid) if _same(r, lines.get(r.row))]
    judged = await asyncio.gather(*(judge(row) for row in known))
    restored = 0
    for row, past, _ in judged:
        if past is not None:
            change = partial(restore_take, row=row, past=past, at=at.clock())
            restored += await at.ledger.write(change)
        elif (nth := lines[row.row].nth or 0) > row.nth:
            await at.ledger.write(partial(restore_count, row=row, nth=nth))
    old = {row.row: sent for row, _, sent in judged if sent is not None}
    return Recovery(restored=restored, too_old=tuple(old), sent_at=min(old.values(), default=None))


def refuse_too_old(recovery: Recovery, wanted: set[str], *, horizon: float) -> None:
    """Raise SpendRefused when rows that would be paid for now may have been paid for before."""
    rows = [row for row in recovery.too_old if row in wanted]
    if not rows or recovery.sent_at is None:
        return
    since = datetime.fromtimestamp(recovery.sent_at, UTC)
    named = ", ".join(rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
    raise SpendRefused(
        f"this ledger knows nothing of {named}, but an earlier one may have sent "
        f"{'it' if len(rows) == 1 else 'them'} on {since:%Y-%m-%d %H:%M} UTC, longer ago than the "
        f"service is known to remember keys ({say_duration(horizon)}): making "
        f"{'it' if len(rows) == 1 else 'them'} now may pay a second time; nothing was spent",
        remedy="put the old ledger back (CALLSHEET_LEDGER), or look in the service's app, then "
        f"{again_with('--pay-again')}",
    )


async def _manifest(at: Context, campaign: Campaign) -> Manifest | None:
    from tasks.campaign import manifest

    try:
        content = await at.store.read(f"{campaign.name}/{manifest.NAME}")
    except StoreError:
        # A store that cannot be read now says nothing of the past; keys still hold.
        return None
    found = manifest.read_manifest(content) if content is not None else None
    return found if found is not None and found.campaign == campaign.name else None


def _too_old(at: Context, row: CampaignRow, line: ManifestRow, made_at: float) -> float | None:
    """Return when a row was sent, if sending it again may be a second charge."""
    sent = _sent_at(line, made_at)
    # Without a key it would be one at any age.
    young = sent is None or at.clock() - sent < at.settings.horizon
    return None if sent is None or (young and row.operation == CREATE) else sent


def _same(row: CampaignRow, line: ManifestRow | None) -> bool:
    return line is not None and (line.digest, line.operation) == (row.digest, row.operation)


async def _past_take(
    at: Context, row: CampaignRow, line: ManifestRow, made_at: float
) -> PastTake | None:
    """Return the take that a line tells of; None when no video of it is known."""
    nth, number, video_id = line.nth, line.take, line.video_id
    if video_id is None or nth is None or number is None:
        return None
    if line.state in ("failed", "cancelled", "rejected"):
        return None
    key = row.key(nth)
    keyed = row.operation == CREATE or line.key == key
    return PastTake(
        number=number,
        nth=nth,
        key=key,
        body=row.body(key if keyed else None),
        quoted=parse_credits(line.quoted if line.take_quoted is None else line.take_quoted),
        # With what its earlier takes cost, of which nothing else is known: budgets count it all.
        charged=parse_credits(line.charged),
        video_id=video_id,
        sent_at=_sent_at(line, made_at) or made_at,
        files=await _files(at, row, line, number),
        review=_review(line, made_at),
        checks=line.checks if line.film_take == number else None,
    )


def _review(line: ManifestRow, made_at: float) -> Review | None:
    """Return what somebody had said of the film of the take that a line tells of."""
    verdict = next((one for one in VERDICTS if one == line.review), None)
    if verdict is None or line.film_take != line.take:
        return None
    reason, note = (line.review_reason or "")[:REASON], (line.review_note or "")[:NOTE]
    by = (line.reviewed_by or "somebody")[:BY]
    # When exactly, the manifest does not tell.
    return Review(verdict=verdict, reason=reason or None, note=note or None, by=by, at=made_at)


async def _files(at: Context, row: CampaignRow, line: ManifestRow, number: int) -> list[Delivered]:
    """Return the files of a delivered line, if all of them are in the store and intact."""
    if line.state != "delivered" or not line.deliveries:
        return []
    found = await asyncio.gather(*(_file(at, row, file, number) for file in line.deliveries))
    return [file for file in found if file is not None] if all(found) else []


async def _file(at: Context, row: CampaignRow, file: ManifestFile, number: int) -> Delivered | None:
    name = object_name(
        at.settings.names,
        campaign=row.campaign,
        row=row.row,
        take=number,
        kind=file.kind,  # type: ignore[arg-type]
    )
    try:
        there = await at.store.head(name)
    except StoreError:
        return None
    if there is None or (there.sha256, there.bytes) != (file.sha256, file.bytes):
        return None
    return Delivered(kind=file.kind, uri=there.uri, sha256=there.sha256, bytes=there.bytes)


def _sent_at(line: ManifestRow, made_at: float) -> float | None:
    """Return when a request of a line was, or may have been, sent."""
    if line.sent_at is not None:
        return float(line.sent_at)
    return made_at if line.to_be_sent else None
