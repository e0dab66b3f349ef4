"""What of a night needs a person, and when the same is told again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from callsheet.tasks.nights.reports import NightReport, SheetReport
from callsheet.tasks.notices.action_items import About, about, is_worth, matters_of, steps
from tests.unit.notices.made_nights import (
    ASIDE,
    BROKEN,
    DEAR,
    FAILED,
    MADE,
    PARKED,
    UNCHANGED,
    night,
)

#: What a sheet came to -> what the matter is called, its button, and where that leads.
CALLED = [
    (FAILED, "1 video needs you", "https://board.example/c/spring/attention"),
    (DEAR, "40 videos for 120 credits wait for your approval", "https://board.example/plans/p1"),
    (BROKEN, "1 problem in broken.csv", None),
    (ASIDE, "broken.csv is set aside until it changes", None),
    # Nothing has changed, and yet it waits for somebody.
    (replace(FAILED, outcome="unchanged"), "1 video needs you",
     "https://board.example/c/spring/attention"),
]  # fmt: skip


@pytest.mark.parametrize(("sheet", "title", "link"), CALLED)
def test_a_matter_has_one_way_on(sheet: SheetReport, title: str, link: str | None) -> None:
    (found,) = matters_of(night("2026-11-22", sheet), board="https://board.example")

    assert (found.title, found.link) == (title, link)
    assert (found.button is None) == (link is None)
    assert (found.command is None) == (link is not None)


@pytest.mark.parametrize("sheet", [MADE, UNCHANGED, PARKED])
def test_what_goes_on_by_itself_is_no_matter_unless_it_is_parked_again(sheet: SheetReport) -> None:
    assert matters_of(night("2026-11-22", sheet)) == []
    found = matters_of(night("2026-11-22", sheet), [night("2026-11-21", sheet)])
    again = [("spring makes no progress", 2)] if sheet is PARKED else []
    assert [(one.title, one.nights) for one in found] == again


#: The nights before, the last first -> since when a failed video waits.
SINCE: list[tuple[Sequence[NightReport], str]] = [
    ([], "2026-11-22"),
    ([night("2026-11-21", FAILED), night("2026-11-20", FAILED)], "2026-11-20"),
    ([night("2026-11-21", MADE), night("2026-11-20", FAILED)], "2026-11-22"),
    # A night that was not swept is no night without it.
    ([replace(night("2026-11-21"), skipped="paused"), night("2026-11-20", FAILED)], "2026-11-20"),
    # Another video needs somebody: that is another matter.
    ([night("2026-11-21", replace(FAILED, needing=("a",)))], "2026-11-22"),
    ([night("2026-11-21", replace(FAILED, needing=("a", "b")))], "2026-11-21"),
]


@pytest.mark.parametrize(("before", "since"), SINCE)
def test_a_matter_lasts_since_the_first_night_in_a_row(before: Sequence[NightReport], since: str):
    (found,) = matters_of(night("2026-11-22", FAILED), before)

    assert found.since == since


def test_the_same_is_told_again_ever_more_rarely() -> None:
    told, reports = [], []
    last: About | None = None
    for day in range(1, 31):
        report = night(f"2026-11-{day:02}", FAILED)
        matters = matters_of(report, reports[::-1])
        now = about(report, matters)
        if is_worth(now, last, matters, quiet=True):
            told.append(day)
            last = About.read(now.as_text())
            assert last == now
        reports.append(report)

    assert told == [1, 3, 7, 14, 21, 28]
    assert [steps(nights) for nights in (1, 2, 3, 6, 7, 13, 14, 21)] == [0, 0, 1, 1, 2, 2, 3, 4]


#: What was told in the night before, what there is now, whether it is told to a quiet inbox, and
#: to one that wants to hear of every night.
WORTH: list[tuple[Sequence[SheetReport] | None, Sequence[SheetReport], bool, bool]] = [
    (None, [UNCHANGED], False, True),
    (None, [MADE], True, True),
    (None, [BROKEN], True, True),
    ([MADE], [MADE], True, True),
    ([FAILED], [FAILED], False, True),
    ([FAILED], [FAILED, BROKEN], True, True),
    # It was settled.
    ([FAILED], [UNCHANGED], True, True),
    # Set aside is said once, and it is no relief when it is not said again.
    ([ASIDE], [ASIDE], False, True),
    ([ASIDE], [], False, False),
    # A night that came to nothing has settled nothing.
    ([FAILED], [], False, False),
]


@pytest.mark.parametrize(("before", "now", "quiet", "always"), WORTH)
def test_a_night_is_told_when_there_is_news(before, now, quiet, always):
    then = night("2026-11-21", *before) if before is not None else None
    last = about(then, matters_of(then)) if then else None
    report = night("2026-11-22", *now)
    matters = matters_of(report, [then] if then else [])

    found = [is_worth(about(report, matters), last, matters, quiet=q) for q in (True, False)]

    assert found == [quiet, always]


def test_a_second_sweep_of_a_night_tells_what_is_new_in_it() -> None:
    first, more = night("2026-11-22", MADE), replace(MADE, delivered=("a", "b", "c"))
    last = about(first, [])
    second = night("2026-11-22", more)

    assert not is_worth(about(first, []), last, [], quiet=False)
    assert is_worth(about(second, []), last, [], quiet=True)
