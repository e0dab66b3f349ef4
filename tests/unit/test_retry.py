"""The one way to try again: what it waits, when it ends, and what it leaves alone."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from callsheet.tasks.runtime.retry import RetryPolicy, retry, spread

SERVICE = RetryPolicy(attempts=3, seconds=60, first=0.5, longest=30.0)
STORE = RetryPolicy(attempts=5, first=0.25, longest=20.0, jitter=0.5)
LOGIN = RetryPolicy(attempts=3, first=1.0, factor=3.0, jitter=0.0)
EVENTS = RetryPolicy(first=1.0, longest=30.0, jitter=0.0)


class Tries:
    """Plays results one after another, the last for ever, and keeps what was slept between."""

    def __init__(self, *results):
        self.results = results
        self.made = 0
        self.slept = []

    async def attempt(self):
        self.made += 1
        result = self.results[min(self.made, len(self.results)) - 1]
        if isinstance(result, BaseException):
            raise result
        return result

    async def sleep(self, seconds):
        self.slept.append(seconds)

    async def run(self, policy, *, chance=1.0, **more):
        options = {"again": lambda result: result != "well", "sleep": self.sleep}
        return await retry(self.attempt, policy, random=lambda: chance, **options, **more)


@pytest.mark.parametrize(
    ("policy", "failures", "chance", "pauses"),
    [
        (SERVICE, (1, 2, 3, 7, 9), 1.0, [0.5, 1, 2, 30, 30]),
        (SERVICE, (5,), 0.0, [0]),
        (STORE, (1, 2, 9), 1.0, [0.25, 0.5, 20]),
        (STORE, (1, 9), 0.0, [0.125, 10]),
        (LOGIN, (1, 2), 0.7, [1, 3]),
        (EVENTS, (1, 6, 10_000), 0.3, [1, 30, 30]),
        (RetryPolicy(first=1.0), (3, 10_000), 1.0, [4, 2.0**64]),
    ],
)
def test_pauses_grow_to_a_ceiling_and_chance_takes_its_part(policy, failures, chance, pauses):
    assert [policy.pause(n, lambda: chance) for n in failures] == pauses


@pytest.mark.parametrize(
    ("policy", "results", "end", "slept"),
    [
        (SERVICE, ["well"], "well", []),
        (SERVICE, ["ill", "well"], "well", [0.5]),
        (SERVICE, ["ill", "worse", "gone"], "gone", [0.5, 1]),
        (STORE, ["ill"], "ill", [0.25, 0.5, 1, 2]),
        (LOGIN, ["ill"], "ill", [1, 3]),
        (EVENTS, ["ill"] * 7 + ["well"], "well", [1, 2, 4, 8, 16, 30, 30]),
    ],
)
async def test_it_ends_with_the_first_good_result_or_the_last_allowed(policy, results, end, slept):
    tries = Tries(*results)
    assert await tries.run(policy) == end
    assert (tries.slept, tries.made) == (slept, len(slept) + 1)


@pytest.mark.parametrize(
    ("asked", "chance", "slept"), [(7, 0.0, 7), (7, 1.0, 7.7), (0.1, 1.0, 0.5), (0, 0.0, 0)]
)
async def test_nothing_is_tried_earlier_than_was_asked_for(asked, chance, slept):
    tries = Tries("ill", "well")
    await tries.run(SERVICE, chance=chance, at_least=lambda result: asked)
    assert tries.slept == [pytest.approx(slept)]
    assert spread(asked, lambda: 0.0) == asked


@pytest.mark.parametrize(("spent", "made"), [(0, 3), (59.4, 3), (59.6, 2), (60, 1), (inf, 1)])
async def test_what_the_attempts_took_counts_with_the_pauses(spent, made):
    tries = Tries("ill")
    await tries.run(SERVICE, spent=lambda: spent)
    assert tries.made == made


async def test_failures_may_be_counted_by_whoever_tries():
    tries, rows = Tries("ill"), iter([1, 1, 1, 2, 2, 2, 3])
    last = [0]

    def failures():
        return last[0]

    async def attempt():
        last[0] = next(rows)
        return await tries.attempt()

    await retry(
        attempt,
        SERVICE,
        again=lambda _: True,
        failures=failures,
        sleep=tries.sleep,
        random=lambda: 1.0,
    )
    assert tries.slept == [0.5, 0.5, 0.5, 1, 1, 1]


@pytest.mark.parametrize("error", [KeyError("ours"), asyncio.CancelledError()])
@pytest.mark.parametrize("before", [[], ["ill"], ["ill", "ill"]])
async def test_what_is_raised_ends_it_at_once(error, before):
    tries = Tries(*before, error)
    with pytest.raises(type(error)):
        await tries.run(SERVICE)
    assert tries.made == len(before) + 1
