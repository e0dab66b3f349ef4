"""Finds what differs between the ledger and the service. Changes nothing.

The list of the service is read once; a video that is missing from it is requested by its id, since
a list proves nothing by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.aftercare.findings import Finding, Repairs, Verdict
from callsheet.tasks.aftercare.unrecorded import (
    find_matches,
    find_unrecorded,
    keys_of_briefs,
    known_keys,
)
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.engine.evidence import Baseline, Before
from callsheet.tasks.engine.policy.decision import CANCELLED, FAILED, RUNNING
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import calls_about, changed_by_hand, videos_ours
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, Take, rows_of, takes_of
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import Conflict, NotFound
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.amounts import as_text, in_credits, parse_credits
from callsheet.tasks.values.briefs import Brief


async def reconcile(
    ledger: Ledger,
    service: VideoService,
    settings: Settings,
    *,
    campaign: Campaign | None,
    briefs: Mapping[str, Sequence[Brief]] | None = None,
) -> Repairs:
    """Return every difference of one campaign, or of all; raise ServiceError on failure.

    `briefs` are the briefs of sheets by campaign: keys are derived from them too, to identify
    videos of a lost ledger.
    """
    campaigns = [campaign] if campaign else await ledger.read(all_campaigns)
    known = await ledger.read(_known, campaigns=campaigns)
    listed = await _listed(service)
    videos = listed or {}
    look = partial(_look, service=service, listed=videos, failed=settings.failed_words)
    compared = await map_at_once(look, known, at_once=settings.polls_at_once)
    found = [one for several in compared for one in several]
    baseline = Baseline(ledger, service, organisation_of(settings))
    search = partial(find_matches, ledger, service, baseline, campaigns, videos.values())
    matched = await search(by_hand=campaign is None)
    # Read after the list: what was sent meanwhile is in the ledger before the service has it.
    claimed = {one.video_id for one in matched} | await ledger.read(videos_ours)
    rest = [video for video in videos.values() if video.id not in claimed]
    keys, derived = await ledger.read(known_keys)
    lost, others = find_unrecorded(rest, keys, derived | keys_of_briefs(briefs or {}), campaign)
    return Repairs(
        campaign=campaign,
        findings=[*found, *matched, *lost],
        compared=len(known),
        others=others,
        advice=_advice(found, len(known), listed),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownVideo:
    """A video as the ledger has it: of its last take, since an edited video has several.

    `before` is what it had cost before that take (None: not known), `by_hand` says whether it was
    changed with paid commands.
    """

    campaign: Campaign
    row: CampaignRow
    take: Take
    before: Decimal | None = Decimal(0)
    by_hand: bool = False

    @property
    def present(self) -> bool:
        """Whether the take is the one that its row has now."""
        return self.row.take is not None and self.row.take.id == self.take.id

    @property
    def is_left(self) -> bool:
        """Whether no run settles the take any more: its row has, or waits for, another one."""
        return not (self.present and self.take.stands)

    def finding(self, verdict: Verdict, words: str, *, remedy: str, **rest: Any) -> Finding:
        """Return what differs about it."""
        of = partial(Finding, row=self.row, take=self.take, video_id=self.take.video_id)
        return of(verdict=verdict, words=words, remedy=remedy, **rest)


def _known(connection: Connection, campaigns: Iterable[Campaign]) -> list[KnownVideo]:
    """Return each video once, with what it had cost before its last take."""
    taken: list[tuple[Campaign, CampaignRow, Take]] = []
    for campaign in campaigns:
        rows = {row.id: row for row in rows_of(connection, campaign.id)}
        made = [one for one in takes_of(connection, campaign.id) if not one[1].deletion]
        taken += [(campaign, rows[row_id], take) for row_id, take in made if take.video_id]
    changed = changed_by_hand(connection)
    spent: dict[str | None, Decimal] = defaultdict(Decimal)
    last: dict[str | None, KnownVideo] = {}
    for campaign, row, take in sorted(taken, key=lambda one: one[2].id):
        known = KnownVideo(campaign=campaign, row=row, take=take, by_hand=take.video_id in changed)
        # Of an edit that was restored, only what its video had cost here is known.
        last[take.video_id] = replace(known, before=spent[take.video_id])
        spent[take.video_id] += take.charged or 0
    takes = [one.take.id for one in last.values()]
    told = {
        call.take_id: parse_credits(Before.read(call.before).charged)
        for call in calls_about(connection, take_ids=takes)
        if call.before
    }
    return [replace(one, before=told.get(one.take.id, one.before)) for one in last.values()]


async def _listed(service: VideoService) -> dict[str, Video] | None:
    """Return every video that the service lists; None if it has no list."""
    try:
        return {video.id: video async for video in service.list_videos()}
    except NotFound:
        return None


async def _look(
    one: KnownVideo, service: VideoService, listed: Mapping[str, Video], failed: frozenset[str]
) -> list[Finding]:
    """Request a video, and a download address if it was not delivered, and compare it."""
    take, ready = one.take, False
    assert take.video_id is not None
    video = listed.get(take.video_id)
    try:
        if video is None:
            video = await service.get(take.video_id)
        if take.delivered_at is None and take.stands and video.status not in RUNNING:
            await service.download(take.video_id)
            ready = True
    except NotFound:
        video = None
    except Conflict:
        pass
    return compare(one, video, ready=ready, failed=failed)


def compare(
    one: KnownVideo,
    video: Video | None,
    *,
    ready: bool = False,
    failed: frozenset[str] = FAILED,
) -> list[Finding]:
    """Return how a video differs at the service: None is not there, `ready` can be downloaded."""
    if video is None:
        return [_gone(one)]
    ended = failed | CANCELLED
    if one.take.delivered_at is None:
        found = [_state(one, video.status, ended, ready=ready), _charge(one, video)]
    else:
        found = [_charge(one, video), _changed(one, video, ended)]
    return [difference for difference in found if difference is not None]


def _gone(one: KnownVideo) -> Finding:
    row, words = one.row, "the service no longer has this video"
    if one.take.delivered_at is not None:
        delivered = f"{words}; its video was delivered"
        return one.finding("gone", delivered, remedy=suggest("verify", row.campaign))
    never = f"{words}, and its video was never delivered ({row.state})"
    return one.finding("gone", never, remedy=suggest("explain", row.campaign, row.row))


def _state(
    one: KnownVideo, status: str | None, ended: Collection[str], *, ready: bool
) -> Finding | None:
    """Compare states; a delivered video is stored here, even if the service deleted it."""
    state, under_way = one.row.state, one.row.state in UNDER_WAY
    verdict: Verdict
    if not one.take.stands or not one.present:
        return None
    if ready:
        verdict = "undelivered"
        words = f"its video is ready at the service and not delivered here ({state})"
    elif status in RUNNING and not under_way:
        verdict, words = "rendering", f'the service says "{status}", here the row is {state}'
    elif status in ended and state not in ("failed", "cancelled", "retired"):
        verdict = "ended"
        words = f'the service says "{status}" and has no video, here the row is {state}'
    else:
        return None
    if under_way or state in ("stalled", "held"):
        repair = None if under_way else "fetch"
        return one.finding(verdict, words, remedy=run_line(one.campaign), repair=repair)
    # An abandoned row cannot go back to its video: a person must decide.
    return one.finding(verdict, words, remedy=suggest("video show", str(one.take.video_id)))


def _charge(one: KnownVideo, video: Video) -> Finding | None:
    # The service says what a video has cost in all: an edited one also costs its edits.
    is_settled = one.take.charged is not None
    if video.charged is None or one.before is None or not (is_settled or one.is_left):
        return None
    told = video.charged - one.before
    if told == one.take.charged or video.status in RUNNING or one.take.adopted:
        return None
    words = f"the service charged {in_credits(told)}, the ledger {as_text(one.take.charged)}"
    if not is_settled:
        kept = in_credits(one.take.reserved)
        words = f"its row has left it behind with {kept} reserved, and it cost {as_text(told)}"
    if one.by_hand:
        words += "; it was changed by hand since, and those calls are not part of the campaign"
        return one.finding("charge", words, remedy=suggest("video show", video.id))
    remedy = suggest("reconcile", one.row.campaign, "--apply")
    return one.finding("charge", words, remedy=remedy, repair="book", charged=told)


def _changed(one: KnownVideo, video: Video, ended: Collection[str]) -> Finding | None:
    """Compare what a delivered video shows of itself with what it was delivered as.

    Its file is in the store as it was.
    """
    shown = video.raw.get("title") if isinstance(video.raw, dict) else None
    # A video that was made elsewhere may have had another title from the start.
    asked = None if one.take.adopted else one.take.asked().get("title")
    if not one.present:
        return None
    if video.status in RUNNING or video.status in ended:
        words = f'it was delivered, and the service says "{video.status}" now'
    elif isinstance(shown, str) and isinstance(asked, str) and shown.split() != asked.split():
        words = f'it was delivered as "{asked}", and its title at the service is "{shown}" now'
    else:
        return None
    return one.finding("changed", words, remedy=suggest("video show", video.id))


def _advice(found: Sequence[Finding], compared: int, listed: object) -> list[str]:
    advice = []
    if compared > 1 and sum(one.verdict == "gone" for one in found) == compared:
        advice.append(
            "none of the ledger's videos is known there: is this the service, and the "
            "organization's key, that they were made with?"
        )
    if listed is None:
        advice.append("the service has no list of videos: only known ones were asked for")
    return advice
