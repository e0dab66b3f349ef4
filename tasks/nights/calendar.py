"""Finds the date of a nightly run. A night lasts from its scheduled time until the next one.

Its name is its date in the time zone of the schedule, so that a scan that starts late, twice or in
the repeated hour of a clock change belongs to the same night. Times are Unix seconds.
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

from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.values.amounts import parse_duration

#: More seconds than any clock change; searches start this much earlier or later.
_SET_BACK = 4 * 3600.0
#: How far the clock of a scheduler may be ahead of this machine's, in seconds.
_AHEAD = 600.0
#: Schedule names of cron.
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
    """A night: its date in the time zone of the schedule (2026-11-22), and when it was due.

    `since` is the start of that night.
    """

    date: str
    zone: str
    since: float
    due_at: float | None = None


def night_of(
    at: float, *, cron: str | None, timezone: str | None, due: float | None = None
) -> Night:
    """Return the night of a time; without a schedule that is its date.

    `due` is the time that a scheduler intended: its clock may be ahead, or it may handle clock
    changes differently. It counts only if it is in the schedule: a run that a person starts belongs
    to the night before it. Raise ConfigurationError for an invalid schedule or time zone.
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
    """Return the start of a date in a time zone."""
    return datetime.combine(day, time(), zone).timestamp()


def read_moment(text: str, *, zone: tzinfo, at: float) -> float:
    """Return the end of a pause: the start of a date in a zone, a time, or a duration (`3d`).

    Raise BadInput for anything else and for times in the past.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            return at + parse_duration(text)
        except BadInput:
            raise BadInput(
                f'"{text}" is neither a date nor a duration; nothing was changed',
                remedy="write it like 2027-01-03, 2027-01-03T18:00 or 3d",
            ) from None
    moment = (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    if moment <= at:
        raise BadInput(f"{text} has passed: there is nothing to pause until then")
    return moment


def _wall_time(due: float, cron: str, zone: tzinfo) -> datetime | None:
    """Return the scheduled local time of a moment, or None if the schedule has no such time.

    Around a clock change it may be the time before or after the change.
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
    """Return when a schedule was last due at or before a time; None for never."""
    start = datetime.fromtimestamp(at + _SET_BACK, read_zone(timezone))
    found = (moment.timestamp() for moment in _moments(cron, start, back=True))
    return next((moment for moment in found if moment <= at), None)


def next_due(at: float, *, cron: str, timezone: str | None) -> float | None:
    """Return when a schedule is next due after a time; None for never."""
    start = datetime.fromtimestamp(at - _SET_BACK, read_zone(timezone))
    found = (moment.timestamp() for moment in _moments(cron, start))
    return next((moment for moment in found if moment > at), None)


def check_schedule(cron: str, timezone: str | None) -> None:
    """Raise ConfigurationError for a schedule that is invalid, never due, or in no known zone."""
    if next_due(datetime.now(UTC).timestamp(), cron=cron, timezone=timezone) is None:
        raise ConfigurationError(f'the schedule "{cron}" never comes', remedy=_HOW)


def say_schedule(cron: str) -> str:
    """Return a schedule in words: `At 02:00 every day`."""
    return CronSim(five_fields(cron), datetime.now(UTC)).explain()


def five_fields(cron: str) -> str:
    """Return a schedule as five fields, with cron names (`@daily`) resolved.

    Refuse what only some schedulers support (seconds, `L`, `#`): the days would differ.
    """
    fields = _NAMED.get(cron.strip().lower(), cron).upper().split()
    if len(fields) != 5 or not all(map(_FIELD.fullmatch, fields)):
        raise ConfigurationError(f'"{cron}" is not a schedule', remedy=_HOW)
    return " ".join(fields)


def read_zone(name: str | None, *, environ: Mapping[str, str] = os.environ) -> tzinfo:
    """Return a time zone by name, or the machine's; raise ConfigurationError if unknown."""
    if name is None:
        return _own_zone(environ)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(
            f'there is no time zone "{name}"', remedy="write it like Europe/Berlin, or UTC"
        ) from None


def name_of(zone: tzinfo) -> str:
    """Return the name of a time zone for schedulers; `local` if it has none."""
    return zone.key if isinstance(zone, ZoneInfo) else "local"


def _own_zone(environ: Mapping[str, str]) -> tzinfo:
    """Return the time zone of this machine; its current offset if it has no name."""
    named = environ.get("TZ", "").removeprefix(":")
    # Usually a link to the file of a zone in a folder named zoneinfo.
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
        yield Path("/etc/timezone").read_text("utf-8").strip()
    except OSError:
        return


def _moments(cron: str, start: datetime, *, back: bool = False) -> Iterator[datetime]:
    """Yield when a schedule is due.

    As in cron: a time that a clock change skips comes right after it, and a repeated time comes
    once. A schedule of every hour or more follows elapsed hours.
    """
    try:
        yield from CronSim(five_fields(cron), start, reverse=back)
    except CronSimError:
        raise ConfigurationError(f'"{cron}" is not a schedule', remedy=_HOW) from None
