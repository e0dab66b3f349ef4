"""Which night it is, and when the next one is: also when clocks are set forward and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from prefect.server.schemas.schedules import CronSchedule

from callsheet.tasks.nights import calendar
from callsheet.tasks.runtime.errors import ConfigurationError

BERLIN, AUCKLAND, YORK = "Europe/Berlin", "Pacific/Auckland", "America/New_York"
TWO, HALF_PAST = "0 2 * * *", "30 2 * * *"


def utc(words: str) -> float:
    """Return a moment that is written in UTC."""
    return datetime.fromisoformat(words).replace(tzinfo=UTC).timestamp()


def said(at: float | None) -> str | None:
    """Return a moment in UTC, as the tables have it."""
    return None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


#: A schedule and its zone, a moment (UTC), the date of its night, when that and the next are due.
NIGHTS = [
    # A night lasts until the next one.
    (TWO, BERLIN, "2026-11-22 01:00", "2026-11-22", "2026-11-22 01:00", "2026-11-23 01:00"),
    (TWO, BERLIN, "2026-11-23 00:59", "2026-11-22", "2026-11-22 01:00", "2026-11-23 01:00"),
    # It has the date of its schedule's zone, not of UTC or of whoever asks.
    ("0 22 * * *", BERLIN, "2026-11-23 03:00", "2026-11-22",
     "2026-11-22 21:00", "2026-11-23 21:00"),
    ("0 23 * * *", YORK, "2026-11-23 05:00", "2026-11-22", "2026-11-23 04:00", "2026-11-24 04:00"),
    ("@daily", "UTC", "2026-11-22 17:00", "2026-11-22", "2026-11-22 00:00", "2026-11-23 00:00"),
    # Clocks go forward, from 02:00 to 03:00: what is meant for between comes at three, once.
    (HALF_PAST, BERLIN, "2026-03-29 00:59", "2026-03-28", "2026-03-28 01:30", "2026-03-29 01:00"),
    (HALF_PAST, BERLIN, "2026-03-29 01:00", "2026-03-29", "2026-03-29 01:00", "2026-03-30 00:30"),
    # Clocks go back, from 03:00 to 02:00: what is meant for an hour that is there twice comes once.
    (HALF_PAST, BERLIN, "2026-10-25 00:29", "2026-10-24", "2026-10-24 00:30", "2026-10-25 00:30"),
    (HALF_PAST, BERLIN, "2026-10-25 00:30", "2026-10-25", "2026-10-25 00:30", "2026-10-26 01:30"),
    (HALF_PAST, BERLIN, "2026-10-25 01:40", "2026-10-25", "2026-10-25 00:30", "2026-10-26 01:30"),
    ("30 2 * * *", AUCKLAND, "2026-04-04 14:00", "2026-04-05",
     "2026-04-04 13:30", "2026-04-05 14:30"),
    # Every hour means every hour that passes, in these nights too.
    ("0 * * * *", BERLIN, "2026-10-25 01:20", "2026-10-25", "2026-10-25 01:00", "2026-10-25 02:00"),
    # Once a week: until the next one it is that night.
    ("0 2 * * MON", BERLIN, "2026-11-22 17:00", "2026-11-16",
     "2026-11-16 01:00", "2026-11-23 01:00"),
]  # fmt: skip


@pytest.mark.parametrize(("cron", "zone", "at", "date", "begun", "then"), NIGHTS)
def test_a_night_lasts_until_the_next_and_has_its_date_in_the_zone(
    cron: str, zone: str, at: str, date: str, begun: str, then: str
) -> None:
    night = calendar.night_of(utc(at), cron=cron, timezone=zone)

    assert (night.date, night.zone, said(night.due_at)) == (date, zone, begun)
    found = calendar.next_due(utc(at), cron=cron, timezone=zone)
    assert said(found) == then
    assert calendar.last_due(found, cron=cron, timezone=zone) == found


#: What a scheduler meant (UTC), when the sweep begins, and the date of its night.
DUE = [
    # Its clock is ahead of ours.
    (TWO, "2026-11-23 01:00", "2026-11-23 00:58", "2026-11-23"),
    # It is so by more than clocks are: a night does not spend what the next one may.
    (TWO, "2026-11-23 01:00", "2026-11-23 00:45", "2026-11-22"),
    # It sees a change of clocks otherwise than we do.
    (HALF_PAST, "2026-03-29 00:30", "2026-03-29 00:31", "2026-03-29"),
    # By a day late, with no newer run: it is tonight's.
    (TWO, "2026-11-21 01:00", "2026-11-22 09:00", "2026-11-22"),
    # A person started it: it belongs to the night before, however long ago that was due.
    (TWO, "2026-11-22 17:00", "2026-11-22 17:00", "2026-11-22"),
    ("0 2 * * MON", "2026-11-26 17:00", "2026-11-26 17:00", "2026-11-23"),
    ("0 22 * * *", "2026-11-22 23:30", "2026-11-22 23:30", "2026-11-22"),
    (HALF_PAST, "2026-03-29 00:31", "2026-03-29 00:31", "2026-03-28"),
    (HALF_PAST, "2026-10-25 01:10", "2026-10-25 01:10", "2026-10-25"),
    # The scheduler has another schedule than the inbox.
    ("0 2 * * MON", "2026-11-26 01:00", "2026-11-26 01:00", "2026-11-23"),
    # A scheduler starts what is there twice a second time.
    (HALF_PAST, "2026-10-25 01:30", "2026-10-25 01:30", "2026-10-25"),
    (None, "2026-11-22 23:30", "2026-11-22 23:30", "2026-11-23"),
]


@pytest.mark.safeguard(
    "tasks/nights/calendar.py",
    "(begun, named) if meant is None else (due, meant)",
    "(due, datetime.fromtimestamp(due, zone))",
)
@pytest.mark.parametrize(("cron", "due", "at", "date"), DUE)
def test_what_a_scheduler_meant_counts_where_it_is_later(cron, due, at, date):
    assert calendar.night_of(utc(at), cron=cron, timezone=BERLIN, due=utc(due)).date == date


@pytest.mark.parametrize(
    ("cron", "zone"),
    [(TWO, BERLIN), (HALF_PAST, BERLIN), ("30 2 * * SUN", BERLIN), ("15 0 * * *", "America/Havana"),
     (HALF_PAST, "Australia/Lord_Howe"), ("45 23 * * *", YORK)],
)  # fmt: skip
async def test_every_run_that_prefect_schedules_is_a_night_and_no_other_run_is(cron, zone):
    """Over a year with both changes of clocks, as Prefect's own schedule has them."""
    schedule = CronSchedule(cron=cron, timezone=zone)
    weekly = cron.endswith("SUN")
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    due = [one.timestamp() for one in await schedule.get_dates(52 if weekly else 365, start)]
    dates = [calendar.night_of(one + 5, cron=cron, timezone=zone, due=one).date for one in due]

    first, step = date.fromisoformat(dates[0]), timedelta(days=7 if weekly else 1)
    assert dates == [str(first + step * number) for number in range(len(dates))]
    for one, night in zip(due, dates, strict=True):
        for hours in (1.01, 10.5, 20.3):
            by_hand = one + hours * 3600
            assert calendar.night_of(by_hand, cron=cron, timezone=zone, due=by_hand).date == night


NO_SCHEDULES = ("2 o'clock", "0 2 * *", "0 0 2 * * *", "0 25 * * *", "0 2 L * *", "0 2 31 2 *")


def test_what_is_no_schedule_or_zone_is_refused() -> None:
    for cron in NO_SCHEDULES:
        with pytest.raises(ConfigurationError, match="is not a schedule"):
            calendar.check_schedule(cron, None)
    for zone in ("Mars/Olympus", "../../etc/passwd", ""):
        with pytest.raises(ConfigurationError, match="no time zone"):
            calendar.read_zone(zone)
    with pytest.raises(ConfigurationError, match="no time zone"):
        calendar.check_schedule("0 2 30 2 MON,TUE", "Mars/Olympus")


def test_a_schedule_may_be_a_name_of_crons() -> None:
    calendar.check_schedule("@daily", BERLIN)
    assert calendar.five_fields(" @Weekly ") == "0 0 * * 0"
    assert calendar.five_fields("*/5 8-18 * jan-mar mon-fri") == "*/5 8-18 * JAN-MAR MON-FRI"


def test_without_a_zone_it_is_the_machines() -> None:
    assert calendar.name_of(calendar.read_zone(None, environ={"TZ": AUCKLAND})) == AUCKLAND
    assert calendar.name_of(calendar.read_zone(None, environ={"TZ": f":{BERLIN}"})) == BERLIN
    # Whatever this machine has, it has one.
    assert calendar.read_zone(None, environ={"TZ": "no such zone"})
