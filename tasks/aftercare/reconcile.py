"""Compares the ledger with the service, and fixes what is free and certain.

The list of the service is read once; a video that is missing from it is requested by its id, since
a list proves nothing by itself. Every change of the ledger is guarded: a row that has changed since
it was read is skipped.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.aftercare.differences import (
    Adopt,
    Book,
    Carry,
    Change,
    Comparison,
    Difference,
    VideoStatus,
    compare,
    find_matches,
    find_unrecorded,
    keys_of_briefs,
    keys_of_rows,
)
from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.engine.evidence import Before
from callsheet.tasks.engine.policy.decision import FAILED, RUNNING
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.service_state import (
    calls_about,
    changed_by_hand,
    resolve_call,
    videos_ours,
)
from callsheet.tasks.ledger.takes import adopt_video, correct_charge
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of, takes_of
from callsheet.tasks.runtime.errors import Conflict, NotFound
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import Brief


@dataclass(frozen=True, kw_only=True)
class Known:
    """The ledger's records of the compared campaigns, and all known keys."""

    rows: Sequence[tuple[Campaign, CampaignRow]]
    takes: Sequence[tuple[Campaign, CampaignRow, Take]]
    keys: frozenset[str]
    ours: frozenset[str]
    by_hand: frozenset[str]
    #: What a video had cost before it was edited, by take.
    before: Mapping[int, Decimal | None]
    #: key -> campaign and row, for every key that a row of the ledger has or may have had.
    derived: Mapping[str, tuple[str, str]]


async def reconcile(
    ledger: Ledger,
    service: VideoService,
    organisation: str,
    *,
    campaign: Campaign | None = None,
    briefs: Mapping[str, Sequence[Brief]] | None = None,
    at_once: int = 8,
    failed: frozenset[str] = FAILED,
) -> Comparison:
    """Return every difference of one campaign, or of all; raise ServiceError on failure.

    `briefs` are the briefs of sheets by campaign: keys are derived from them too, to identify
    videos of a lost ledger.
    """
    known = await ledger.read(_known, campaign=campaign)
    listed = await _listed(service)
    seen = await _statuses(service, known.takes, listed or {}, at_once)
    found: list[Difference] = []
    for (of, row, take), status in zip(known.takes, seen, strict=True):
        before = known.before[take.id]
        look = partial(compare, failed=failed, by_hand=known.by_hand, before=before)
        found += look(of, row, take, status)
    matched = await find_matches(
        ledger, service, organisation, known.rows, listed or {}, by_hand=campaign is None
    )
    found += matched
    claimed = known.ours | {one.video_id for one in matched}
    rest = [video for video in (listed or {}).values() if video.id not in claimed]
    derived = {**known.derived, **keys_of_briefs(briefs or {})}
    lost, others = find_unrecorded(rest, known.keys, derived, campaign)
    return Comparison(
        differences=[*found, *lost],
        compared=len(known.takes),
        others=others,
        advice=_advice(seen, listed),
    )


def _known(connection: Connection, campaign: Campaign | None) -> Known:
    rows: list[tuple[Campaign, CampaignRow]] = []
    taken: list[tuple[Campaign, CampaignRow, Take]] = []
    derived: dict[str, tuple[str, str]] = {}
    keys: set[str] = set()
    for one in all_campaigns(connection):
        mine = {row.id: row for row in rows_of(connection, one.id)}
        takes = [(mine[row_id], take) for row_id, take in takes_of(connection, one.id)]
        derived |= keys_of_rows(mine.values(), takes)
        keys |= {take.key for _, take in takes}
        if campaign is None or campaign.id == one.id:
            rows += [(one, row) for row in mine.values()]
            taken += [
                (one, row, take) for row, take in takes if take.video_id and not take.deletion
            ]
    # An edited video has several takes: what it is now, the last of them says.
    last: dict[str | None, tuple[Campaign, CampaignRow, Take]] = {}
    before: dict[int, Decimal | None] = {}
    spent: dict[str | None, Decimal] = defaultdict(Decimal)
    for one, row, take in sorted(taken, key=_by_take):
        # Of an edit that was restored, only what its video had cost here is known.
        before[take.id] = spent[take.video_id]
        spent[take.video_id] += take.charged or 0
        last[take.video_id] = (one, row, take)
    for call in calls_about(connection, take_ids=[take.id for _, _, take in last.values()]):
        if call.before and call.take_id:
            before[call.take_id] = parse_credits(Before.read(call.before).charged)
    return Known(
        rows=rows,
        takes=[*last.values()],
        before=before,
        keys=frozenset(keys),
        ours=frozenset(videos_ours(connection)),
        by_hand=frozenset(changed_by_hand(connection)),
        derived=derived,
    )


def _by_take(one: tuple[Campaign, CampaignRow, Take]) -> int:
    return one[2].id


async def _listed(service: VideoService) -> dict[str, Video] | None:
    """Return every video that the service lists; None if it has no list."""
    try:
        return {video.id: video async for video in service.list_videos()}
    except NotFound:
        return None


async def _statuses(
    service: VideoService,
    takes: Sequence[tuple[Campaign, CampaignRow, Take]],
    listed: Mapping[str, Video],
    at_once: int,
) -> list[VideoStatus]:
    slots = asyncio.Semaphore(at_once)

    async def see(take: Take) -> VideoStatus:
        async with slots:
            return await _see(service, take, listed)

    return await asyncio.gather(*(see(take) for _, _, take in takes))


async def _see(service: VideoService, take: Take, listed: Mapping[str, Video]) -> VideoStatus:
    """Request the video of a take, and a download address if it was not delivered."""
    assert take.video_id is not None
    video = listed.get(take.video_id)
    try:
        if video is None:
            video = await service.get(take.video_id)
        if take.delivered_at is not None or not take.stands or video.status in RUNNING:
            return VideoStatus(video=video)
        await service.download(take.video_id)
    except NotFound:
        return VideoStatus(video=None)
    except Conflict:
        return VideoStatus(video=video, ready=False)
    return VideoStatus(video=video, ready=True)


def _advice(seen: Sequence[VideoStatus], listed: Mapping[str, Video] | None) -> list[str]:
    advice = []
    if len(seen) > 1 and all(one.video is None for one in seen):
        advice.append(
            "none of the ledger's videos is known there: is this the service, and the "
            "organization's key, that they were made with?"
        )
    if listed is None:
        advice.append("the service has no list of videos: only known ones were asked for")
    return advice


def names_of(differences: Iterable[Difference]) -> Counter[str]:
    """Return how many differences there are of each kind."""
    return Counter(one.kind for one in differences)


async def apply_changes(
    ledger: Ledger, comparison: Comparison, *, sandbox: bool, clock: UnixClock
) -> Comparison:
    """Apply every change of a comparison; record for each whether it was applied.

    Before any change, raise Parked if a run is active on one of the campaigns, and SpendRefused if
    the service is a `sandbox` and the videos are real, or the reverse: a video that another service
    does not know is not gone.
    """
    concerned = {one.campaign for one in comparison.differences if one.change}
    async with AsyncExitStack() as held:
        for campaign in await ledger.read(all_campaigns):
            if campaign.name in concerned:
                check_same_money(campaign, sandbox=sandbox)
                await held.enter_async_context(leased(ledger, campaign, clock=clock))
        done = []
        for one in comparison.differences:
            change = one.change
            done.append(
                change is not None and await ledger.write(_execute, change=change, at=clock())
            )
    marked = zip(comparison.differences, done, strict=True)
    return replace(comparison, differences=[replace(one, applied=ok) for one, ok in marked])


def _execute(connection: Connection, change: Change, at: float) -> bool:
    match change:
        case Carry(row, take):
            words = f"reconciled: the service has {take.video_id}"
            return move(connection, row, "rendering", at=at, words=words, take=take)
        case Book(row, take, charged):
            return correct_charge(connection, row, take, charged=charged, at=at)
        case Adopt(video_id, row=row, take=take) if row is not None and take is not None:
            words = f"reconciled: it made {video_id}"
            return adopt_video(connection, row, take, video_id=video_id, at=at, words=words)
        case Adopt(video_id, call_id=call_id):
            return resolve_call(connection, call_id=call_id, video_id=video_id, at=at)
