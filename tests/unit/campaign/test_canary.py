"""Which rows wait for the first video of their kind or for the wave before, and when they go."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import Canary, Plan, PlanLine
from callsheet.tasks.campaign.waits import (
    canaries_of,
    ends_of_waves,
    first_videos,
    hold_back,
    next_round,
    released,
    waiting_lines,
    wave_of,
)
from callsheet.tasks.runtime.errors import BadInput


def line(row: str, price: int | None = 10, *, kind: str = "k", **own: Any) -> PlanLine:
    said = {"action": "make", "state": "quoted", **own}
    priced = None if price is None else Decimal(price)
    return PlanLine(row=row, title=row, digest=row, priced=priced, kind=(kind,), **said)


def plan(*lines: PlanLine, canary: Canary = "yes") -> Plan:
    return Plan(campaign="c", sheet="c.csv", sheet_digest="1", lines=lines, canary=canary)


def made(row: str, verdict: str | None = None, **own: Any) -> PlanLine:
    said = {"action": "none", "state": "delivered", **own}
    return line(row, verdict=verdict, **said)


def waiting(found: Plan) -> dict[str, str]:
    return {one.row: canaries_of([one.why])[0] for one in waiting_lines(found)}


MADE: list[tuple[PlanLine, Canary, bool]] = [
    (made("a", "keep"), "yes", True),
    (made("a", "passed"), "yes", False),
    (made("a", "passed"), "auto", True),
    (made("a", "flagged"), "auto", False),
    (made("a", "keep"), "auto", True),
    (made("a", "reject"), "yes", False),
    (made("a", "reject"), "auto", False),
    (made("a", action="fetch", state="rendering"), "yes", False),
    (made("a", action="person", state="failed"), "auto", False),
    (made("a", action="person", state="uncertain"), "yes", False),
]


@pytest.mark.safeguard(
    "tasks/campaign/waits.py",
    'if canary == "auto" else ("keep",)',
    'if canary == "auto" else ("keep", "passed")',
)
@pytest.mark.safeguard("tasks/campaign/waits.py", "if started:", "if started and choose:")
@pytest.mark.parametrize(("first", "mode", "let_go"), MADE)
@pytest.mark.parametrize("choose", [True, False])
def test_the_others_wait_until_the_first_video_is_good(first, mode, let_go, choose):
    found = hold_back(plan(first, line("b"), line("c"), canary=mode), choose=choose)
    assert waiting(found) == ({} if let_go else {"b": "a", "c": "a"})


def test_the_cheapest_of_a_kind_is_made_first() -> None:
    lines = [line("a", 20), line("b", 10), line("c", 10), line("d", None), line("e", kind="other")]
    found = hold_back(plan(*lines), choose=True)
    assert waiting(found) == {"a": "b", "c": "b", "d": "b"}
    assert found.total == 20
    assert hold_back(plan(*lines), choose=False) == plan(*lines)
    assert hold_back(plan(*lines, canary="no"), choose=True) == plan(*lines, canary="no")


@pytest.mark.safeguard(
    "tasks/campaign/waits.py",
    'line.action in ("make", "retake") and line.state != "approved"',
    'line.action in ("make", "retake")',
)
def test_an_approved_row_never_waits_and_is_a_canary_already() -> None:
    approved = line("b", 9, state="approved")
    assert waiting(hold_back(plan(line("a", 1), approved), choose=True)) == {"a": "b"}
    assert waiting(hold_back(plan(made("a", "passed"), approved), choose=True)) == {}


ROWS = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 9)), min_size=1, max_size=20)


@given(ROWS)
def test_canaries_cover_every_kind_once_and_holding_back_again_changes_nothing(rows):
    whole = plan(*(line(f"r{n}", price, kind=kind) for n, (kind, price) in enumerate(rows)))
    found = hold_back(whole, choose=True)
    spent: dict[tuple[object, ...], list[PlanLine]] = defaultdict(list)
    for one in found.spending:
        spent[one.kind].append(one)
    assert {kind for (kind,) in spent} == {kind for kind, _ in rows}
    assert all(len(lines) == 1 for lines in spent.values())
    prices = {kind: min(price for k, price in rows if k == kind) for kind, _ in rows}
    assert {kind: lines[0].priced for (kind,), lines in spent.items()} == prices
    assert hold_back(found, choose=True) == found
    assert released(found).total == whole.total


TWO = ("10%", "50%")


def in_waves(*lines: PlanLine, waves: tuple[str, ...] = TWO, canary: Canary = "no") -> Plan:
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


BAD = ["10,50%", "0%", "110%", "50%,10%", "10%,10%", "some", "", ["10%", 50]]


@pytest.mark.parametrize("said", BAD)
def test_parts_that_cannot_be_meant_are_one_sentence(said: Any) -> None:
    with pytest.raises(BadInput, match=r"for waves .*write it like 10%,50%; nothing was spent"):
        RunOptions.of({"waves": said})


@pytest.mark.safeguard(
    "tasks/campaign/waits.py",
    "next((end for end in ends if good < end), None)",
    "next((end for end in ends if len(started) < end), None)",
)
def test_a_wave_waits_until_every_video_of_the_one_before_is_kept() -> None:
    first = hold_back(in_waves(*rows(10)), choose=True)
    assert [one.row for one in first.spending] == ["r0"]
    assert waves_of(first) == dict.fromkeys((f"r{n}" for n in range(1, 5)), 1) | dict.fromkeys(
        (f"r{n}" for n in range(5, 10)), 2
    )
    assert first_videos(one.why for one in waiting_lines(first)) == "the videos of wave 1"
    for verdict, starts in (("keep", 4), ("passed", 0), ("reject", 0), (None, 0)):
        lines = [made("r0", verdict, action="fetch"), *rows(10)[1:]]
        assert len(hold_back(in_waves(*lines), choose=True).spending) == starts


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
    found = hold_back(in_waves(*lines, waves=("20%",)), choose=choose)
    assert waves_of(found) == dict.fromkeys((f"r{n}" for n in range(8)), 1)


@given(st.integers(1, 400), st.sets(st.integers(1, 99), max_size=4))
def test_waves_part_the_rows(number: int, parts: set[int]) -> None:
    waves = tuple(f"{part}%" for part in sorted(parts))
    ends = ends_of_waves(waves, number)
    assert ends == sorted({end for end in ends if 0 < end < number})
    found = hold_back(in_waves(*rows(number), waves=waves), choose=True)
    sizes = [b - a for a, b in pairwise([0, *ends, number])]
    waiting = waves_of(found)
    assert len(found.spending) == sizes[0]
    assert [list(waiting.values()).count(n) for n in range(1, len(sizes))] == sizes[1:]
    assert hold_back(found, choose=True) == found
    assert released(found).total == in_waves(*rows(number)).total


def test_checks_release_wave_after_wave() -> None:
    first = hold_back(in_waves(*rows(10), canary="auto"), choose=True)
    assert [one.row for one in next_round(first, {"r0": "passed"})] == ["r1", "r2", "r3", "r4"]
    assert next_round(first, {"r0": "flagged"}) == next_round(first, {}) == []
