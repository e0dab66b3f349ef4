"""Moments for people: in the zone of whoever reads, with UTC behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo


def say_moment(at: float | datetime | None, *, zone: tzinfo | None = None, up: bool = False) -> str:
    """Return a moment (Unix seconds, or aware) as `22 Nov 08:14 (07:14 UTC)`.

    `zone` is the reader's own, that of this machine unless given. A date is said again where it is
    another in UTC, and a year where it is not the present one. `up` rounds up to a whole minute:
    for moments that are to be waited for.
    """
    if at is None:
        return "-"
    utc = at.astimezone(UTC) if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    utc += timedelta(seconds=59) if up else timedelta()
    here = utc.astimezone(zone)
    day = f"{here.day} {here:%b}" + (
        "" if here.year == datetime.now(zone).year else f" {here.year}"
    )
    if not here.utcoffset():
        return f"{day} {here:%H:%M} UTC"
    behind = f"{utc:%H:%M}" if utc.date() == here.date() else f"{utc.day} {utc:%b %H:%M}"
    return f"{day} {here:%H:%M} ({behind} UTC)"
