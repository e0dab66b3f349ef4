"""Sends one attempt of a call: the gate before it, and what the answer amounts to after it.

A cancelled request is not answered for here: CancelledError passes through, and whoever cancels
a paid call under way must treat its outcome as unknown.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta
from typing import TypeVar

from tasks.clock import Clock, Random
from tasks.errors import RateLimited
from tasks.retry_after import retry_after
from tasks.service.answer import Answer, Unparsable
from tasks.service.call import Call, Progress
from tasks.service.failure import Failure, from_answer, from_exception
from tasks.service.gate import Gate
from tasks.service.operations import Money, Operation
from tasks.service.outcome import UNKNOWN, Outcome, of_exception, of_status
from tasks.service.reading import Shapeless
from tasks.service.retry import POLICY
from tasks.service.telling import Teller
from tasks.service.wire import Wire

T = TypeVar("T")

#: A call refused with 429 so many times in a row is given back.
LIMITED_TIMES = 5
#: One call waits at the gate for so long, all in all.
WAITING = timedelta(seconds=300)
#: One request may take so long, in seconds. The transport's own limits start anew with every byte,
#: so an answer that drips would hold a call for ever; cut off here, its outcome is unknown.
LONGEST = 300.0
#: A create that meets itself (409) is asked again after 2 s, then 4 s.
IN_PROGRESS = 2.0


class Sender:
    """Sends attempts: all through the same gate, at most `concurrency` requests at once."""

    def __init__(
        self,
        wire: Wire,
        gate: Gate,
        teller: Teller,
        *,
        clock: Clock,
        random: Random,
        concurrency: int,
        longest: float = LONGEST,
    ) -> None:
        self._longest = longest
        self.gate = gate
        self._wire = wire
        self._teller = teller
        self._clock = clock
        self._random = random
        self._slots = asyncio.Semaphore(concurrency)

    async def attempt(self, call: Call[T], progress: Progress) -> T | Failure:
        """Send until the answer is not 429; only what comes after the gate is an attempt."""
        progress.attempts += 1
        limited: Failure | None = None
        for _ in range(LIMITED_TIMES):
            async with self._slots:
                try:
                    await self._wait(call.operation, progress)
                except RateLimited as shut:
                    progress.attempts -= limited is None
                    return _kept_out(shut, limited, call.operation.money)
                result = await self._send(call, progress)
            if not isinstance(result, Failure) or result.outcome is not Outcome.LIMITED:
                return result
            limited = result
        return result

    async def _wait(self, operation: Operation, progress: Progress) -> None:
        if self.gate.is_open:
            return
        now = self._clock()
        latest = now + WAITING - progress.waiting
        await self.gate.wait(operation=operation.name, latest=latest)
        progress.waiting += self._clock() - now

    async def _send(self, call: Call[T], progress: Progress) -> T | Failure:
        started, now = time.perf_counter(), self._clock()
        answer: Answer | None = None
        result: T | Failure
        try:
            async with asyncio.timeout(self._longest):
                answer = await self._wire.exchange(call.operation, call.target, call.body)
        except Exception as cause:
            outcome = of_exception(cause)
            if outcome is None:
                raise
            result = from_exception(cause, outcome, call.operation, key=call.key)
        else:
            result = self._read(call, answer, progress)
        progress.sending += self._clock() - now
        failure = result if isinstance(result, Failure) else None
        progress.unknown |= failure is not None and failure.outcome in UNKNOWN
        self._teller.tell(call.operation, progress.attempts, answer, failure, started)
        return result

    def _read(self, call: Call[T], answer: Answer, progress: Progress) -> T | Failure:
        outcome = of_status(answer.status)
        if outcome is None:
            try:
                return call.read(answer)
            except Unparsable:
                outcome = Outcome.CUT
            except Shapeless:
                outcome = Outcome.SHAPELESS
        retry_at = self._heed(answer, outcome, progress)
        not_before = retry_at
        if outcome is Outcome.CONFLICT and call.operation.money is Money.KEYED:
            patient = self._clock() + timedelta(seconds=IN_PROGRESS * 2 ** (progress.attempts - 1))
            not_before = max(patient, retry_at or patient)
        return from_answer(
            answer,
            outcome,
            call.operation,
            key=call.key,
            retry_at=retry_at,
            not_before=not_before,
        )

    def _heed(self, answer: Answer, outcome: Outcome, progress: Progress) -> datetime | None:
        """Return the moment named by Retry-After; close the gate where it is meant for all."""
        now = self._clock()
        told = retry_after(answer.headers, now=now)
        if outcome is Outcome.LIMITED:
            progress.limited += 1
            told = max(told or 0.0, POLICY.pause(progress.limited, self._random))
        if told is None:
            return None
        until = now + timedelta(seconds=told)
        if answer.status in (429, 503):
            self.gate.close(until)
            return self.gate.closed_until
        return until


def _kept_out(shut: RateLimited, limited: Failure | None, money: Money) -> Failure:
    # The 429 this call met itself says more than the closed gate does.
    if limited is None:
        return Failure(outcome=Outcome.LIMITED, error=shut, money=money)
    limited.error.retry_at = shut.retry_at
    return limited
