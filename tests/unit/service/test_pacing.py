"""The rules of the pace of creates: how many at once, and how many a second."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from callsheet.tasks.service.rate_limits import (
    DOUBLING,
    FASTEST,
    RECOVERY,
    SLOWEST,
    Rate,
    Window,
    after_refusal,
    turns,
)


def sizes(window: Window, answers: Sequence[float]) -> list[float]:
    found = []
    for seconds in answers:
        window = window.answered(seconds)
        found.append(round(window.size, 2))
    return found


TROUBLED = Window(size=8.0, usual=0.1, recent=0.1, trouble=True)

WINDOWS: list[tuple[str, Window, list[float], list[float]]] = [
    ("it grows with every quick answer", Window(), [0.01] * 4, [3, 4, 5, 6]),
    ("slow is quick where it always was", Window(), [5.0] * 4, [3, 4, 5, 6]),
    ("ten times as long is still quick below a second", Window(), [0.05, 0.5, 0.5], [3, 4, 5]),
    ("after a trouble it grows by one a round", TROUBLED, [0.1] * 3, [8.12, 8.25, 8.37]),
    ("one slow answer is no trouble", Window(16.0, 0.5, 0.5), [6.0], [17]),
    ("answers that became slow halve it once, and what was under way is waited for",
     Window(4.0, 0.5, 0.5), [6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 0.5], [5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5]),
    ("it is never below one", Window(1.0, 0.1, 5.0, trouble=True), [5.0], [1]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("window", "answers", "found"),
    [case[1:] for case in WINDOWS],
    ids=[case[0] for case in WINDOWS],
)
def test_how_many_creates_are_under_way(
    window: Window, answers: list[float], found: list[float]
) -> None:
    assert sizes(window, answers) == found


def test_a_refusal_halves_the_window_and_silence_lets_one_more_go() -> None:
    halved = Window(size=16.0).halved()
    assert (halved.size, halved.held, halved.unanswered().size) == (8, 16, 9)


RATES = [
    # creates a second that were refused; seconds since requests may leave again; what may leave
    (20.0, -5.0, 10.0),
    (20.0, 0.0, 10.0),
    (20.0, RECOVERY / 2, 15.0),
    (20.0, RECOVERY, 20.0),
    (20.0, RECOVERY + DOUBLING, 40.0),
    (20.0, RECOVERY + 5 * DOUBLING, 640.0),
    (20.0, RECOVERY + 6 * DOUBLING, None),
    (20.0, 1e9, None),
    (FASTEST, RECOVERY, None),
    (0.01, 0.0, SLOWEST),
    (0.01, RECOVERY, SLOWEST),
    (0.01, RECOVERY + DOUBLING, 2 * SLOWEST),
]


@pytest.mark.parametrize(("refused", "gone", "allowed"), RATES)
def test_how_many_creates_a_second_may_leave(
    refused: float, gone: float, allowed: float | None
) -> None:
    assert Rate(refused, since=1000.0).at(1000.0 + gone) == allowed


def burst(count: int, *, end: float, seconds: float) -> list[float]:
    return [end - seconds * n / count for n in range(count)]


REFUSALS: list[tuple[str, Rate | None, list[float], float, float, Rate]] = [
    # what, rate before, accepted, left at, refused until (at 1000), rate after
    ("sixty in a moment, then a minute's pause: one a second",
     None, burst(60, end=1000.0, seconds=0.6), 1000.0, 1059.41, Rate(1.0, 1059.41)),
    ("two hundred a second, and a second's pause",
     None, burst(100, end=1000.0, seconds=0.5), 1000.0, 1001.0, Rate(66.9, 1001.0)),
    ("never above what was tried: the rate then was 15",
     Rate(20.0, 985.0), burst(900, end=1000.0, seconds=15.0), 1000.0, 1001.0, Rate(15.0, 1001.0)),
    ("what left before the last pause was over belongs to it",
     Rate(20.0, 990.0), burst(50, end=989.0, seconds=3.0), 989.5, 1003.0, Rate(20.0, 1003.0)),
    ("nothing was accepted", None, [], 1000.0, 1005.0, Rate(0.0, 1005.0)),
    ("what was accepted long ago says nothing", None, [900.0], 1000.0, 1005.0, Rate(0.0, 1005.0)),
    ("a moment that has passed is now", None, [], 1000.0, 990.0, Rate(0.0, 1000.0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "accepted", "sent", "until", "after"),
    [case[1:] for case in REFUSALS],
    ids=[case[0] for case in REFUSALS],
)
def test_what_a_refusal_teaches(
    before: Rate | None, accepted: list[float], sent: float, until: float, after: Rate
) -> None:
    found = after_refusal(before, accepted, sent=sent, now=1000.0, until=until)
    assert (round(found.refused, 1), found.since) == (after.refused, after.since)


def test_turns_are_as_far_apart_as_the_rate_says() -> None:
    assert turns(3, 4.0, begin=10.0) == ([10.0, 10.25, 10.5], 10.75)
    assert turns(0, 4.0, begin=10.0) == ([], 10.0)
