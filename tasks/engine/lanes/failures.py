"""What the failure of a read tells: reading costs nothing, so every outcome may be asked again."""

from __future__ import annotations

from datetime import UTC, datetime

from callsheet.tasks.engine.policy.observations import (
    AccessDenied,
    Closed,
    Missing,
    Observation,
    Troubled,
    Unreached,
)
from callsheet.tasks.errors import (
    Forbidden,
    NotFound,
    NotSent,
    RateLimited,
    ServiceError,
    Unauthenticated,
)

#: A 429 that names no moment closes the gate for this long, in seconds.
UNNAMED_WAIT = 60.0


def observation_of(error: ServiceError, now: float) -> Observation:
    """Return what the failure of a read tells; `now` is in Unix seconds."""
    match error:
        case RateLimited():
            return closed(error, now)
        case Unauthenticated() | Forbidden():
            return AccessDenied(str(error))
        case NotFound():
            return Missing()
        case NotSent():
            return Unreached(str(error))
        case _:
            return Troubled(str(error))


def closed(error: RateLimited, now: float) -> Closed:
    """Return until when the gate is closed."""
    until = error.retry_at or datetime.fromtimestamp(now + UNNAMED_WAIT, UTC)
    return Closed(until, str(error))
