"""Makes one call of up to three attempts: the retry matrix, and the one error in the end."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from tasks.clock import Clock, Random, Sleep
from tasks.errors import OutcomeUnknown, ServiceError
from tasks.retry import retry
from tasks.service.call import Call, Progress
from tasks.service.failure import Failure, still_unknown
from tasks.service.operations import Money
from tasks.service.retry import POLICY
from tasks.service.sending import Sender

T = TypeVar("T")


class Calls:
    """Makes calls, each by sending attempts until the matrix says stop."""

    def __init__(self, sender: Sender, *, clock: Clock, sleep: Sleep, random: Random) -> None:
        self._sender = sender
        self._clock = clock
        self._sleep = sleep
        self._random = random

    async def make(self, call: Call[T]) -> T:
        """Return what `call` reads from the answer; raise the ServiceError it ended with."""
        progress = Progress()
        result = await retry(
            partial(self._sender.attempt, call, progress),
            POLICY,
            again=self._again,
            at_least=self._wait,
            spent=lambda: progress.sending.total_seconds(),
            sleep=self._sleep,
            random=self._random,
        )
        if isinstance(result, Failure):
            raise _settled(result, progress)
        return result

    def _again(self, result: object) -> bool:
        return (
            isinstance(result, Failure)
            and result.again
            and self._wait(result) <= self._sender.gate.patience
        )

    def _wait(self, result: object) -> float:
        until = result.not_before if isinstance(result, Failure) else None
        return 0.0 if until is None else max(0.0, (until - self._clock()).total_seconds())


def _settled(failure: Failure, progress: Progress) -> ServiceError:
    error = failure.error
    error.attempts = progress.attempts
    certain = failure.money is Money.READ or isinstance(error, OutcomeUnknown)
    return error if certain or not progress.unknown else still_unknown(error, failure.money)
