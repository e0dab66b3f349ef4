"""What is decided about a row, and from which observations. Values only.

Values and two facts about a row; no clock, no randomness, no I/O. Moments are Unix seconds, spans
are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from callsheet.tasks.ledger.deliveries import Delivered, VideoFindings
from callsheet.tasks.ledger.values import CampaignRow, State, Take
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.edits import is_keyed

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
    #: The service has called it a render under way: an edit is known to have begun.
    seen_running: bool = False
    #: What the shortest and the longest render of its kind took, in seconds.
    shortest: float | None = None
    longest: float | None = None
    #: It was polled although no hint came in the time that others took: that one was lost, or late.
    overlong: bool = False
    #: Polls since a webhook named its video, from 1; 0 when none did.
    hint: int = 0
    charged: Decimal | None = None
    files: tuple[Delivered, ...] = ()
    findings: VideoFindings | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: move the row (`to`), then visit `lane` after `after` seconds.

    Without a lane the row is settled for this run. `defers` stops all further creates of the run
    for that reason; `pauses` is a moment before which no request may be made. With `retakes`
    another take of a failed row may be made.
    """

    memory: Memory = field(default=Memory())
    to: State | None = None
    reason: str | None = None
    lane: Lane | None = None
    after: float = 0.0
    defers: str | None = None
    pauses: float | None = None
    retakes: bool = False


def unwanted(row: CampaignRow) -> bool:
    """Whether someone asked for the row's present take to be cancelled."""
    return row.take is not None and row.take.cancel_requested_at is not None


def lane_of(row: CampaignRow, now: float, rules: Rules) -> Lane | None:
    """Return the lane that processes a row of this state, or None where the row is settled."""
    match row.state:
        case "approved":
            keyed = is_keyed(row.operation, clip_keys=rules.clip_keys)
            return "submit" if keyed else "submit_unkeyed"
        case "submitting" if row.take is not None and not row.take.keyed:
            return "search"
        case "submitting" if row.take is not None:
            # Inside the horizon the same key yields the same video; past it, look first.
            return "submit" if is_young(row.take, now, rules) else "search"
        case "rendering":
            return "cancel" if unwanted(row) else "poll"
        case "ready":
            return "deliver"
        case _:
            return None


def is_young(take: Take, now: float, rules: Rules) -> bool:
    """Whether the service is known to remember the key of a take, also at the end of a create."""
    last = rules.horizon - min(LAST_CREATE, SHORT * rules.horizon)
    return -SKEW <= now - take.intended_at < last


def backoff(failures: int) -> float:
    """Return a wait that doubles with every failure in a row."""
    doublings = min(16, max(0, failures - 1))
    return float(min(LONGEST, FIRST * 2**doublings))


# What can be observed of a row: all that `decide` is told of the world.
#
# A lane turns an answer, or the lack of one, into one of these values. Nothing here is believed
# further than it says: a service's word for a state is a word, a signed address is proof that a
# video can be fetched.


@dataclass(frozen=True, slots=True)
class Resumed:
    """Nothing new: the row is taken up from the ledger."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The service has the video; `poll_after` is its hint in seconds."""

    video_id: str
    poll_after: float | None = None


@dataclass(frozen=True, slots=True)
class RefusedAs:
    """A definite no to a create: this call made nothing.

    `of_key` says that the service holds the key for another body.
    """

    status: int | None
    words: str
    of_key: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """The create left, its outcome is not known: only the same bytes may follow."""

    words: str


@dataclass(frozen=True, slots=True)
class NothingFound:
    """What a call of unknown outcome made is not in the service's list, or not for certain.

    `candidates` are new videos of which one may be it; `sent_to` is the other service that was
    called.
    """

    candidates: tuple[str, ...] = ()
    sent_to: str | None = None


@dataclass(frozen=True, slots=True)
class NotMade:
    """A call without a key was proved not to have been executed: it may be sent again.

    `until` is a moment before which no request may be made.
    """

    words: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Nothing was sent: calls without a key are unsettled, one of them open `since` that moment.

    Without `since` there are too many whose outcome no one knows.
    """

    words: str
    since: float | None


@dataclass(frozen=True, slots=True)
class NeverSent:
    """The request never left."""

    words: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The organisation's gate is closed: no request before `until`."""

    until: datetime
    words: str


@dataclass(frozen=True, slots=True)
class AccessDenied:
    """The key is refused (401) or lacks a scope (403)."""

    words: str


@dataclass(frozen=True, slots=True)
class Polled:
    """The service's word for the video; `downloadable` is False after a 409, None if not asked."""

    status: str | None
    poll_after: float | None = None
    charged: Decimal | None = None
    downloadable: bool | None = None


@dataclass(frozen=True, slots=True)
class Released:
    """The service cancelled the render; `charged` is what it says to have kept, if anything."""

    charged: Decimal | None = None


@dataclass(frozen=True, slots=True)
class NotCancelled:
    """Not cancelled, or not known to be: 409 where no render is running, so look for its video."""

    words: str


@dataclass(frozen=True, slots=True)
class Missing:
    """404: the service does not know the video."""


@dataclass(frozen=True, slots=True)
class Troubled:
    """A read did not succeed this time."""

    words: str


@dataclass(frozen=True, slots=True)
class VideoReady:
    """The service handed out an address for the video, which is kept out of every text."""

    address: str = field(repr=False)
    charged: Decimal | None = None


@dataclass(frozen=True, slots=True)
class FilesStored:
    """The files in the store, verified; `late` are caption formats that are not there yet.

    `findings` is what a look at them told, if one was taken.
    """

    files: tuple[Delivered, ...]
    late: tuple[str, ...] = ()
    findings: VideoFindings | None = None


@dataclass(frozen=True, slots=True)
class NotStored:
    """A delivery did not succeed; `permanent` when trying again at once cannot help.

    `corrupt` says that every byte came, and that they are no video that plays. `blocks` says why no
    other video could be delivered either: known now, or with `in_the_end` once trying again has
    not helped.
    """

    words: str
    permanent: bool
    corrupt: bool = False
    blocks: str | None = None
    in_the_end: bool = False


Observation = (
    Resumed
    | Accepted
    | RefusedAs
    | Unknown
    | NothingFound
    | NotMade
    | Busy
    | NeverSent
    | Closed
    | AccessDenied
    | Polled
    | Released
    | NotCancelled
    | Missing
    | Troubled
    | VideoReady
    | FilesStored
    | NotStored
)
