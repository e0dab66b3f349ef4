"""Differences between ledger and service, with videos that the ledger does not know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations
from typing import Any, Literal, cast

from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.engine.evidence import Baseline, find_edit, made_by
from callsheet.tasks.engine.policy.decision import CANCELLED, FAILED, RUNNING
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import NEW, unsettled_calls
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, Take
from callsheet.tasks.runtime.errors import NotFound
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.amounts import as_number, as_text, in_credits
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

#: `gone`: the service no longer has the video. `undelivered`: the service has the video and the
#: store does not. `rendering`: it still renders although the ledger has ended. `ended`: it failed
#: or was cancelled there. `charge`: it has another cost. `differences`: it has a key of Callsheet
#: that is not in the ledger. `match`: a call with an unknown outcome made it. `changed`: it was
#: delivered, and has another title or state there since.
Kind = Literal[
    "gone", "undelivered", "rendering", "ended", "charge", "unrecorded", "match", "changed"
]


@dataclass(frozen=True, slots=True)
class Carry:
    """Reopen an ended row: the next run polls its video, which costs nothing."""

    row: CampaignRow
    take: Take


@dataclass(frozen=True, slots=True)
class Book:
    """Record the cost of a take according to the service."""

    row: CampaignRow
    take: Take
    charged: Decimal


@dataclass(frozen=True, slots=True)
class Adopt:
    """Record which video a call made: of an uncertain row, or one typed by hand."""

    video_id: str
    row: CampaignRow | None = None
    take: Take | None = None
    call_id: int | None = None


Change = Carry | Book | Adopt


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One difference between ledger and service.

    `change` is what `--apply` does about it, `remedy` what you can type; `applied` says whether it
    was fixed.
    """

    kind: Kind
    words: str
    campaign: str | None = None
    row: str | None = None
    take: int | None = None
    video_id: str | None = None
    remedy: str | None = None
    change: Change | None = None
    applied: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as one of the `differences` of `reconcile --json`."""
        return {
            "kind": self.kind,
            "campaign": self.campaign,
            "row": self.row,
            "take": self.take,
            "video_id": self.video_id,
            "words": self.words,
            "charged": as_number(self.change.charged) if isinstance(self.change, Book) else None,
            "remedy": self.remedy,
            "can_apply": self.change is not None,
            "applied": self.applied,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All differences, and how many videos were compared and are not Callsheet's."""

    differences: Sequence[Difference]
    compared: int = 0
    others: int = 0
    advice: Sequence[str] = field(default=())

    @property
    def exit_status(self) -> int:
        """0 if nothing differs (any more), else 3."""
        return 0 if all(one.applied for one in self.differences) else 3

    def as_json(self) -> dict[str, Any]:
        """Return the document of `reconcile --json`."""
        return {
            "compared": self.compared,
            "others": self.others,
            "differences": [one.as_json() for one in self.differences],
            "advice": list(self.advice),
            "exit": self.exit_status,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class VideoStatus:
    """The video of a take at the service: None for a 404; `video` is None if not asked for."""

    video: Video | None
    ready: bool | None = None


def compare(
    campaign: Campaign,
    row: CampaignRow,
    take: Take,
    seen: VideoStatus,
    *,
    failed: frozenset[str] = FAILED,
    by_hand: frozenset[str] = frozenset(),
    before: Decimal | None = Decimal(0),
) -> list[Difference]:
    """Return the difference for the last take of a video.

    `by_hand` are videos that were changed with paid commands, `before` is what the video had cost
    before the take.
    """
    if seen.video is None:
        return [_gone(row, take)]
    found = [
        _state(campaign, row, take, seen, failed),
        _charge(row, take, seen.video, by_hand, before),
        _changed(row, take, seen.video, failed),
    ]
    return [one for one in found if one is not None]


def about(row: CampaignRow, take: Take, kind: Kind, words: str, **rest: Any) -> Difference:
    """Return a difference about a take."""
    return Difference(
        kind=kind,
        words=words,
        campaign=row.campaign,
        row=row.row,
        take=take.number,
        **{"video_id": take.video_id, **rest},
    )


def _gone(row: CampaignRow, take: Take) -> Difference:
    if take.delivered_at is not None:
        words = "the service no longer has this video; its video was delivered"
        return about(row, take, "gone", words, remedy=suggest("verify", row.campaign))
    words = f"the service no longer has this video, and its video was never delivered ({row.state})"
    return about(row, take, "gone", words, remedy=suggest("explain", row.campaign, row.row))


def _state(
    campaign: Campaign, row: CampaignRow, take: Take, seen: VideoStatus, failed: frozenset[str]
) -> Difference | None:
    """Compare states; a delivered video is stored here, even if the service deleted it."""
    present = row.take is not None and row.take.id == take.id
    if take.delivered_at is not None or not take.stands or not present:
        return None
    assert seen.video is not None
    status = seen.video.status
    resting = row.state not in UNDER_WAY
    if status in RUNNING and not seen.ready:
        words = f'the service says "{status}", here the row is {row.state}'
        return _resting(campaign, row, take, "rendering", words) if resting else None
    if seen.ready:
        words = f"its video is ready at the service and not delivered here ({row.state})"
        return _resting(campaign, row, take, "undelivered", words)
    ended = status in failed | CANCELLED
    if not ended or row.state in ("failed", "cancelled", "retired"):
        return None
    words = f'the service says "{status}" and has no video, here the row is {row.state}'
    return _resting(campaign, row, take, "ended", words)


def _resting(
    campaign: Campaign, row: CampaignRow, take: Take, kind: Kind, words: str
) -> Difference:
    if row.state in UNDER_WAY:
        return about(row, take, kind, words, remedy=run_line(campaign))
    if row.state in ("stalled", "held"):
        remedy = run_line(campaign)
        return about(row, take, kind, words, remedy=remedy, change=Carry(row, take))
    # An abandoned row cannot go back to its video: a person must decide.
    return about(row, take, kind, words, remedy=suggest("video show", str(take.video_id)))


def _changed(
    row: CampaignRow, take: Take, video: Video, failed: frozenset[str]
) -> Difference | None:
    """Compare what a delivered video shows of itself with what it was delivered as.

    Its file is in the store as it was.
    """
    if take.delivered_at is None or row.take is None or row.take.id != take.id:
        return None
    shown = video.raw.get("title") if isinstance(video.raw, dict) else None
    # A video that was made elsewhere may have had another title from the start.
    asked = None if take.adopted else take.asked().get("title")
    words = None
    if video.status in RUNNING or video.status in failed | CANCELLED:
        words = f'it was delivered, and the service says "{video.status}" now'
    elif isinstance(shown, str) and isinstance(asked, str) and shown.split() != asked.split():
        words = f'it was delivered as "{asked}", and its title at the service is "{shown}" now'
    if words is None:
        return None
    return about(row, take, "changed", words, remedy=suggest("video show", video.id))


def _charge(
    row: CampaignRow, take: Take, video: Video, by_hand: frozenset[str], before: Decimal | None
) -> Difference | None:
    # The service says what a video has cost in all: an edited one also costs its edits.
    if video.charged is None or before is None or take.charged is None:
        return None
    told = video.charged - before
    if told == take.charged or video.status in RUNNING:
        return None
    if take.adopted:
        return None
    words = f"the service charged {in_credits(told)}, the ledger {as_text(take.charged)}"
    if video.id in by_hand:
        words += "; it was changed by hand since, and those calls are not part of the campaign"
        return about(row, take, "charge", words, remedy=suggest("video show", video.id))
    remedy = suggest("reconcile", row.campaign, "--apply")
    return about(row, take, "charge", words, remedy=remedy, change=Book(row, take, told))


# Videos that the ledger does not know: results of calls with an unknown outcome, and others.
#
# Reads only. A key of Callsheet in a record is proof: it is a pure function of campaign, row and
# brief, so keys are derived again from the ledger and from sheets, and compared with those at the
# service. Without a key, `evidence` must find exactly one video; a video that fits two calls is
# assigned to neither.


async def find_matches(
    ledger: Ledger,
    service: VideoService,
    organisation: str,
    rows: Sequence[tuple[Campaign, CampaignRow]],
    listed: Mapping[str, Video],
    *,
    by_hand: bool,
) -> list[Difference]:
    """Return the videos of rows in `uncertain` and `submitting`, and of typed calls."""
    keys = {
        str(video.raw["idempotency_key"]): video.id
        for video in listed.values()
        if isinstance(video.raw, dict) and video.raw.get("idempotency_key")
    }
    baseline = Baseline(ledger, service, organisation)
    found: list[Difference] = []
    for campaign, row in rows:
        if row.state in ("uncertain", "submitting") and row.take is not None:
            found += await _of_row(campaign, row, keys, baseline, ledger, service)
    if by_hand:
        found += await _of_calls(ledger, organisation, baseline)
    claims = Counter(one.video_id for one in found)
    return [one for one in found if claims[one.video_id] == 1]


async def _of_row(
    campaign: Campaign,
    row: CampaignRow,
    keys: Mapping[str, str],
    baseline: Baseline,
    ledger: Ledger,
    service: VideoService,
) -> list[Difference]:
    take = row.take
    assert take is not None
    video_id: str | None = None
    if take.keyed:
        video_id = keys.get(take.key)
    elif edit_of(row.operation):
        video_id = await find_edit(ledger, service, take)
    else:
        video_id = await _made(baseline, take.asked(), take.intended_at)
    if video_id is None:
        return []
    words = f"the answer to its paid call was lost; {video_id} is what it made"
    if row.state == "submitting":
        # The active run, or the next one, finds it by itself.
        remedy = run_line(campaign)
        return [about(row, take, "match", words, video_id=video_id, remedy=remedy)]
    remedy = suggest("resolve", row.campaign, row.row, "--adopt", video_id)
    change = Adopt(video_id, row=row, take=take)
    return [about(row, take, "match", words, video_id=video_id, remedy=remedy, change=change)]


async def _of_calls(ledger: Ledger, organisation: str, baseline: Baseline) -> list[Difference]:
    found: list[Difference] = []
    for call in await ledger.read(unsettled_calls, organisation=organisation):
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
                # An open call may be in progress: its own process settles it.
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


#: Keys are derived for this many takes after the known ones.
AHEAD = 2
#: Maximum members of a record that may be defaults of the service.
MOST_DEFAULTS = 4

#: key -> campaign and row.
Derived = Mapping[str, tuple[str, str]]

#: Members that only a person sets (specification, section 4: the body of `POST /videos`).
_CHOSEN = ("tool", "fields", "script", "title", "topic")
#: Members with a default of the service, which its records show as well.
_DEFAULTED = (
    "duration_seconds", "mode", "style", "character_id", "voice_id", "music_id",
    "caption_style", "aspect_ratio", "language", "video_model",
)  # fmt: skip


def find_unrecorded(
    videos: Iterable[Video], keys: frozenset[str], derived: Derived, campaign: Campaign | None
) -> tuple[list[Difference], int]:
    """Return the keys of Callsheet that are in no take, and how many of `videos` have none.

    With a `campaign`, only its keys; otherwise also keys whose row is unknown.
    """
    found: list[Difference] = []
    others = 0
    for video in videos:
        key = _key_of(video)
        of, row = derived.get(key or "", (None, None))
        elsewhere = campaign is not None and of != campaign.name
        if key is None or key in keys or elsewhere or (row is None and _typed_by_hand(video, key)):
            others += 1
        else:
            found.append(_lost(video, of, row))
    return found, others


def keys_of_rows(
    rows: Iterable[CampaignRow], takes: Iterable[tuple[CampaignRow, Take]]
) -> dict[str, tuple[str, str]]:
    """Return the past, current and next keys of rows."""
    last = {(row, row.digest): row.nth for row in rows}
    for row, take in takes:
        last[row, take.digest] = max(take.nth, last.get((row, take.digest), 1))
    return {
        key: (row.campaign, row.row)
        for (row, digest), nth in last.items()
        for key in _keys(row.campaign, row.first_id or row.row, row.operation, digest, nth + AHEAD)
    }


def keys_of_briefs(briefs: Mapping[str, Sequence[Brief]]) -> dict[str, tuple[str, str]]:
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


def _lost(video: Video, campaign: str | None, row: str | None) -> Difference:
    if row is None:
        words = (
            "it has a key of Callsheet's, and matches no row here: it is of another ledger, or lost"
        )
        remedy = suggest("reconcile", "--sheet", "SHEET")
    else:
        words = f"it was paid for as row {row} of {campaign}, and this ledger has no such take"
        run = suggest_run(None, campaign or "NAME")
        remedy = f"`{run}`: its key finds it, and nothing is paid again without approval"
    return Difference(
        kind="unrecorded", words=words, campaign=campaign, row=row, video_id=video.id, remedy=remedy
    )


def _key_of(video: Video) -> str | None:
    raw = video.raw if isinstance(video.raw, dict) else {}
    key = raw.get("idempotency_key")
    return key if isinstance(key, str) and key.startswith(f"{RECIPE}_") else None


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
