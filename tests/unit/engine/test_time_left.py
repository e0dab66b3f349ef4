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


LENGTHS = ((1, 60.0), (1, 90.0), (2, 120.0), (2, 190.0))
KNOWN = [("create", Decimal(price), length) for price, length in LENGTHS]
#: How long renders take, how far apart they begin, how many are under way, and what took how long.
RUNS: list[tuple[Length, float, int, list[tuple[str, Decimal, float]]]] = [
    (even, 0.3, ROWS, []),
    (even, 2.0, ROWS, []),
    (even, 0.03, 8, []),
    (long_and_short, 0.03, 8, []),
    # A service that has changed is judged by what it does now.
    (even, 0.03, ROWS, [("create", Decimal(1), 5000.0)]),
    # What renders took before tells of those that none has ended of.
    (long_and_short, 0.03, ROWS, KNOWN),
]


@pytest.mark.parametrize("part", [0.25, 0.5])
@pytest.mark.parametrize(("length", "apart", "at_once", "before"), RUNS)
def test_the_time_left_is_right_within_a_quarter(length, apart, at_once, before, part) -> None:
    runs = [renders(length, apart, at_once, seed=seed) for seed in SEEDS]
    assert median(wrong_by(run, part, TimeLeft(0.0, before)) for run in runs) <= 0.25
