"""What is decided of a row and from what: rules, memory, decision, and the lane of each state.

Values and two facts about a row; no clock, no randomness, no I/O. Moments are Unix seconds, spans
are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from callsheet.tasks.brief import CREATE
from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.states import State
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.ledger.video_findings import VideoFindings
from callsheet.tasks.settings import Settings

Lane = Literal["submit", "submit_unkeyed", "search", "poll", "cancel", "deliver"]

#: Words for a render under way. Only the first two are in the specification (section 2).
RUNNING = frozenset({"generating", "draft", "queued", "pending", "processing", "rendering",
                     "running", "in_progress", "starting", "scheduled"})  # fmt: skip
#: Words for a render that will not come. None is in the specification: believed only together
#: with two refused downloads, and never a reason to pay again. A user can set those of a failure.
FAILED = frozenset({"failed", "failure", "error", "errored"})
CANCELLED = frozenset({"cancelled", "canceled"})

#: A create with its retries and its wait at the gate may take so long. None is begun so close to
#: the horizon that it could end past it, nor in the last tenth of a horizon that is short.
LAST_CREATE, SHORT = 900.0, 0.1
#: How far the clocks of two machines may differ, in seconds. A moment further in the future was
#: written before a clock was set back: how long ago that was is not known.
SKEW = 300.0
#: The engine waits up to a tenth longer than it is told.
SPREAD = 1.1
#: The first wait before what has failed is tried again, and the longest, in seconds.
FIRST, LONGEST = 1.0, 60.0
#: Why a row is cancelled for which nothing was made.
NEVER_MADE = "cancelled as asked; nothing was made"


@dataclass(frozen=True, slots=True)
class Rules:
    """The spans a user can set, in seconds."""

    horizon: float = 86400.0
    deadline: float = 10800.0
    captions_wait: float = 120.0
    evidence_wait: float = 600.0
    failed: frozenset[str] = FAILED
    #: Whether clips take idempotency keys at this service; by the specification they do not.
    clip_keys: bool = False
    #: What holds a row when it is found wrong with its video.
    checks: frozenset[str] = frozenset()
    #: Whether a webhook can be relied on to tell of videos that are ready.
    hinted: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        """Return the rules that the settings make."""
        return cls(
            horizon=settings.horizon,
            deadline=settings.deadline,
            captions_wait=settings.captions_wait,
            evidence_wait=settings.evidence_wait,
            failed=settings.failed_words,
            clip_keys=settings.clip_keys,
            checks=settings.checks,
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """What this run remembers of a row; losing it costs time and nothing else.

    `ends` counts polls in a row that gave a word for the end and no video, `failures` what failed
    in a row.
    """

    polls: int = 0
    odd_polls: int = 0
    odd_since: float | None = None
    ends: int = 0
    failures: int = 0
    #: How often a video came whole and was none.
    corrupt: int = 0
    #: The service was asked to cancel the render, and did not, or its answer was not clear.
    not_cancelled: bool = False
    #: An earlier answer to a create of this take was lost, in this run or in one before it.
    doubt: bool = False
    poll_after: float | None = None
    #: What the shortest and the longest render of its kind took, in seconds, and whether this one
    #: is to find out.
    shortest: float | None = None
    longest: float | None = None
    #: It was polled although no hint came in the time that others took: that one was lost, or late.
    overlong: bool = False
    scout: bool = False
    #: Polls since a webhook named its video, from 1; 0 when none did.
    hint: int = 0
    charged: Decimal | None = None
    files: tuple[Delivered, ...] = ()
    findings: VideoFindings | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: move the row (`to`), then visit `lane` after `after` seconds.

    Without a lane the row is settled for this run. `defers` stops all further creates of the run
    for that reason; `pauses` is a moment before which no request may be made.
    """

    memory: Memory = field(default=Memory())
    to: State | None = None
    reason: str | None = None
    lane: Lane | None = None
    after: float = 0.0
    defers: str | None = None
    pauses: float | None = None


def unwanted(row: CampaignRow) -> bool:
    """Whether somebody asked for the row's present take to be cancelled."""
    return row.take is not None and row.take.cancel_requested_at is not None


def lane_of(row: CampaignRow, now: float, rules: Rules) -> Lane | None:
    """Return the lane that carries a row of this state on, or None where the row is settled."""
    match row.state:
        case "approved":
            return "submit" if row.operation == CREATE or rules.clip_keys else "submit_unkeyed"
        case "submitting" if row.take is not None and not row.take.keyed:
            return "search"
        case "submitting" if row.take is not None:
            # Inside the horizon the same key yields the same video; past it, look first.
            last = rules.horizon - min(LAST_CREATE, SHORT * rules.horizon)
            young = -SKEW <= now - row.take.intended_at < last
            return "submit" if young else "search"
        case "rendering":
            return "cancel" if unwanted(row) else "poll"
        case "ready":
            return "deliver"
        case _:
            return None


def backoff(failures: int) -> float:
    """Return a wait that doubles with every failure in a row."""
    doublings = min(16, max(0, failures - 1))
    return float(min(LONGEST, FIRST * 2**doublings))
