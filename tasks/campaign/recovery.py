"""A lost, restored or new ledger: what was paid for with another ledger is not paid for again.

Decides for each row that this ledger has not paid for. The store's manifest tells of takes of
another ledger, the service's own list of videos that exist. What is found is restored at no cost.
What may have been sent longer ago than the service remembers keys is refused, durably, until a
person says `--pay-again`. Everything else has a key that the service still knows.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from tasks.brief import CREATE
from tasks.campaign.service_list import Alike, Made, find_listed
from tasks.credits import in_credits, parse_credits
from tasks.duration import say_duration
from tasks.engine.context import Context
from tasks.engine.lanes.evidence import SKEW, created_at
from tasks.engine.policy.decision import RUNNING
from tasks.errors import SpendRefused, StoreError
from tasks.ledger import (
    VERDICTS,
    Campaign,
    CampaignRow,
    Delivered,
    PastTake,
    Reported,
    Review,
    find_campaign,
    pages_of,
    restore_count,
    restore_take,
    rows_of,
    takes_of,
)
from tasks.ledger.earlier import (
    EarlierTake,
    UnpaidRow,
    earlier_of,
    keep_earlier,
    refuse_to_pay,
    unpaid_rows,
)
from tasks.ledger.reviews import BY, NOTE, REASON
from tasks.plural import count
from tasks.store import object_name
from tasks.suggest import again_with

if TYPE_CHECKING:
    from tasks.campaign.manifest import Manifest, ManifestFile, ManifestRow

#: Rows that a refusal names.
NAMED = 5
#: Rows of which it says what shows it.
SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """How many takes were restored, how many rows were refused, and what could not be read."""

    restored: int = 0
    refused: int = 0
    unknown: str | None = None


async def recover(
    at: Context, campaign: Campaign, *, only: Collection[str] | None = None, pay_again: bool = False
) -> Recovery:
    """Restore what another ledger paid for, and refuse rows that it may have paid for.

    Of all rows of the campaign that are not paid for, or of those in `only`. Sends nothing that
    costs. With `pay_again` nothing is refused. Raises SpendRefused for a campaign folder in the
    store with videos that a sandbox made.
    """
    unread = await _keep_manifest(at, campaign)
    wanted = await at.ledger.read(partial(unpaid_rows, campaign_id=campaign.id))
    if only is not None:
        wanted = [row for row in wanted if row.row in only]
    if not wanted:
        return Recovery()
    restored, doubts = await _from_manifest(at, campaign, wanted)
    rest = [row for row in wanted if row.row not in restored]
    listed = await find_listed(at, campaign, rest)
    found = await _restore_listed(at, campaign, list(listed.made.values()))
    doubts |= {name: _of_alike(one) for name, one in listed.alike.items() if name not in doubts}
    left = [one for name, one in doubts.items() if name not in found]
    refused = [] if pay_again else left
    if refused:
        await at.ledger.write(
            partial(refuse_to_pay, campaign_id=campaign.id, found=refused, at=at.clock())
        )
    unknown = " and ".join(filter(None, (unread, listed.unread)))
    return Recovery(
        restored=len(restored) + len(found), refused=len(refused), unknown=unknown or None
    )


def say_found(recovery: Recovery, paid: Decimal) -> str:
    """Say what was found: how many videos, and the credits that they had cost."""
    videos = count(recovery.restored, "video")
    was = "was" if recovery.restored == 1 else "were"
    return (
        f"{videos} that another ledger paid for {was} found ({in_credits(paid)}) and {was} not "
        "paid for again"
    )


def say_unknown(recovery: Recovery) -> str:
    """Say what could not be looked at, and what that means for money."""
    return (
        f"{recovery.unknown}, so videos that another ledger paid for longer ago than the service "
        "remembers keys cannot be found"
    )


def refuse_refused(refused: Sequence[EarlierTake]) -> None:
    """Raise SpendRefused where a run was asked to make rows that may have been paid for before."""
    if not refused:
        return
    named = ", ".join(one.row for one in refused[:NAMED])
    named += f" and {len(refused) - NAMED:,} more" if len(refused) > NAMED else ""
    evidence = "; ".join(f"{one.row}: {one.why}" for one in refused[:SHOWN])
    it = "it" if len(refused) == 1 else "them"
    raise SpendRefused(
        f"this ledger knows nothing of {named}, but an earlier one may have sent {it}: making {it} "
        f"now may pay a second time ({evidence}); nothing was spent",
        remedy="restore the old ledger (CALLSHEET_LEDGER), or look for the videos in the service's "
        f"app; to pay for them again, {again_with('--pay-again')}; to make the other rows, choose "
        "them with --select",
    )


async def _keep_manifest(at: Context, campaign: Campaign) -> str | None:
    """Remember the takes of a manifest that another ledger wrote, before a new one replaces it.

    Returns what could not be read, if so.
    """
    from tasks.campaign import manifest

    name = f"{campaign.name}/{manifest.NAME}"
    known = await at.ledger.read(partial(find_campaign, name=campaign.name))
    reported = Reported.read(known.reported if known else None)
    try:
        there = await at.store.head(name)
        if there is None or (reported is not None and there.sha256 == reported.files[0]):
            # None, or the one that this very ledger wrote last.
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
    lines = _earlier_takes(found, found.made_at.timestamp() if found.made_at else at.clock())
    keep = partial(keep_earlier, campaign_id=campaign.id, found=lines, at=at.clock())
    await at.ledger.write(keep)
    return None


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


async def _from_manifest(
    at: Context, campaign: Campaign, wanted: Sequence[UnpaidRow]
) -> tuple[set[str], dict[str, EarlierTake]]:
    """Restore what a manifest knew of these rows; return whose, and what may have been paid for."""
    known: dict[str, EarlierTake] = {}
    of_row = {row.row: row for row in wanted}
    for one in await at.ledger.read(partial(earlier_of, campaign_id=campaign.id)):
        if one.row in of_row and _is_wanted(of_row[one.row], one):
            latest = known.get(one.row)
            known[one.row] = one if latest is None or one.nth >= latest.nth else latest
    restored: set[str] = set()
    doubts: dict[str, EarlierTake] = {}
    for page in pages_of(known):
        for row, past in await _past_takes(at, campaign, page, known):
            one = known[row.row]
            if past is not None:
                restore = partial(restore_take, row=row, past=past, at=at.clock())
                if await at.ledger.write(restore):
                    restored.add(row.row)
                    continue
            elif one.nth > row.nth:
                await at.ledger.write(partial(restore_count, row=row, nth=one.nth))
            if one.refused or _is_old(at, row.operation, one.sent_at):
                doubts[row.row] = replace(one, why=one.why or _say_sent(at, row.operation, one))
    return restored, doubts


async def _past_takes(
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


async def _restore_listed(at: Context, campaign: Campaign, made: Sequence[Made]) -> set[str]:
    """Restore takes whose videos the service lists under their keys; return whose rows."""
    found: set[str] = set()
    for page in pages_of(made):
        of_row = {one.row.row: one for one in page}
        query = partial(rows_of, campaign_id=campaign.id, named=list(of_row))
        for row in await at.ledger.read(query):
            past = _listed_take(row, of_row[row.row], at.clock())
            if await at.ledger.write(partial(restore_take, row=row, past=past, at=at.clock())):
                found.add(row.row)
    return found


def _listed_take(row: CampaignRow, one: Made, now: float) -> PastTake:
    video = one.video
    # While it renders, nothing is charged for it yet.
    charged = None if video.status in RUNNING else video.charged
    return PastTake(
        number=1,
        nth=one.nth,
        key=one.key,
        body=row.body(one.key),
        quoted=row.quoted if row.quoted is not None else charged,
        charged=charged,
        video_id=video.id,
        sent_at=created_at(video.raw) or now,
        source="the service's list of videos",
    )


def _of_alike(one: Alike) -> EarlierTake:
    """Return what a listed video without a key shows: the row may have been paid for."""
    row = one.row
    return EarlierTake(
        row=row.row,
        digest=row.digest,
        nth=row.nth,
        sent_at=one.created,
        video_id=one.video_id,
        why=f"the service lists {one.video_id}, which shows the same as the row",
    )


def _is_wanted(row: UnpaidRow, one: EarlierTake) -> bool:
    """Whether an earlier take is of what a row asks for now: this attempt at it, or a later one."""
    operation = json.loads(one.line).get("operation") if one.line else row.operation
    if (one.digest, operation) != (row.digest, row.operation):
        return False
    return not one.nth or one.nth >= row.nth


def _is_old(at: Context, operation: str, sent: float | None) -> bool:
    """Whether sending again what was sent then may be a second charge."""
    if sent is None:
        return False
    # Without a key it would be one at any age; and a clock that was set back tells no age.
    return operation != CREATE or not -SKEW <= at.clock() - sent < at.settings.horizon


def _say_sent(at: Context, operation: str, one: EarlierTake) -> str:
    """Say when a request may have been sent, and why its key does not find it."""
    sent = one.noted_at if one.sent_at is None else one.sent_at
    moment = f"it was, or may have been, sent on {datetime.fromtimestamp(sent, UTC):%Y-%m-%d %H:%M}"
    if operation != CREATE:
        return f"{moment} UTC, and {operation} takes no key that finds it again"
    return (
        f"{moment} UTC, longer ago than the service is known to remember keys "
        f"({say_duration(at.settings.horizon)})"
    )


async def _past_take(
    at: Context, row: CampaignRow, one: EarlierTake, charged: Decimal
) -> PastTake | None:
    """Return the take that a line of a manifest tells of; None when no video of it is known.

    `charged` is what the takes of the row cost that this ledger has.
    """
    from tasks.campaign.manifest import ManifestRow

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
        checks=line.checks if line.film_take == number else None,
    )


def _review(line: ManifestRow, at: float) -> Review | None:
    """Return the verdict on the video of the take that a line tells of."""
    verdict = next((one for one in VERDICTS if one == line.review), None)
    if verdict is None or line.film_take != line.take:
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
