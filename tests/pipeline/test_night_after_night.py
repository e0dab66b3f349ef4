"""Nights one after the other, with a clock that is moved: what each makes, costs and says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from callsheet.flows.nightly_run import hold_night
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import nights_of
from callsheet.tasks.nights.inboxes import read_nights
from callsheet.tasks.nights.reports import NightReport
from callsheet.tasks.runtime.settings import load_settings
from tests.programs import Desk, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

TOML = """\
[inbox.{name}]
place = "sheets"
cron = "{cron}"
timezone = "Europe/Berlin"
approval = "auto"
per_night = {credits}
per_sheet = 60
"""
TWO, HALF_PAST = "0 2 * * *", "30 2 * * *"


def moment(words: str) -> float:
    """Return a moment that is written in UTC."""
    return datetime.fromisoformat(words).replace(tzinfo=UTC).timestamp()


class Nights:
    """An inbox whose nights come when a test says so."""

    def __init__(self, desk: Desk, name: str) -> None:
        self.name = name
        self.folder = desk.folder
        self.settings = load_settings(environ=desk.environ, folder=desk.folder)
        (self.folder / "sheets").mkdir()
        self.plan(TWO)

    def plan(self, cron: str, credits: int = 100) -> None:
        text = TOML.format(name=self.name, cron=cron, credits=credits)
        (self.folder / "nights.toml").write_text(text)

    def drop(self, name: str, text: str) -> None:
        """Put a sheet into the inbox."""
        (self.folder / "sheets" / f"{self.name}-{name}.csv").write_text(text)

    async def at(self, begins: str, **how: Any) -> NightReport:
        """Hold the night that begins at a moment (UTC)."""
        now = moment(begins)
        (inbox,) = read_nights(self.folder / "nights.toml")
        # Files have the times of this machine: by the clock of another year none is whole.
        return await hold_night(inbox, self.settings, clock=lambda: now, still=-1e9, **how)

    def outcomes(self, report: NightReport) -> dict[str, tuple[str, int]]:
        """Return what became of each sheet, and what that cost."""
        return {
            Path(one.sheet).stem.removeprefix(f"{self.name}-"): (one.outcome, int(one.charged))
            for one in report.sheets
        }


@pytest.fixture
def nights(desk: Desk, name: str) -> Nights:
    return Nights(desk, name)


async def test_the_next_night_makes_what_changed_and_the_one_after_nothing(
    nights: Nights, service: Sandbox
) -> None:
    nights.drop("good", simple_sheet(2))
    nights.drop("changed", simple_sheet(1, title="Before"))
    nights.drop("unchanged", simple_sheet(1, title="Same"))
    nights.drop("broken", simple_sheet(1).replace("9:16", "9:61"))
    nights.drop("dear", simple_sheet(5, title="Dear"))

    first = await nights.at("2027-01-11 01:00:05")

    assert (first.night, first.zone, first.exit_status) == ("2027-01-11", "Europe/Berlin", 2)
    assert nights.outcomes(first) == {
        "good": ("delivered", 30),
        "changed": ("delivered", 15),
        "unchanged": ("delivered", 15),
        "broken": ("invalid", 0),
        "dear": ("not-approved", 0),
    }
    nights.drop("changed", simple_sheet(1, title="Before").replace("Kettle 1", "Kettle one"))
    nights.drop("broken", simple_sheet(1, title="Mended"))
    nights.drop("dear", simple_sheet(4, title="Dear"))

    second = await nights.at("2027-01-12 01:00:05")

    assert second.night == "2027-01-12"
    assert nights.outcomes(second) == {
        "good": ("unchanged", 0),
        "changed": ("delivered", 15),
        "unchanged": ("unchanged", 0),
        "broken": ("delivered", 15),
        "dear": ("delivered", 60),
    }
    creates = service.calls()["create"]

    third = await nights.at("2027-01-13 01:00:05")

    assert (third.night, third.exit_status, third.charged) == ("2027-01-13", 0, 0)
    assert {outcome for outcome, _ in nights.outcomes(third).values()} == {"unchanged"}
    assert service.calls()["create"] == creates


async def test_what_a_night_may_approve_is_not_more_when_clocks_go_back(nights: Nights) -> None:
    nights.plan(HALF_PAST, credits=45)
    nights.drop("a", simple_sheet(2, title="A"))
    # 02:30 is there twice in Berlin, and a scheduler may start both.
    first = await nights.at("2027-10-31 00:30:01")
    nights.drop("b", simple_sheet(2, title="B"))
    second = await nights.at("2027-10-31 01:30:01")

    assert (first.night, second.night) == ("2027-10-31", "2027-10-31")
    assert nights.outcomes(first) == {"a": ("delivered", 30)}
    assert nights.outcomes(second) == {"a": ("unchanged", 0), "b": ("not-approved", 0)}
    # The next one is a night of its own.
    third = await nights.at("2027-11-01 01:30:01")
    assert (third.night, nights.outcomes(third)["b"]) == ("2027-11-01", ("delivered", 30))


async def test_a_night_that_clocks_leave_out_begins_when_they_go_on(nights: Nights) -> None:
    nights.plan(HALF_PAST)
    before = await nights.at("2027-03-28 00:59:59")
    # Whether a scheduler takes it for half past one (UTC) or for the first moment there is.
    began = await nights.at("2027-03-28 01:00:01")
    due = datetime.fromisoformat("2027-03-28 00:30").replace(tzinfo=UTC) + timedelta(hours=1)
    again = await nights.at("2027-03-28 01:30:01", due=due.timestamp())

    assert [one.night for one in (before, began, again)] == [
        "2027-03-27",
        "2027-03-28",
        "2027-03-28",
    ]


async def test_runs_started_by_hand_share_what_the_scheduled_night_may_approve(
    nights: Nights,
) -> None:
    """By Prefect's Run button, and typed: of an inbox that is due on Mondays."""
    nights.plan("0 2 * * MON", credits=45)
    nights.drop("a", simple_sheet(2, title="A"))
    monday = await nights.at("2027-01-11 01:00:05")
    nights.drop("b", simple_sheet(2, title="B"))
    by_hand = [
        await nights.at(f"2027-01-{day} 10:00:00", due=due)
        for day, due in ((11, None), (12, moment("2027-01-12 10:00:00")), (17, None))
    ]
    next_monday = await nights.at("2027-01-18 01:00:05", due=moment("2027-01-18 01:00:00"))

    assert nights.outcomes(monday) == {"a": ("delivered", 30)}
    assert {one.night for one in by_hand} == {"2027-01-11"}
    assert [nights.outcomes(one)["b"] for one in by_hand] == [("not-approved", 0)] * 3
    assert next_monday.night == "2027-01-18"
    assert nights.outcomes(next_monday)["b"] == ("delivered", 30)


async def test_missed_nights_leave_no_trace_and_a_late_one_is_the_latest(nights: Nights) -> None:
    await nights.at("2027-02-01 01:00:01")
    # The machine was off; what was due on the third begins on the fifth, before its night.
    late = await nights.at(
        "2027-02-05 00:10:00", due=datetime(2027, 2, 3, 1, tzinfo=UTC).timestamp()
    )

    assert late.night == "2027-02-04"
    async with await open_ledger(nights.settings.ledger, create=False) as ledger:
        found = await ledger.read(lambda connection: nights_of(connection, nights.name, limit=9))
    assert [one.date for one in found] == ["2027-02-04", "2027-02-01"]
