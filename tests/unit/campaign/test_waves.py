"""Which rows wait for the wave before theirs, and when they are let go."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.values import Canary, Plan, PlanLine
from callsheet.tasks.campaign.waits import (
    ends_of_waves,
    first_videos,
    hold_back,
    next_round,
    released,
    waiting_lines,
    wave_of,
)
from callsheet.tasks.runtime.errors import BadInput, SheetError
from callsheet.tasks.sheet.read import parse_sheet
from tests.unit.campaign.test_canary import line, made

ROWS = "rows:\n  - {id: a, script: Buy}\n  - {id: b, script: Kauf, language: de}\n"
TWO = ("10%", "50%")


def plan(*lines: PlanLine, waves: tuple[str, ...] = TWO, canary: Canary = "no") -> Plan:
    found = Plan(campaign="c", sheet="c.csv", sheet_digest="1", lines=lines, canary=canary)
    return replace(found, waves=waves)


def waves_of(found: Plan) -> dict[str, int | None]:
    return {one.row: wave_of(one.why) for one in waiting_lines(found)}


def rows(number: int, **own: Any) -> list[PlanLine]:
    return [line(f"r{n}", **own) for n in range(number)]


@pytest.mark.parametrize(
    ("said", "read"),
    [("10%,50%", TWO), (["10%", "50%"], TWO), ("12.50%", ("12.5%",)), ("10%, 100%", ("10%",)),
     ("no", ()), (False, ()), (("5%",), ("5%",))],
)  # fmt: skip
def test_parts_are_read_as_people_write_them(said: Any, read: tuple[str, ...]) -> None:
    options = RunOptions.of({"waves": said})
    assert options.waves == read
    assert RunOptions.of(options.kept()) == options


BAD = ["10,50%", "0%", "110%", "50%,10%", "10%,10%", "some", "-5%", "", "10%,", ["10%", 50]]


@pytest.mark.parametrize("said", BAD)
def test_parts_that_cannot_be_meant_are_one_sentence(said: Any) -> None:
    with pytest.raises(BadInput, match=r"for waves .*write it like 10%,50%; nothing was spent"):
        RunOptions.of({"waves": said})


def test_parts_of_a_sheet_that_cannot_be_meant_are_named_with_their_line() -> None:
    with pytest.raises(SheetError) as caught:
        parse_sheet(f"campaign: c\nwaves: [50%, 10%]\n{ROWS}".encode(), name="c.yaml")
    (one,) = caught.value.problems
    assert (one.line, one.cell, one.value) == (2, "waves", "50%, 10%")


@pytest.mark.parametrize(
    ("said", "typed", "read"),
    [("[10%, 50%]", None, TWO), ("10%", "no", ()), ("no", "5%", ("5%",)), ("", None, ())],
)
async def test_the_command_line_wins(said: str, typed: str | None, read: tuple[str, ...]) -> None:
    sheet = parse_sheet(f"waves: {said}\n{ROWS}".encode(), name="c.yaml")
    assert (await plan_sheet(None, sheet, RunOptions.of({"waves": typed}))).waves == read


def test_a_wave_waits_until_every_video_of_the_one_before_is_kept() -> None:
    first = hold_back(plan(*rows(10)), choose=True)
    assert [one.row for one in first.spending] == ["r0"]
    assert waves_of(first) == dict.fromkeys((f"r{n}" for n in range(1, 5)), 1) | dict.fromkeys(
        (f"r{n}" for n in range(5, 10)), 2
    )
    assert first_videos(one.why for one in waiting_lines(first)) == "the videos of wave 1"
    for verdict, starts in (("keep", 4), ("passed", 0), ("reject", 0), (None, 0)):
        lines = [made("r0", verdict, action="fetch"), *rows(10)[1:]]
        assert len(hold_back(plan(*lines), choose=True).spending) == starts


#: Rows that stop the next wave, since they are started and their videos are not good.
BLOCKING = [
    made("x", action="person", state="failed"),
    made("x", action="fetch", state="rendering"),
    made("x", "flagged"),
    line("x", state="approved"),
]


@pytest.mark.parametrize("other", BLOCKING)
@pytest.mark.parametrize("choose", [True, False])
def test_a_row_without_a_good_video_stops_the_next_wave(other: PlanLine, choose: bool) -> None:
    lines = [made("a", "keep"), other, *rows(8)]
    found = hold_back(plan(*lines, waves=("20%",)), choose=choose)
    assert waves_of(found) == dict.fromkeys((f"r{n}" for n in range(8)), 1)


def test_a_brief_that_the_service_refuses_leaves_its_place_to_the_next_row() -> None:
    refused = line("x", action="person", state="rejected")
    found = hold_back(plan(refused, *rows(9)), choose=True)
    assert [one.row for one in found.spending] == ["r0"]


def test_canaries_are_made_before_the_first_wave() -> None:
    lines = [*rows(9), line("z", 1, kind="other")]
    found = hold_back(plan(*lines, canary="yes"), choose=True)
    assert [one.row for one in found.spending] == ["r0", "z"]
    three = hold_back(plan(*lines, waves=("30%",), canary="yes"), choose=True)
    assert waves_of(three) == {"r1": None} | dict.fromkeys((f"r{n}" for n in range(2, 9)), 1)
    others = [made("b", "keep", kind="other"), *rows(9, kind="other")[2:8]]
    found = hold_back(
        plan(made("a", "reject"), *rows(2), *others, waves=("30%",), canary="yes"), choose=True
    )
    assert [one.row for one in found.spending] == ["r2"]
    kept = [made("r0", "keep"), *rows(9)[1:], made("z", "keep", kind="other")]
    after = hold_back(plan(*kept, canary="yes"), choose=True)
    assert [one.row for one in after.spending] == ["r1", "r2", "r3"]


def test_rows_that_waited_before_are_not_quoted_again() -> None:
    held = rows(10, state="held")[1:]
    found = hold_back(plan(made("r0", "keep"), *held), choose=False)
    assert [one.row for one in found.spending] == ["r1", "r2", "r3", "r4"]


@given(st.integers(1, 400), st.sets(st.integers(1, 99), max_size=4))
def test_waves_part_the_rows(number: int, parts: set[int]) -> None:
    waves = tuple(f"{part}%" for part in sorted(parts))
    ends = ends_of_waves(waves, number)
    assert ends == sorted({end for end in ends if 0 < end < number})
    found = hold_back(plan(*rows(number), waves=waves), choose=True)
    sizes = [b - a for a, b in pairwise([0, *ends, number])]
    waiting = waves_of(found)
    assert len(found.spending) == sizes[0]
    assert [list(waiting.values()).count(n) for n in range(1, len(sizes))] == sizes[1:]
    assert hold_back(found, choose=True) == found
    assert released(found).total == plan(*rows(number)).total


VERDICTS = st.sampled_from(["keep", "keep", "keep", "passed", "reject", None])


@pytest.mark.merge
@given(st.integers(1, 60), st.lists(VERDICTS, min_size=60, max_size=60), st.randoms())
def test_no_row_starts_beyond_a_wave_that_is_not_kept(
    number: int, verdicts: list[str | None], random: Random
) -> None:
    """Round for round, with the sheet sorted and rows added in between."""
    lines = rows(number)
    for extra in range(5):
        before = sum(one.verdict == "keep" for one in lines)
        found = hold_back(plan(*lines), choose=True)
        limit = next((e for e in ends_of_waves(TWO, len(lines)) if e > before), len(lines))
        started = len([one for one in lines if one.action == "none"])
        assert started + len(found.spending) <= max(limit, started)
        new = {one.row for one in found.spending}
        lines = [
            made(one.row, verdicts[int(one.row.strip("rx"))] or "unchecked")
            if one.row in new
            else one
            for one in lines
        ]
        random.shuffle(lines)
        lines.append(line(f"x{extra}"))


def test_checks_release_wave_after_wave() -> None:
    first = hold_back(plan(*rows(10), canary="auto"), choose=True)
    assert [one.row for one in next_round(first, {"r0": "passed"})] == ["r1", "r2", "r3", "r4"]
    assert next_round(first, {"r0": "flagged"}) == next_round(first, {}) == []
