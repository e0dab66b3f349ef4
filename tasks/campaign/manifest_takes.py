"""What a manifest in the store says of takes that this ledger does not have.

Owns how a manifest that another ledger wrote is read and remembered before a new one replaces it,
and how a line of it becomes a take again. Decides nothing and pays for nothing.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from callsheet.tasks.brief import CREATE
from callsheet.tasks.credits import parse_credits
from callsheet.tasks.engine.context import Context
from callsheet.tasks.errors import SpendRefused, StoreError
from callsheet.tasks.ledger import (
    VERDICTS,
    Campaign,
    CampaignRow,
    Delivered,
    PastTake,
    Reported,
    Review,
    find_campaign,
    has_event,
    rows_of,
    takes_of,
)
from callsheet.tasks.ledger.acts import restored_since
from callsheet.tasks.ledger.earlier import EarlierTake, keep_earlier
from callsheet.tasks.ledger.reviews import BY, NOTE, REASON
from callsheet.tasks.store import object_name
from callsheet.tasks.suggest import again_with

if TYPE_CHECKING:
    from callsheet.tasks.campaign.manifest import Manifest, ManifestFile, ManifestRow


async def keep_manifest(at: Context, campaign: Campaign) -> str | None:
    """Remember the takes of a manifest that another ledger wrote, before a new one replaces it.

    Returns what could not be read, if so. Raises SpendRefused for videos that a sandbox made.
    """
    from callsheet.tasks.campaign import manifest

    name = f"{campaign.name}/{manifest.NAME}"
    known = await at.ledger.read(partial(find_campaign, name=campaign.name))
    reported = Reported.read(known.reported if known else None)
    try:
        there = await at.store.head(name)
        ours = reported.files[0] if reported is not None and reported.tells_all else None
        if there is None or there.sha256 == ours:
            # None, or the one that this very ledger wrote at the end of its last run.
            return None
        content = await at.store.read(name)
    except StoreError as error:
        return f"the campaign's manifest in {at.store.address} could not be read ({error})"
    found = manifest.read_manifest(content) if content is not None else None
    if found is None or found.campaign != campaign.name:
        return None
    if found.sandbox and not campaign.sandbox:
        raise SpendRefused(
            f"{at.store.address}/{campaign.name} has videos that were made with --sandbox, and "
            "this ledger knows nothing of them; nothing was spent",
            remedy=f"move that folder away, or {again_with('--campaign', 'NAME')}",
        )
    made_at = found.made_at.timestamp() if found.made_at else None
    if await at.ledger.read(partial(_is_own, campaign=campaign, found=found, made_at=made_at)):
        return None
    lines = _earlier_takes(found, at.clock() if made_at is None else made_at)
    keep = partial(keep_earlier, campaign_id=campaign.id, found=lines, at=at.clock())
    await at.ledger.write(keep)
    return None


def _is_own(
    connection: Connection, campaign: Campaign, found: Manifest, made_at: float | None
) -> bool:
    """Whether this ledger wrote a manifest, and has everything that happened since.

    An older copy of it lacks the last event; one that was restored from a backup may have that,
    and not know what was sent a moment later.
    """
    last = found.last_event
    if last is None or made_at is None or restored_since(connection, made_at):
        return False
    return has_event(connection, campaign.id, id=last.id, at=float(last.at))


def _earlier_takes(found: Manifest, made_at: float) -> Iterator[EarlierTake]:
    """Yield the takes that a manifest tells of, sent or about to be."""
    for line in found.by_row.values():
        for one in line.earlier or ():
            yield EarlierTake(
                row=line.row,
                digest=one.digest,
                nth=one.nth,
                sent_at=float(one.sent_at),
                video_id=one.video_id,
            )
        if line.digest is None:
            continue
        about_to_be = made_at if line.to_be_sent else None
        if line.next_digest is not None:
            yield EarlierTake(
                row=line.row, digest=line.next_digest, nth=line.next_nth or 0, sent_at=about_to_be
            )
            about_to_be = None
        sent = about_to_be if line.sent_at is None else float(line.sent_at)
        if sent is not None or line.video_id is not None:
            yield EarlierTake(
                row=line.row,
                digest=line.digest,
                nth=line.nth or 0,
                sent_at=sent,
                video_id=line.video_id,
                line=line.model_dump_json(),
            )


async def past_takes(
    at: Context, campaign: Campaign, named: Sequence[str], known: Mapping[str, EarlierTake]
) -> list[tuple[CampaignRow, PastTake | None]]:
    """Return rows with the take that their line of a manifest tells of, if it has a video."""
    rows = await at.ledger.read(partial(rows_of, campaign_id=campaign.id, named=named))
    numbers = [row.id for row in rows if row.take is not None]
    charged: dict[int, Decimal] = defaultdict(Decimal)
    for number, take in await at.ledger.read(
        partial(takes_of, campaign_id=campaign.id, numbers=numbers)
    ):
        charged[number] += take.charged or 0
    slots = asyncio.Semaphore(at.settings.watches)

    async def judge(row: CampaignRow) -> tuple[CampaignRow, PastTake | None]:
        async with slots:
            return row, await _past_take(at, row, known[row.row], charged[row.id])

    return await asyncio.gather(*(judge(row) for row in rows))


async def _past_take(
    at: Context, row: CampaignRow, one: EarlierTake, charged: Decimal
) -> PastTake | None:
    """Return the take that a line of a manifest tells of; None when no video of it is known.

    `charged` is what the takes of the row cost that this ledger has.
    """
    from callsheet.tasks.campaign.manifest import ManifestRow

    if one.line is None:
        return None
    line = ManifestRow.model_validate_json(one.line)
    nth, number, video_id = line.nth, line.take, line.video_id
    if video_id is None or nth is None or number is None:
        return None
    if line.state in ("failed", "cancelled", "rejected"):
        return None
    key = row.key(nth)
    keyed = row.operation == CREATE or line.key == key
    noted = one.sent_at if one.sent_at is not None else one.noted_at
    cost = parse_credits(line.charged)
    return PastTake(
        number=number,
        nth=nth,
        key=key,
        body=row.body(key if keyed else None),
        quoted=parse_credits(line.quoted if line.take_quoted is None else line.take_quoted),
        # With what takes cost of which nothing else is known: budgets count it all.
        charged=cost if cost is None else max(cost - charged, Decimal(0)),
        video_id=video_id,
        sent_at=noted,
        source="the store's manifest",
        files=await _files(at, row, line, number),
        review=_review(line, noted),
        checks=line.checks if line.video_take == number else None,
    )


def _review(line: ManifestRow, at: float) -> Review | None:
    """Return the verdict on the video of the take that a line tells of."""
    verdict = next((one for one in VERDICTS if one == line.review), None)
    if verdict is None or line.video_take != line.take:
        return None
    reason, note = (line.review_reason or "")[:REASON], (line.review_note or "")[:NOTE]
    by = (line.reviewed_by or "somebody")[:BY]
    # When exactly, the manifest does not tell.
    return Review(verdict=verdict, reason=reason or None, note=note or None, by=by, at=at)


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
