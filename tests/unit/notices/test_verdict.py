"""The subject of a digest is the verdict of the night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from callsheet.tasks.nights.reports import SheetReport
from callsheet.tasks.notices.action_items import CampaignFigures, Contents, Matter, matters_of
from callsheet.tasks.notices.emails import subject_of
from tests.unit.notices.made_nights import ASIDE, BROKEN, DEAR, FAILED, MADE, night

SPRING = CampaignFigures(
    sheet="spring.csv",
    campaign="Spring",
    outcome="delivered",
    ready=42,
    total=42,
    charged=Decimal(126),
    budget=Decimal(200),
)
WAITS = replace(SPRING, outcome="needs-person", ready=41, needing=1)
SUMMER = replace(SPRING, sheet="summer.csv", campaign="Summer", ready=8, total=10, under_way=2)
IDLE = replace(SPRING, sheet="idle.csv", campaign="Idle", outcome="unchanged")
REFUSED = CampaignFigures(sheet="broken.csv", campaign=None, outcome="invalid")
UNAPPROVED = CampaignFigures(sheet="dear.csv", campaign="dear", outcome="not-approved", total=40)
SET_ASIDE = replace(REFUSED, outcome="set-aside")


def of(*sheets: SheetReport) -> tuple[Matter, ...]:
    """Return what is the matter with sheets."""
    return tuple(matters_of(night("2026-11-22", *sheets)))


SUBJECTS: list[tuple[Sequence[CampaignFigures], tuple[Matter, ...], str]] = [
    ([SPRING], (), "Spring: 42 of 42 videos ready, 126 of 200 credits"),
    ([WAITS, IDLE], of(FAILED),
     "Spring: 41 of 42 videos ready, 1 needs you, 126 of 200 credits"),
    ([SUMMER], (), "Summer: 8 of 10 videos ready, 2 under way, 126 of 200 credits"),
    ([replace(SUMMER, late=("r3 (by 2026-12-01)",))], (),
     "Summer: 8 of 10 videos ready, 2 under way, 1 late, 126 of 200 credits"),
    ([replace(SPRING, budget=None)], (), "Spring: 42 of 42 videos ready, 126 credits"),
    ([UNAPPROVED], of(DEAR), "dear: 40 videos for 120 credits wait for your approval"),
    ([REFUSED], of(BROKEN), "broken.csv: 1 problem, nothing was made"),
    ([SET_ASIDE], of(ASIDE), "broken.csv: set aside until the sheet changes"),
    ([IDLE], (), "Nothing to do: 1 campaign as it was"),
    ([IDLE, IDLE], (), "Nothing to do: 2 campaigns as they were"),
    ([], (), "Nothing to do: no sheets"),
    ([WAITS, SUMMER, UNAPPROVED, REFUSED], of(FAILED, DEAR, BROKEN),
     "4 campaigns: 49 of 92 videos ready, 1 needs you, 1 approval to give, 1 sheet to fix, "
     "12 credits in this run"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "matters", "subject"), SUBJECTS)
def test_the_subject_is_the_verdict(
    lines: Sequence[CampaignFigures], matters: tuple[Matter, ...], subject: str
) -> None:
    night = date(2026, 11, 22)
    contents = Contents(
        inbox="x", night=night, zone="UTC", lines=tuple(lines), matters=matters, charged=Decimal(12)
    )

    assert subject_of(contents) == subject


def test_what_lasts_stands_first_in_the_subject() -> None:
    before = [night(f"2026-11-{day}", FAILED) for day in (21, 20, 19)]
    matters = tuple(matters_of(night("2026-11-22", FAILED, MADE), before))
    contents = Contents(
        inbox="x", night=date(2026, 11, 22), zone="UTC", lines=(WAITS,), matters=matters[:1]
    )

    assert subject_of(contents).startswith("Waiting for 4 nights – Spring: 41 of 42 videos ready")
