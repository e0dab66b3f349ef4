"""Retries.

One policy for every retry, the `Retry-After` header, and renewal of leases in the background.

What is tried returns its failures instead of raising them, so that no error that holds an address
or a token is kept between attempts. What it raises ends the trying at once.
"""

from __future__ import annotations

import asyncio
import math
import random as chance
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from callsheet.tasks.runtime.process import Random, Sleep

T = TypeVar("T")

#: Added to a pause that someone asked for, so that not all who were told wake together.
SPREAD = 0.1


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often something is tried, after what pauses, and for how many seconds all in all.

    The first pause lasts `first` seconds, each one after it `factor` times as long, none more
    than `longest`. Of every pause, chance takes away up to the part `jitter`.
    """

    attempts: float = inf
    seconds: float = inf
    first: float
    factor: float = 2.0
    longest: float = inf
    jitter: float = 1.0

    def pause(self, failures: int, random: Random) -> float:
        """Return the seconds to wait after so many failures in a row."""
        # Beyond so many the ceiling is reached, and a float would overflow.
        ceiling = min(self.longest, self.first * self.factor ** min(failures - 1, 64))
        return ceiling * (1 - self.jitter + self.jitter * random())


def spread(seconds: float, random: Random) -> float:
    """Return a pause that was asked for: never shorter, and up to a tenth longer."""
    return seconds * (1 + SPREAD * random())


async def retry(
    attempt: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    *,
    again: Callable[[T], bool],
    at_least: Callable[[T], float] = lambda _: 0.0,
    failures: Callable[[], int] | None = None,
    spent: Callable[[], float] = lambda: 0.0,
    sleep: Sleep = asyncio.sleep,
    random: Random = chance.random,
) -> T:
    """Return the first result that is not tried `again`, or the last one the policy allows.

    A pause lasts `at_least` as long as a result asks for. `failures` counts those in a row where
    that is not every attempt made here, and `spent` is what the attempts took of the policy's
    seconds.
    """
    first = await attempt()
    if not again(first):
        # Most first attempts are the last; tenacity is told of the others, and takes over.
        return first
    left = [first]

    async def next_attempt() -> T:
        return left.pop() if left else await attempt()

    nth = (lambda state: state.attempt_number) if failures is None else (lambda _: failures())
    driver = AsyncRetrying(
        sleep=sleep,
        wait=_Wait(policy, nth, at_least, random),
        stop=_Stop(policy, nth, spent),
        retry=lambda state: not _failed(state) and again(_result(state)),
        retry_error_callback=_result,
    )
    return await driver(next_attempt)


Nth = Callable[[RetryCallState], int]


@dataclass(frozen=True)
class _Wait(wait_base):
    policy: RetryPolicy
    nth: Nth
    at_least: Callable[..., float]
    random: Random

    def __call__(self, retry_state: RetryCallState) -> float:
        told = spread(self.at_least(_result(retry_state)), self.random)
        return max(told, self.policy.pause(self.nth(retry_state), self.random))


@dataclass(frozen=True)
class _Stop(stop_base):
    policy: RetryPolicy
    nth: Nth
    spent: Callable[[], float]

    def __call__(self, retry_state: RetryCallState) -> bool:
        policy, gone = self.policy, self.spent() + retry_state.idle_for
        return self.nth(retry_state) >= policy.attempts or gone >= policy.seconds


def _failed(state: RetryCallState) -> bool:
    return state.outcome is None or state.outcome.failed


def _result(state: RetryCallState) -> Any:
    assert state.outcome is not None
    return state.outcome.result()


# Reads `Retry-After` in both of its forms: a number of seconds, or an HTTP date.


#: No moment further off than this is believed, in seconds. A slip of the other side would shut it
#: off for years; one that means it says so again, to a single request a day.
LONGEST = 86400.0


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return how many seconds the service asks us to wait, or None when it does not say.

    A date is compared with the answer's own `Date`, since our clock may be wrong.
    """
    told = headers.get("retry-after")
    if told is None:
        return None
    seconds = _number(told)
    if seconds is None:
        moment = _date(told)
        if moment is None:
            return None
        seconds = (moment - (_date(headers.get("date")) or now)).total_seconds()
    return min(max(0.0, seconds), LONGEST)


def _number(text: str) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        return None
    # nan and inf are read as numbers by float and are neither a date.
    return value if math.isfinite(value) else None


def _date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
