"""Which night it is: a night begins at its scheduled moment and lasts until the next one does.

It is named by its date in the schedule's zone, so that whatever starts a sweep late, twice or in
the hour that a clock has twice, means the same night. Moments are Unix seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from callsheet.tasks.runtime.errors import ConfigurationError

#: Longer than any clock is set back, in seconds: a look back or ahead begins so much beside it.
_SET_BACK = 4 * 3600.0
#: How far a scheduler's clock may be ahead of ours, in seconds.
_AHEAD = 600.0
#: Names that cron knows.
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_TERM = r"(?:\*|(?:\d+|[A-Z]{3})(?:-(?:\d+|[A-Z]{3}))?)(?:/\d+)?"
_FIELD = re.compile(rf"{_TERM}(?:,{_TERM})*")
_HOW = 'write it as five fields (minute hour day month weekday), like "0 2 * * *"'


@dataclass(frozen=True, kw_only=True)
class Night:
    """A night: its date in the schedule's zone (2026-11-22), and when it was due, if scheduled.

    `since` is the first moment that belongs to a night of that date.
    """

    date: str
    zone: str
    since: float
    due_at: float | None = None


def night_of(
    at: float, *, cron: str | None, timezone: str | None, due: float | None = None
) -> Night:
    """Return the night that a moment belongs to; without a schedule that is its date.

    `due` is the moment that a scheduler meant: its clock may be ahead, and it may see a change of
    clocks otherwise. It counts where the schedule names it: a run that a person starts belongs to
    the night before it. Raises ConfigurationError for a schedule or a zone that there is not.
    """
    zone = read_zone(timezone)
    begun = None if cron is None else last_due(at, cron=cron, timezone=timezone)
    named = datetime.fromtimestamp(at if begun is None else begun, zone)
    if begun is not None and due is not None and begun < due <= at + _AHEAD:
        meant = _wall_time(due, cron or "", zone)
        begun, named = (begun, named) if meant is None else (due, meant)
    since = begins(named.date(), zone)
    if begun is not None:
        first = next_due(since - 1, cron=cron or "", timezone=timezone)
        since = min(begun, begun if first is None else first)
    return Night(date=f"{named:%Y-%m-%d}", zone=name_of(zone), since=since, due_at=begun)


def begins(day: date, zone: tzinfo) -> float:
    """Return the first moment of a date in a zone."""
    return datetime.combine(day, time(), zone).timestamp()


def _wall_time(due: float, cron: str, zone: tzinfo) -> datetime | None:
    """Return the time of a schedule that a moment is, as its clocks show it; None for none.

    Around a change of clocks it may be that time before the change, or after it.
    """
    moment = datetime.fromtimestamp(due, UTC)
    for beside in (-_SET_BACK, _SET_BACK):
        offset = datetime.fromtimestamp(due + beside, zone).utcoffset()
        assert offset is not None, "a zone has one at every moment"
        wall = moment.replace(tzinfo=None) + offset
        if next(_moments(cron, wall - timedelta(seconds=1)), None) == wall:
            return wall
    return None


def last_due(at: float, *, cron: str, timezone: str | None) -> float | None:
    """Return when a schedule was last due, at a moment or before; None for never."""
    start = datetime.fromtimestamp(at + _SET_BACK, read_zone(timezone))
    found = (moment.timestamp() for moment in _moments(cron, start, back=True))
    return next((moment for moment in found if moment <= at), None)


def next_due(at: float, *, cron: str, timezone: str | None) -> float | None:
    """Return when a schedule is due next, after a moment; None for never."""
    start = datetime.fromtimestamp(at - _SET_BACK, read_zone(timezone))
    found = (moment.timestamp() for moment in _moments(cron, start))
    return next((moment for moment in found if moment > at), None)


def check_schedule(cron: str, timezone: str | None) -> None:
    """Raise ConfigurationError for a schedule that is none, never comes, or has no such zone."""
    if next_due(datetime.now(UTC).timestamp(), cron=cron, timezone=timezone) is None:
        raise ConfigurationError(f'the schedule "{cron}" never comes', remedy=_HOW)


def five_fields(cron: str) -> str:
    """Return a schedule in its five fields, a name of cron's (`@daily`) resolved.

    What only some schedulers know (seconds, `L`, `#`) is refused: it would come on other days.
    """
    fields = _NAMED.get(cron.strip().lower(), cron).upper().split()
    if len(fields) != 5 or not all(map(_FIELD.fullmatch, fields)):
        raise ConfigurationError(f'"{cron}" is not a schedule', remedy=_HOW)
    return " ".join(fields)


def read_zone(name: str | None, *, environ: Mapping[str, str] = os.environ) -> tzinfo:
    """Return a zone by its name, without one that of this machine; ConfigurationError for none."""
    if name is None:
        return _own_zone(environ)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(
            f'there is no time zone "{name}"', remedy="write it like Europe/Berlin, or UTC"
        ) from None


def name_of(zone: tzinfo) -> str:
    """Return a zone's name, as schedulers take it; `local` where this machine's has none."""
    return zone.key if isinstance(zone, ZoneInfo) else "local"


def _own_zone(environ: Mapping[str, str]) -> tzinfo:
    """Return this machine's zone with its rules; where it has no name, with its present offset."""
    named = environ.get("TZ", "").removeprefix(":")
    # A link, mostly: to the file of a zone, below a folder called zoneinfo.
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    for name in (named, linked, *_written()):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None, "an aware moment has one"
    return ZoneInfo("UTC") if zone.utcoffset(None) == timedelta() else zone


def _written() -> Iterator[str]:
    try:
        yield Path("/etc/timezone").read_text().strip()
    except OSError:
        return


def _moments(cron: str, start: datetime, *, back: bool = False) -> Iterator[datetime]:
    """Yield when a schedule is due.

    As cron has it: a time that the clock leaves out comes when it goes on, one that it has twice
    comes once; what comes every hour or oftener goes by hours that pass.
    """
    try:
        yield from CronSim(five_fields(cron), start, reverse=back)
    except CronSimError:
        raise ConfigurationError(f'"{cron}" is not a schedule', remedy=_HOW) from None
