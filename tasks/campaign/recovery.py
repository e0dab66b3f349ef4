"""Recovers a lost or restored ledger: nothing that another ledger paid for is paid for again.

Decides for each row that this ledger has not paid for. The store's manifest tells of takes of
another ledger, the service's own list of videos that exist. What is found is restored at no cost.
What may have been sent longer ago than the service remembers keys is refused, durably, until a
person says `--pay-again`. Everything else has a key that the service still knows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.late_files import deliver_late
from callsheet.tasks.campaign.manifest import Manifest, keep_manifest, past_takes
from callsheet.tasks.campaign.service_list import Made, find_listed
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.evidence import created_at
from callsheet.tasks.engine.policy.decision import RUNNING, SKEW
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.earlier_takes import (
    EarlierTake,
    PastTake,
    UnpaidRow,
    earlier_of,
    refuse_to_pay,
    restore_count,
    restore_take,
    unpaid_rows,
)
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.told_costs import count_told, told_costs
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import ServiceError, SpendRefused
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.values.amounts import count, from_micro, in_credits, say_duration
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.edits import made_by

#: Rows that a refusal names.
NAMED = 5
#: Rows of which it says what shows it.
SHOWN = 3
_UNREAD = (
    "its video was deleted at the service once it was delivered, and its files in the store cannot "
    "be read, or are not as they were delivered"
)


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """How many takes were restored, how many rows were refused, and what could not be read."""

    restored: int = 0
    refused: int = 0
    unknown: str | None = None
    #: What rows cost that left the sheet or were changed before this ledger was begun.
    told: Decimal = Decimal(0)


async def recover(
    at: Context,
    campaign: Campaign,
    *,
    only: Collection[str] | None = None,
    pay_again: bool = False,
    new: bool = False,
) -> Recovery:
    """Restore what another ledger paid for, and refuse rows that it may have paid for.

    Of all rows of the campaign that are not paid for, or of those in `only`. Sends nothing that
    costs. With `pay_again` nothing is refused; with `new`, which says that another campaign may
    have made the same videos, no row because of another key. Raises SpendRefused for a campaign
    folder in the store with videos that a sandbox made.
    """
    found = await keep_manifest(at, campaign)
    late = await deliver_late(at, campaign, found) if isinstance(found, Manifest) else 0
    unread = found if isinstance(found, str) else None
    unpaid = await at.ledger.read(unpaid_rows, campaign_id=campaign.id)
    wanted = [row for row in unpaid if only is None or row.row in only]
    if not wanted:
        return Recovery(restored=late, told=await _count_told(at, campaign))
    known = await _from_manifest(at, campaign, wanted)
    rest = [row for row in wanted if row.row not in known.past]
    listed = await find_listed(at, campaign, rest, unpaid=unpaid, sent=known.sent, new=new)
    known.past |= await _listed_takes(at, campaign, list(listed.made.values()))
    known.doubts = listed.doubts | known.doubts
    restored, refused = await at.ledger.write(
        _record, known=known, campaign=campaign, pay_again=pay_again, at=at.clock()
    )
    unknown = " and ".join(filter(None, (unread, listed.unread)))
    told = await _count_told(at, campaign)
    restored += late
    return Recovery(restored=restored, refused=refused, unknown=unknown or None, told=told)


async def _count_told(at: Context, campaign: Campaign) -> Decimal:
    """Count what manifests say was charged for rows, and nothing that was restored shows."""
    found = await at.ledger.read(told_costs, campaign_id=campaign.id)
    if found:
        await at.ledger.write(count_told, campaign_id=campaign.id, found=found, at=at.clock())
    return from_micro(sum(one.missing for one in found))


@dataclass(kw_only=True)
class _Known:
    """What is known of rows, by row id: takes to restore, attempts, what may be paid for."""

    past: dict[str, tuple[CampaignRow, PastTake]] = field(default_factory=dict)
    attempts: list[tuple[CampaignRow, int]] = field(default_factory=list)
    doubts: dict[str, EarlierTake] = field(default_factory=dict)
    #: Rows whose next request was, or may have been, sent: under the key that they have today.
    sent: set[str] = field(default_factory=set)


def _record(
    connection: Connection, known: _Known, campaign: Campaign, pay_again: bool, at: float
) -> tuple[int, int]:
    """Restore and refuse in one transaction; return how many rows of each."""
    restored = 0
    for row, past in known.past.values():
        if restore_take(connection, row, past, at=at):
            restored += 1
            known.doubts.pop(row.row, None)
            continue
        why = f"{past.source} has {past.video_id} for it, which does not fit what this ledger knows"
        unfit = EarlierTake(
            row=row.row, digest=row.digest, nth=row.nth, sent_at=past.sent_at,
            video_id=past.video_id, why=why,
        )  # fmt: skip
        known.doubts.setdefault(row.row, unfit)
    for row, nth in known.attempts:
        restore_count(connection, row, nth=nth)
    refused = [] if pay_again else list(known.doubts.values())
    refuse_to_pay(connection, campaign.id, refused, at=at)
    return restored, len(refused)


def say_found(recovery: Recovery, paid: Decimal) -> str:
    """Say what was found: how many videos, and the credits that they had cost."""
    videos = count(recovery.restored, "video")
    was = "was" if recovery.restored == 1 else "were"
    return (
        f"{videos} that another ledger paid for {was} found ({in_credits(paid)}) and {was} not "
        "paid for again"
    )


def say_told(told: Decimal) -> str:
    """Say that what another ledger paid counts."""
    return (
        f"another ledger paid {in_credits(told)} for rows that left the sheet or were changed "
        "since: the cost of the campaign includes them"
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
        remedy="restore the old ledger (CALLSHEET_LEDGER), or write the ids of the videos into "
        "the column video_id to take them over; to pay for them again, "
        f"{again_with('--pay-again')}; to make the other rows, choose them with `--select ROWS`",
    )


async def _from_manifest(at: Context, campaign: Campaign, wanted: Sequence[UnpaidRow]) -> _Known:
    """Return what manifests of another ledger said of these rows."""
    latest: dict[str, EarlierTake] = {}
    of_row = {row.row: row for row in wanted}
    for one in await at.ledger.read(earlier_of, campaign_id=campaign.id):
        if one.row in of_row and _is_wanted(of_row[one.row], one):
            before = latest.get(one.row)
            latest[one.row] = one if before is None or one.nth >= before.nth else before
    known = _Known()
    now = at.clock()
    if latest:
        with suppress(ServiceError):
            now = await at.service_time()
    for page in pages_of(latest):
        for row, past in await past_takes(at, campaign, page, latest):
            one = latest[row.row]
            if past is not None:
                known.past[row.row] = (row, past)
            elif one.told.get("deleted_at") is not None:
                # Its key would bring back a video that is not there any more.
                known.attempts.append((row, one.nth + 1))
                if _was_stored(one):
                    known.doubts[row.row] = replace(one, nth=one.nth + 1, why=_UNREAD)
                continue
            elif one.nth > row.nth:
                known.attempts.append((row, one.nth))
            known.sent.add(row.row)
            operation = _operation(one, row.operation)
            if one.refused or _is_old(operation, one.sent_at, now, at.settings.horizon):
                why = one.why or _say_sent(at, operation, one)
                known.doubts[row.row] = replace(one, why=why)
    return known


async def _listed_takes(
    at: Context, campaign: Campaign, made: Sequence[Made]
) -> dict[str, tuple[CampaignRow, PastTake]]:
    """Return the takes whose videos the service lists under their keys, by row id."""
    found: dict[str, tuple[CampaignRow, PastTake]] = {}
    for page in pages_of(made):
        of_row = {one.row.row: one for one in page}
        query = partial(rows_of, campaign_id=campaign.id, named=list(of_row))
        for row in await at.ledger.read(query):
            found[row.row] = (row, _listed_take(row, of_row[row.row], at.clock()))
    return found


def _listed_take(row: CampaignRow, one: Made, now: float) -> PastTake:
    video = one.video
    # While it renders, nothing is charged for it yet.
    charged = None if video.status in RUNNING else video.charged
    return PastTake(
        number=1,
        nth=one.nth,
        key=one.key,
        body=row.for_new_video().body(one.key),
        quoted=row.quoted if row.quoted is not None else charged,
        charged=charged,
        video_id=video.id,
        sent_at=created_at(video.raw) or now,
        source="the service's list of videos",
    )


def _is_wanted(row: UnpaidRow, one: EarlierTake) -> bool:
    """Whether an earlier take is of what a row asks for now: this attempt at it, or a later one."""
    operation = made_by(_operation(one, row.operation))
    # An edit and a new video of the same brief are the same wanted video.
    if (one.digest, operation) != (row.digest, made_by(row.operation)):
        return False
    return not one.nth or one.nth >= row.nth


def _operation(one: EarlierTake, known: str) -> str:
    """Return how a take was made: as its manifest says, where it has one."""
    return str(one.told.get("operation")) if one.line else known


def _was_stored(one: EarlierTake) -> bool:
    """Whether the store had its video when the manifest was written."""
    line = one.told
    return bool(line.get("deliveries")) and line.get("video_take") == line.get("take")


def _is_old(operation: str, sent: float | None, now: float, horizon: float) -> bool:
    """Whether sending again what was sent then may be a second charge."""
    if sent is None:
        return False
    # Without a key it would be one at any age; and a clock that was set back tells no age.
    return operation != CREATE or not -SKEW <= now - sent < horizon


def _say_sent(at: Context, operation: str, one: EarlierTake) -> str:
    """Say when a request may have been sent, and why its key does not find it."""
    sent = datetime.fromtimestamp(one.known_since, UTC)
    moment = f"it was, or may have been, sent on {sent:%Y-%m-%d %H:%M}"
    if operation != CREATE:
        return f"{moment} UTC, and {operation} takes no key that finds it again"
    return (
        f"{moment} UTC, longer ago than the service is known to remember keys "
        f"({say_duration(at.settings.horizon)})"
    )
