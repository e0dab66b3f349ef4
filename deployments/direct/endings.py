"""How a direct command ends when the service does not do as it is told.

A definite refusal is 2: nothing was spent. What a later moment may mend is 5, with the moment.
What may have been carried out, nobody knows, is 3: a person has to look.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tasks.engine.lanes.price import LATER
from tasks.errors import (
    BadInput,
    CallsheetError,
    ConfigurationError,
    NotSent,
    OutcomeUnknown,
    Parked,
    RateLimited,
    Refused,
    ServerTrouble,
    ServiceError,
    ShapeError,
    StoreError,
)
from tasks.service import OPERATIONS, Money

_BY_NAME = {operation.name: operation for operation in OPERATIONS}
#: What to do after an unknown outcome, where repeating costs nothing.
_REPEAT = {
    Money.KEYED: "run the same command again: it has the same key and is paid for once",
    Money.GENTLE: "look at what it was about, or run the same command again: it charges nothing",
}


class Unsettled(CallsheetError):
    """Nobody knows whether it was carried out; look before doing it again."""

    exit_status = 3


def ending(error: CallsheetError, now: float) -> CallsheetError:
    """Return what a failed call, download or write means to the person who asked for it."""
    if isinstance(error, ServiceError):
        return _of_the_service(error, now)
    if isinstance(error, StoreError) and error.permanent:
        return BadInput(str(error), remedy=error.remedy)
    # A film that is not whole, a disk that is full: the film itself is still there.
    words = str(error) if isinstance(error, StoreError) else f"{error}; nothing was written"
    return Parked(words, until=_moment(now + LATER), remedy=error.remedy)


def _of_the_service(error: ServiceError, now: float) -> CallsheetError:
    words = str(error).rstrip(".")
    if isinstance(error, OutcomeUnknown):
        return Unsettled(_doubtful(words), remedy=_after_unknown(error))
    free = f"{words}; nothing was spent"
    if isinstance(error, RateLimited | ServerTrouble | ShapeError) or _may_be_reached(error):
        return Parked(free, until=error.retry_at or _moment(now + LATER), remedy=error.remedy)
    kind = BadInput if isinstance(error, Refused) else ConfigurationError
    return kind(free, remedy=error.remedy)


def _doubtful(words: str) -> str:
    known = "may have been carried out"
    return words if known in words else f"{words}; it {known}"


def _may_be_reached(error: ServiceError) -> bool:
    return isinstance(error, NotSent) and not error.permanent


def _after_unknown(error: OutcomeUnknown) -> str | None:
    return _REPEAT.get(_BY_NAME[error.operation].money, error.remedy)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
