"""How right the time left is, against services that render in different ways."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import median

import pytest

from callsheet.tasks.engine.time_left import TimeLeft
from tests.campaigns import a_row

ROWS, SEEDS = 300, range(3)
Length = Callable[[random.Random, int], float]
#: A render: when it begins and ends, and what it costs.
Render = tuple[float, float, int]


def even(chance: random.Random, row: int) -> float:
    return 75 * chance.uniform(0.7, 1.3)


def long_and_short(chance: random.Random, row: int) -> float:
    return even(chance, row) * (1 + row % 2)


def renders(length: Length, apart: float, at_once: int = ROWS, *, seed: int) -> list[Render]:
    """The renders of a run, which begin apart from each other, so many at once at most."""
    chance, under_way, found = random.Random(seed), list[float](), list[Render]()
    for row in range(ROWS):
        begins = row * apart
        if len(under_way) == at_once:
            begins = max(begins, heapq.heappop(under_way))
        ends = begins + length(chance, row)
        heapq.heappush(under_way, ends)
        found.append((begins, ends, 1 + row % 2 if length is long_and_short else 1))
    return found


def wrong_by(found: Sequence[Render], part: float, left: TimeLeft) -> float:
    """By which part the estimate is wrong when so many of the rows are done."""
    moments = [(begins, "begins", row) for row, (begins, _, _) in enumerate(found)]
    moments += [(ends, "ends", row) for row, (_, ends, _) in enumerate(found)]
    done = 0
    for now, what, number in sorted(moments):
        row = a_row("rendering")
        assert row.take is not None
        row = replace(row, id=number, take=replace(row.take, quoted=Decimal(found[number][2])))
        getattr(left, what)(row, now)
        done += what == "ends"
        if done == part * ROWS:
            estimate = left.estimate(now, done=done, to_do=ROWS)
            assert estimate is not None
            return abs(estimate / (max(ends for _, ends, _ in found) - now) - 1)
    raise AssertionError(part)


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5])
@pytest.mark.parametrize(
    ("length", "apart", "at_once"),
    [
        (lambda *_: 60, 0.03, ROWS),
        (even, 0.03, ROWS),
        (even, 0.3, ROWS),
        (even, 2.0, ROWS),
        (lambda *_: 60, 0.03, 8),
        (even, 0.03, 8),
        (even, 0.03, 100),
        (long_and_short, 0.03, 8),
    ],
)
def test_the_time_left_is_right_within_a_quarter(
    length: Length, apart: float, at_once: int, part: float
) -> None:
    runs = [renders(length, apart, at_once, seed=seed) for seed in SEEDS]
    assert median(wrong_by(run, part, TimeLeft(0.0)) for run in runs) <= 0.25


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5])
def test_what_renders_took_before_tells_of_those_that_none_has_ended_of(part: float) -> None:
    lengths = [("create", Decimal(1), 60.0), ("create", Decimal(1), 90.0)]
    lengths += [("create", Decimal(2), 120.0), ("create", Decimal(2), 190.0)]
    found = renders(long_and_short, 0.03, seed=1)
    assert wrong_by(found, part, TimeLeft(0.0, lengths)) <= 0.25


@pytest.mark.parametrize("then", [5.0, 5000.0])
def test_a_service_that_has_changed_is_judged_by_what_it_does_now(then: float) -> None:
    left = TimeLeft(0.0, [("create", Decimal(1), then)])
    assert wrong_by(renders(even, 0.03, seed=1), 0.25, left) <= 0.25


def test_rows_on_hold_say_nothing_of_renders_of_which_none_has_ended() -> None:
    left = TimeLeft(0.0)
    left.begins(a_row("rendering"), 1.0)
    assert left.estimate(2.0, done=1, to_do=3) is None
