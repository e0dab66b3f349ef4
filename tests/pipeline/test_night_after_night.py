"""Nights one after the other, with a clock that is moved: what each makes, costs and says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from callsheet.flows.nightly_run import hold_night
from callsheet.tasks.ledger.nightly_runs import nights_of
from callsheet.tasks.nights.reports import NightReport
from tests.pipeline.nights import Nights, nights, said
from tests.programs import simple_sheet

pytestmark = pytest.mark.merge
__all__ = ["nights"]

TWO, HALF_PAST = "0 2 * * *", "30 2 * * *"


def moment(words: str) -> float:
    """Return a moment that is written in UTC."""
    return datetime.fromisoformat(words).replace(tzinfo=UTC).timestamp()


async def at(nights: Nights, begins: str, due: str | None = None) -> NightReport:
    """Hold the night that begins at a moment (UTC), and was due at another one."""
    terms: dict[str, Any] = {"cron": TWO, "timezone": "Europe/Berlin", "per_sheet": 60}
    inbox = nights.inbox(**{**terms, "per_night": 100, **nights.terms})
    # Files have the times of this machine: by the clock of another year none is whole.
    how = {"clock": lambda: moment(begins), "still": -1e9}
    return await hold_night(inbox, nights.settings, **how, due=due and moment(due))


def costs(report: NightReport) -> dict[str, tuple[str, int]]:
    """Return what became of each sheet, and what that cost."""
    charged = (int(one.charged) for one in report.sheets)
    return dict(zip(said(report), zip(said(report).values(), charged, strict=True), strict=True))


async def test_the_next_night_makes_what_changed_and_the_one_after_nothing(
    nights: Nights,
) -> None:
    nights.put("good", simple_sheet(2))
    nights.put("changed", simple_sheet(1, title="Before"))
    nights.put("broken", simple_sheet(1).replace("9:16", "9:61"))
    nights.put("dear", simple_sheet(5, title="Dear"))
    first = await at(nights, "2027-01-11 01:00:05")
    assert (first.night, first.zone, first.exit_status) == ("2027-01-11", "Europe/Berlin", 2)
    assert costs(first) == {
        "good": ("delivered", 30),
        "changed": ("delivered", 15),
        "broken": ("invalid", 0),
        "dear": ("not-approved", 0),
    }
    nights.put("changed", simple_sheet(1, title="Before").replace("Kettle 1", "Kettle one"))
    nights.put("broken", simple_sheet(1, title="Mended"))
    nights.put("dear", simple_sheet(4, title="Dear"))
    second = await at(nights, "2027-01-12 01:00:05")
    assert second.night == "2027-01-12"
    assert costs(second) == {
        "good": ("unchanged", 0),
        "changed": ("delivered", 15),
        "broken": ("delivered", 15),
        "dear": ("delivered", 60),
    }
    creates = nights.service.creates()
    third = await at(nights, "2027-01-13 01:00:05")
    assert (third.night, third.exit_status, third.charged) == ("2027-01-13", 0, 0)
    assert set(said(third).values()) == {"unchanged"}
    assert nights.service.creates() == creates


async def test_what_a_night_may_approve_is_not_more_when_clocks_go_back(nights: Nights) -> None:
    nights.terms = {"cron": HALF_PAST, "per_night": 45}
    nights.put("a", simple_sheet(2, title="A"))
    # 02:30 is there twice in Berlin, and a scheduler may start both.
    first = await at(nights, "2027-10-31 00:30:01")
    nights.put("b", simple_sheet(2, title="B"))
    second = await at(nights, "2027-10-31 01:30:01")
    assert (first.night, second.night) == ("2027-10-31", "2027-10-31")
    assert costs(first) == {"a": ("delivered", 30)}
    assert costs(second) == {"a": ("unchanged", 0), "b": ("not-approved", 0)}
    # The next one is a night of its own.
    third = await at(nights, "2027-11-01 01:30:01")
    assert (third.night, costs(third)["b"]) == ("2027-11-01", ("delivered", 30))


async def test_a_night_that_clocks_leave_out_begins_when_they_go_on(nights: Nights) -> None:
    nights.terms = {"cron": HALF_PAST}
    nights.path.mkdir()
    found = [
        await at(nights, "2027-03-28 00:59:59"),
        # Whether a scheduler takes it for half past one (UTC) or for the first moment there is.
        await at(nights, "2027-03-28 01:00:01"),
        await at(nights, "2027-03-28 01:30:01", due="2027-03-28 01:30:00"),
    ]
    assert [one.night for one in found] == ["2027-03-27", "2027-03-28", "2027-03-28"]


async def test_runs_started_by_hand_share_what_the_scheduled_night_may_approve(
    nights: Nights,
) -> None:
    """By Prefect's Run button, and typed: of an inbox that is due on Mondays."""
    nights.terms = {"cron": "0 2 * * MON", "per_night": 45}
    nights.put("a", simple_sheet(2, title="A"))
    monday = await at(nights, "2027-01-11 01:00:05")
    nights.put("b", simple_sheet(2, title="B"))
    by_hand = [
        await at(nights, f"2027-01-{day} 10:00:00", due=due)
        for day, due in ((11, None), (12, "2027-01-12 10:00:00"), (17, None))
    ]
    next_monday = await at(nights, "2027-01-18 01:00:05", due="2027-01-18 01:00:00")
    assert costs(monday) == {"a": ("delivered", 30)}
    assert {one.night for one in by_hand} == {"2027-01-11"}
    assert [costs(one)["b"] for one in by_hand] == [("not-approved", 0)] * 3
    assert (next_monday.night, costs(next_monday)["b"]) == ("2027-01-18", ("delivered", 30))


async def test_missed_nights_leave_no_trace_and_a_late_one_is_the_latest(nights: Nights) -> None:
    nights.path.mkdir()
    await at(nights, "2027-02-01 01:00:01")
    # The machine was off; what was due on the third begins on the fifth, before its night.
    late = await at(nights, "2027-02-05 00:10:00", due="2027-02-03 01:00:00")
    assert late.night == "2027-02-04"
    found = await nights.read(nights_of, inbox="spring", limit=9)
    assert [one.date for one in found] == ["2027-02-04", "2027-02-01"]
