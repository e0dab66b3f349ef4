"""Compare the ledger with what the service says. Reads only; what is set right is in `apply`.

The service's list is read once; a video of ours that is not in it is asked for by its id, since
absence from a list proves nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from tasks.aftercare.reconcile.differences import Comparison, Difference, VideoStatus, compare
from tasks.aftercare.reconcile.matches import find_matches
from tasks.aftercare.reconcile.unrecorded import find_unrecorded, keys_of_briefs, keys_of_rows
from tasks.brief import Brief
from tasks.engine.policy.decision import FAILED, RUNNING
from tasks.errors import Conflict, NotFound
from tasks.ledger import Campaign, CampaignRow, Ledger, Take, all_campaigns, rows_of, takes_of
from tasks.ledger.paid_calls import changed_by_hand, videos_ours
from tasks.service import Video, VideoService


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the ledger says of the campaigns that are compared, and what it knows in all."""

    rows: Sequence[tuple[Campaign, CampaignRow]]
    takes: Sequence[tuple[Campaign, CampaignRow, Take]]
    keys: frozenset[str]
    ours: frozenset[str]
    by_hand: frozenset[str]
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
    """Return every difference of one campaign, or of all; raise ServiceError where it cannot ask.

    `briefs` are those of sheets by campaign: keys are derived from them too, so that films of a
    ledger that was lost can be named.
    """
    known = await ledger.read(partial(_known, campaign=campaign))
    listed = await _listed(service)
    seen = await _statuses(service, known.takes, listed or {}, at_once)
    found: list[Difference] = []
    for (of, row, take), status in zip(known.takes, seen, strict=True):
        by_hand = known.by_hand
        found += compare(of, row, take, status, failed=failed, by_hand=by_hand)
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
            taken += [(one, row, take) for row, take in takes if take.video_id]
    return Known(
        rows=rows,
        takes=taken,
        keys=frozenset(keys),
        ours=frozenset(videos_ours(connection)),
        by_hand=frozenset(changed_by_hand(connection)),
        derived=derived,
    )


async def _listed(service: VideoService) -> dict[str, Video] | None:
    """Return every video the service lists; None where it has no list."""
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
    """Look at a take's video; a film that was not delivered is proved by an address for it."""
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
        return VideoStatus(video=video, film=False)
    return VideoStatus(video=video, film=True)


def _advice(seen: Sequence[VideoStatus], listed: Mapping[str, Video] | None) -> list[str]:
    advice = []
    if len(seen) > 1 and all(one.video is None for one in seen):
        advice.append(
            "none of the ledger's videos is known there: is this the service, and the "
            "organisation's key, that they were made with?"
        )
    if listed is None:
        advice.append("the service has no list of videos: only known ones were asked for")
    return advice


def names_of(differences: Iterable[Difference]) -> Counter[str]:
    """Return how many differences there are of each kind."""
    return Counter(one.kind for one in differences)


def applied(comparison: Comparison, done: Iterable[bool]) -> Comparison:
    """Return a comparison with what became of each of its differences."""
    marked = zip(comparison.differences, done, strict=True)
    return replace(comparison, differences=[replace(one, applied=ok) for one, ok in marked])
