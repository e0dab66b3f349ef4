"""When a request is sent again: one matrix of outcome and money class, driven by tenacity."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import Enum

from tenacity import AsyncRetrying, RetryCallState

from tasks.service.clock import Clock, Random, Sleep
from tasks.service.operations import Money
from tasks.service.outcome import Outcome

ATTEMPTS = 3
SECONDS = 60.0
BASE = 0.5
CAP = 30.0
JITTER = 0.1


class Verdict(Enum):
    """What to do after one outcome."""

    AGAIN = "again"  # the same bytes and, where there is one, the same key
    STOP = "stop"  # a definite answer: tell it
    ASK = "ask"  # it may have been carried out: whoever asked must find out


A, S, Q = Verdict.AGAIN, Verdict.STOP, Verdict.ASK
_ROWS: dict[Outcome, tuple[Verdict, Verdict, Verdict, Verdict]] = {
    #                     R  K  G  N
    Outcome.UNREACHED: (A, A, A, A),
    Outcome.UNSENDABLE: (S, S, S, S),
    Outcome.TROUBLE: (A, A, A, Q),
    Outcome.LOST: (A, A, A, Q),
    Outcome.CUT: (A, A, Q, Q),
    Outcome.SHAPELESS: (S, A, Q, Q),
    Outcome.LIMITED: (S, S, S, S),  # the gate has waited as long as it may
    Outcome.CONFLICT: (S, A, S, S),
    Outcome.REFUSED: (S, S, S, S),
}
MATRIX: dict[tuple[Outcome, Money], Verdict] = {
    (outcome, money): verdict
    for outcome, row in _ROWS.items()
    for money, verdict in zip(Money, row, strict=True)
}


def backoff(nth: int, random: Random) -> float:
    """Return seconds to wait after the `nth` failure: full jitter below a doubling ceiling."""
    return random() * min(CAP, BASE * 2.0 ** (nth - 1))


def retrying(
    *,
    again: Callable[[object], bool],
    not_before: Callable[[object], datetime | None],
    busy: Callable[[], float],
    clock: Clock,
    sleep: Sleep,
    random: Random,
) -> AsyncRetrying:
    """Return a tenacity that repeats while `again(result)`; the last result is the result.

    `busy` says how many seconds went into sending; waiting at the gate is not held against it.
    """

    def seconds(state: RetryCallState) -> float:
        told = not_before(_result(state))
        wait = 0.0 if told is None else max(0.0, (told - clock()).total_seconds())
        return max(wait * (1 + JITTER * random()), backoff(state.attempt_number, random))

    def enough(state: RetryCallState) -> bool:
        return state.attempt_number >= ATTEMPTS or busy() + state.idle_for >= SECONDS

    return AsyncRetrying(
        sleep=sleep,
        wait=seconds,
        stop=enough,
        retry=lambda state: again(_result(state)),
        retry_error_callback=_result,
    )


def _result(state: RetryCallState) -> object:
    return state.outcome.result() if state.outcome else None
