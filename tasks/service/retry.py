"""When a request is sent again: one matrix of outcome and money class, and one policy."""

from __future__ import annotations

from enum import Enum

from tasks.retry import RetryPolicy
from tasks.service.operations import Money
from tasks.service.outcome import Outcome

#: Waiting at the gate is not held against the seconds.
POLICY = RetryPolicy(attempts=3, seconds=60.0, first=0.5, longest=30.0)


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
