"""Reads `Retry-After` in both of its forms: a number of seconds, or an HTTP date."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: No moment further off than this is believed, in seconds. A slip of the other side would shut it
#: off for years; one that means it says so again, to a single request a day.
LONGEST = 86400.0


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return how many seconds the service asks us to wait, or None when it does not say.

    A date is compared with the answer's own `Date`, since our clock may be wrong.
    """
    told = headers.get("retry-after")
    if told is None:
        return None
    seconds = _number(told)
    if seconds is None:
        moment = _date(told)
        if moment is None:
            return None
        seconds = (moment - (_date(headers.get("date")) or now)).total_seconds()
    return min(max(0.0, seconds), LONGEST)


def _number(text: str) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        return None
    # nan and inf are read as numbers by float and are neither a date.
    return value if math.isfinite(value) else None


def _date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
