"""Makes one call of up to three attempts: the retry matrix, and the one error in the end."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from tasks.errors import OutcomeUnknown, ServiceError
from tasks.service.call import Call, Progress
from tasks.service.clock import Clock, Random, Sleep
from tasks.service.failure import Failure, still_unknown
from tasks.service.operations import Money
from tasks.service.retry import retrying
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
        result = await self._sender.attempt(call, progress)
        if isinstance(result, Failure) and self._again(result):
            result = await self._repeat(call, progress, result)
        if isinstance(result, Failure):
            raise _settled(result, progress)
        return result

    async def _repeat(self, call: Call[T], progress: Progress, first: Failure) -> T | Failure:
        # The first attempt goes without tenacity, since most are the last. Now tenacity is told
        # of its failure and takes over.
        told: list[T | Failure] = [first]

        async def attempt() -> T | Failure:
            if told:
                return told.pop()
            sent = await self._sender.attempt(call, progress)
            return sent  # noqa: RET504 (mypy infers T from a name only)

        return await retrying(
            again=self._again,
            not_before=lambda result: result.not_before if isinstance(result, Failure) else None,
            busy=lambda: progress.sending.total_seconds(),
            clock=self._clock,
            sleep=self._sleep,
            random=self._random,
        )(attempt)

    def _again(self, result: object) -> bool:
        if not isinstance(result, Failure) or not result.again:
            return False
        wait = timedelta() if result.not_before is None else result.not_before - self._clock()
        return wait.total_seconds() <= self._sender.gate.patience


def _settled(failure: Failure, progress: Progress) -> ServiceError:
    error = failure.error
    error.attempts = progress.attempts
    certain = failure.money is Money.READ or isinstance(error, OutcomeUnknown)
    return error if certain or not progress.unknown else still_unknown(error, failure.money)
