"""Videos at the service that the ledger does not know: results of lost calls, and others.

Reads only. A key of Callsheet in a record is proof: it is a pure function of campaign, row and
brief, so keys are derived again from the ledger and from sheets, and compared with those at the
service. Without a key, `evidence` must find exactly one video; a video that fits two calls is
assigned to neither.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import cast

from sqlalchemy import Connection

from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.aftercare.findings import Finding
from callsheet.tasks.campaign.service_list import AHEAD, key_of
from callsheet.tasks.engine.evidence import Baseline, find_edit, made_by
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import NEW, PaidCall, unsettled_calls
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of, takes_of
from callsheet.tasks.runtime.errors import NotFound
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.briefs import (
    CREATE,
    DIRECT,
    RECIPE,
    Brief,
    Json,
    digest_of,
    idempotency_key,
)
from callsheet.tasks.values.edits import edit_of

#: key -> campaign and row.
Keys = dict[str, tuple[str, str]]


async def find_matches(
    ledger: Ledger,
    service: VideoService,
    baseline: Baseline,
    campaigns: Iterable[Campaign],
    listed: Iterable[Video],
    *,
    by_hand: bool,
) -> list[Finding]:
    """Return the videos of rows in `uncertain` and `submitting`, and of typed calls."""
    keys = {key: video.id for video in listed if (key := key_of(video))}
    found: list[Finding] = []
    for campaign in campaigns:
        named = partial(rows_of, campaign_id=campaign.id, states=("uncertain", "submitting"))
        for row in await ledger.read(named):
            if (take := row.take) is None:
                continue
            if take.keyed:
                video_id = keys.get(take.key)
            elif edit_of(row.operation):
                video_id = await find_edit(ledger, service, take)
            else:
                video_id = await _made(baseline, take.asked(), take.intended_at)
            found += [_of_row(campaign, row, video_id)] if video_id else []
    if by_hand:
        calls = await ledger.read(unsettled_calls, organisation=baseline.organisation)
        for call in calls:
            if call.take_id is None and call.target == NEW:
                video_id = await _made(baseline, json.loads(call.body), call.opened_at)
                found += [_of_call(call, video_id)] if video_id else []
    claims = Counter(one.video_id for one in found)
    return [one for one in found if claims[one.video_id] == 1]


def _of_row(campaign: Campaign, row: CampaignRow, video_id: str) -> Finding:
    words = f"the answer to its paid call was lost; {video_id} is what it made"
    one = Finding(verdict="match", row=row, take=row.take, words=words, video_id=video_id)
    if row.state == "submitting":
        # The active run, or the next one, finds it by itself.
        return replace(one, remedy=run_line(campaign))
    adopt = suggest("resolve", row.campaign, row.row, "--adopt", video_id)
    return replace(one, remedy=adopt, repair="adopt")


def _of_call(call: PaidCall, video_id: str) -> Finding:
    words = f"call {call.id} ({call.operation}), whose answer was lost, made {video_id}"
    adopt = suggest("resolve", "--call", str(call.id), "--adopt", video_id)
    one = Finding(verdict="match", words=words, video_id=video_id, call_id=call.id, remedy=adopt)
    # An open call may be in progress: its own process settles it.
    return replace(one, repair="settle") if call.closed_at else one


async def _made(baseline: Baseline, asked: Mapping[str, Json], moment: float) -> str | None:
    try:
        video, _ = await made_by(baseline, asked, moment)
    except NotFound:
        return None
    return video.id if video else None


#: Maximum members of a record that may be defaults of the service.
MOST_DEFAULTS = 4

#: Members that only a person sets (specification, section 4: the body of `POST /videos`).
_CHOSEN = ("tool", "fields", "script", "title", "topic")
#: Members with a default of the service, which its records show as well.
_DEFAULTED = (
    "duration_seconds", "mode", "style", "character_id", "voice_id", "music_id",
    "caption_style", "aspect_ratio", "language", "video_model",
)  # fmt: skip


def find_unrecorded(
    videos: Iterable[Video], keys: Container[str], derived: Keys, campaign: Campaign | None
) -> tuple[list[Finding], int]:
    """Return the keys of Callsheet that are in no take, and how many of `videos` have none.

    With a `campaign`, only its keys; otherwise also keys whose row is unknown.
    """
    found: list[Finding] = []
    others = 0
    for video in videos:
        key = key_of(video) or ""
        of, row = derived.get(key, (None, None))
        elsewhere = campaign is not None and of != campaign.name
        known = key in keys or not key.startswith(f"{RECIPE}_")
        if known or elsewhere or (row is None and _typed_by_hand(video, key)):
            others += 1
        else:
            found.append(_lost(video, of, row))
    return found, others


def known_keys(connection: Connection) -> tuple[set[str], Keys]:
    """Return the keys of all takes, and those that rows of the ledger have or may have had."""
    taken: set[str] = set()
    derived: Keys = {}
    for campaign in all_campaigns(connection):
        rows = {row.id: row for row in rows_of(connection, campaign.id)}
        takes = [(rows[row_id], take) for row_id, take in takes_of(connection, campaign.id)]
        taken |= {take.key for _, take in takes}
        derived |= keys_of_rows(rows.values(), takes)
    return taken, derived


def keys_of_rows(rows: Iterable[CampaignRow], takes: Iterable[tuple[CampaignRow, Take]]) -> Keys:
    """Return the past, current and next keys of rows."""
    last = {(row, row.digest): row.nth for row in rows}
    for row, take in takes:
        last[row, take.digest] = max(take.nth, last.get((row, take.digest), 1))
    return {
        key: (row.campaign, row.row)
        for (row, digest), nth in last.items()
        for key in _keys(row.campaign, row.first_id or row.row, row.operation, digest, nth + AHEAD)
    }


def keys_of_briefs(briefs: Mapping[str, Sequence[Brief]]) -> Keys:
    """Return the keys of the rows of sheets, by campaign."""
    return {
        key: (campaign, brief.row)
        for campaign, some in briefs.items()
        for brief in some
        for key in _keys(campaign, brief.was or brief.row, brief.operation, brief.digest, 1 + AHEAD)
    }


def _keys(campaign: str, row: str, operation: str, digest: str, last: int) -> Iterator[str]:
    for nth in range(1, last + 1):
        yield idempotency_key(
            campaign=campaign, row=row, operation=operation, digest=digest, nth=nth
        )


def _lost(video: Video, campaign: str | None, row: str | None) -> Finding:
    if row is None:
        words = (
            "it has a key of Callsheet's, and matches no row here: it is of another ledger, or lost"
        )
        remedy = suggest("reconcile", "--sheet", "SHEET")
    else:
        words = f"it was paid for as row {row} of {campaign}, and this ledger has no such take"
        run = suggest_run(None, campaign or "NAME")
        remedy = f"`{run}`: its key finds it, and nothing is paid again without approval"
    of = (campaign, row)
    return Finding(verdict="unrecorded", words=words, key_of=of, video_id=video.id, remedy=remedy)


def _typed_by_hand(video: Video, key: str) -> bool:
    """Return whether `callsheet video create` made a video: its key follows from the request."""
    for asked in _requests(cast("Mapping[str, Json]", video.raw)):
        for start in (True, False):
            digest = digest_of(CREATE, {**asked, "start_generation": start})
            if key in _keys(DIRECT, digest, CREATE, digest, 1 + AHEAD):
                return True
    return False


def _requests(raw: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield every request that may have made a record: with and without default members."""
    chosen = {name: raw[name] for name in _CHOSEN if raw.get(name) is not None}
    shown = [name for name in _DEFAULTED if raw.get(name) is not None]
    for count in range(min(len(shown), MOST_DEFAULTS) + 1):
        for left_out in combinations(shown, count):
            yield {**chosen, **{name: raw[name] for name in shown if name not in left_out}}
