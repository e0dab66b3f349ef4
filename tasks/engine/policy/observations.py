"""What can be observed of a row: all that `decide` is told of the world.

A lane turns an answer, or the lack of one, into one of these values. Nothing here is believed
further than it says: a service's word for a state is a word, a signed address is proof that a
video can be fetched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.video_findings import VideoFindings


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

    `candidates` are new videos of which one may be it.
    """

    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unmade:
    """A call without a key was proved not to have been carried out: it may be sent again.

    `until` is a moment before which no request may be made.
    """

    words: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Nothing was sent: calls without a key are unsettled, one of them open `since` that moment.

    Without `since` there are too many whose outcome nobody knows.
    """

    words: str
    since: float | None


@dataclass(frozen=True, slots=True)
class Unreached:
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

    `corrupt` says that every byte came, and that they are no video that plays.
    """

    words: str
    permanent: bool
    corrupt: bool = False


Observation = (
    Resumed
    | Accepted
    | RefusedAs
    | Unknown
    | NothingFound
    | Unmade
    | Busy
    | Unreached
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
