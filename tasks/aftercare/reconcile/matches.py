"""Videos that a call of unknown outcome turns out to have made. Reads only.

A key of ours in a record is certain. Without one, what `evidence` calls the one video is; and a
video that fits two calls is neither's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from tasks.aftercare.advice import run_line
from tasks.aftercare.reconcile.differences import Adopt, Difference, about
from tasks.engine.lanes.baseline import Baseline
from tasks.engine.lanes.evidence import made_by
from tasks.errors import NotFound
from tasks.ledger import NEW, Campaign, CampaignRow, Ledger, unsettled_calls
from tasks.service import Video, VideoService
from tasks.suggest import suggest


async def find_matches(
    ledger: Ledger,
    service: VideoService,
    organisation: str,
    rows: Sequence[tuple[Campaign, CampaignRow]],
    listed: Mapping[str, Video],
    *,
    by_hand: bool,
) -> list[Difference]:
    """Return what rows in `uncertain` and `submitting` have made; calls typed by hand, too."""
    keys = {
        str(video.raw["idempotency_key"]): video.id
        for video in listed.values()
        if isinstance(video.raw, dict) and video.raw.get("idempotency_key")
    }
    baseline = Baseline(ledger, service, organisation)
    found: list[Difference] = []
    for campaign, row in rows:
        if row.state in ("uncertain", "submitting") and row.take is not None:
            found += await _of_row(campaign, row, keys, baseline)
    if by_hand:
        found += await _of_calls(ledger, organisation, baseline)
    claims = Counter(one.video_id for one in found)
    return [one for one in found if claims[one.video_id] == 1]


async def _of_row(
    campaign: Campaign, row: CampaignRow, keys: Mapping[str, str], baseline: Baseline
) -> list[Difference]:
    take = row.take
    assert take is not None
    if take.keyed:
        video_id = keys.get(take.key)
    else:
        video_id = await _made(baseline, take.asked(), take.intended_at)
    if video_id is None:
        return []
    words = f"the answer to its paid call was lost; {video_id} is what it made"
    if row.state == "submitting":
        # A run that is at work on it, or the next one, finds it by itself.
        remedy = run_line(campaign)
        return [about(row, take, "match", words, video_id=video_id, remedy=remedy)]
    remedy = suggest("resolve", row.campaign, row.row, "--adopt", video_id)
    change = Adopt(video_id, row=row, take=take)
    return [about(row, take, "match", words, video_id=video_id, remedy=remedy, change=change)]


async def _of_calls(ledger: Ledger, organisation: str, baseline: Baseline) -> list[Difference]:
    found: list[Difference] = []
    for call in await ledger.read(partial(unsettled_calls, organisation=organisation)):
        if call.take_id is not None or call.target != NEW:
            continue
        video_id = await _made(baseline, json.loads(call.body), call.opened_at)
        if video_id is None:
            continue
        found.append(
            Difference(
                kind="match",
                words=f"call {call.id} ({call.operation}), whose answer was lost, made {video_id}",
                video_id=video_id,
                remedy=suggest("resolve", "--call", str(call.id), "--adopt", video_id),
                # One that is still open may be under way: its own process settles it.
                change=Adopt(video_id, call_id=call.id) if call.closed_at else None,
            )
        )
    return found


async def _made(baseline: Baseline, asked: Mapping[str, object], moment: float) -> str | None:
    try:
        video, _ = await made_by(baseline, asked, moment)
    except NotFound:
        return None
    return video.id if video else None
