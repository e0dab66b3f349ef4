"""What the ledger and the service may say differently, and what can be done about each.

Pure: a row, its take and what was seen of its video in, a difference or nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from callsheet.tasks.aftercare.advice import run_line
from callsheet.tasks.credits import as_number, as_text, in_credits
from callsheet.tasks.engine.policy.decision import CANCELLED, FAILED, RUNNING
from callsheet.tasks.ledger import UNDER_WAY, Campaign, CampaignRow, Take
from callsheet.tasks.service import Video
from callsheet.tasks.suggest import suggest

#: `gone`: the service no longer knows the video. `undelivered`: its video is there and not here.
#: `rendering`: it is still at work though the ledger rests. `ended`: it failed or was cancelled
#: there. `charge`: it cost something else. `unrecorded`: it has a key of ours that the ledger does
#: not know. `match`: it is what a call of unknown outcome made.
Kind = Literal["gone", "undelivered", "rendering", "ended", "charge", "unrecorded", "match"]


@dataclass(frozen=True, slots=True)
class Carry:
    """Take a resting row up again: the next run looks at its video, which costs nothing."""

    row: CampaignRow
    take: Take


@dataclass(frozen=True, slots=True)
class Book:
    """Book what the service says a take has cost."""

    row: CampaignRow
    take: Take
    charged: Decimal


@dataclass(frozen=True, slots=True)
class Adopt:
    """Record which video a call made: an uncertain row's, or one typed by hand."""

    video_id: str
    row: CampaignRow | None = None
    take: Take | None = None
    call_id: int | None = None


Change = Carry | Book | Adopt


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One thing that ledger and service say differently.

    `change` is what `--apply` does about it, `remedy` what a person types; `applied` says whether
    it was set right.
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
    """Every difference, how many videos were compared, and how many are none of ours."""

    differences: Sequence[Difference]
    compared: int = 0
    others: int = 0
    advice: Sequence[str] = field(default=())

    @property
    def exit_status(self) -> int:
        """0 nothing differs (any more), 3 something does."""
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
    """What was seen of a take's video: None for a 404; `video` None where none was asked for."""

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
) -> list[Difference]:
    """Return what ledger and service say differently about one take that has a video.

    `by_hand` are videos that were changed by paid calls typed by hand.
    """
    if seen.video is None:
        return [_gone(row, take)]
    found = [_state(campaign, row, take, seen, failed), _charge(row, take, seen.video, by_hand)]
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
    """Compare where a video is: a delivered one is here, whatever became of its video since."""
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
    # Where a row was given up, no move leads back to its video: a person looks at it.
    return about(row, take, kind, words, remedy=suggest("video show", str(take.video_id)))


def _charge(
    row: CampaignRow, take: Take, video: Video, by_hand: frozenset[str]
) -> Difference | None:
    told = video.charged
    if told is None or take.charged is None or told == take.charged or video.status in RUNNING:
        return None
    words = f"the service charged {in_credits(told)}, the ledger {as_text(take.charged)}"
    if video.id in by_hand:
        words += "; it was changed by hand since, and those calls are no part of the campaign"
        return about(row, take, "charge", words, remedy=suggest("video show", video.id))
    remedy = suggest("reconcile", row.campaign, "--apply")
    return about(row, take, "charge", words, remedy=remedy, change=Book(row, take, told))
