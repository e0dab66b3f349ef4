"""Sends a request, with retries and backoff, and logs it without secrets.

A cancelled request is not answered for here: CancelledError passes through, and anyone who
cancels a paid call under way must treat its outcome as unknown.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TypeVar

from callsheet.tasks.runtime import telemetry
from callsheet.tasks.runtime.errors import OutcomeUnknown, RateLimited, ServiceError
from callsheet.tasks.runtime.process import Clock, Random, Sleep
from callsheet.tasks.runtime.retry import retry, retry_after
from callsheet.tasks.runtime.telemetry import Measures
from callsheet.tasks.service.failures import (
    POLICY,
    UNKNOWN,
    Failure,
    Outcome,
    from_exception,
    from_response,
    of_exception,
    of_status,
    still_unknown,
)
from callsheet.tasks.service.operations import Money, Operation
from callsheet.tasks.service.rate_limits import Gate
from callsheet.tasks.service.request import Request, Wire
from callsheet.tasks.service.response import Response, Shapeless, Unparsable

T = TypeVar("T")

#: A call refused with 429 so many times in a row is given back.
LIMITED_TIMES = 5
#: One call waits at the gate for so long, all in all.
WAITING = timedelta(seconds=300)
#: One request may take so long, in seconds. The transport's own limits start again with every byte,
#: so an answer that drips would hold a call for ever; cut off here, its outcome is unknown.
LONGEST = 300.0
#: A create that meets itself (409) is asked again after 2 s, then 4 s.
IN_PROGRESS = 2.0


@dataclass(slots=True)
class _Effort:
    """How far one request has come, over all of its attempts."""

    attempts: int = 0
    limited: int = 0
    unknown: bool = False  # one of them may have been processed
    sending: timedelta = timedelta()
    waiting: timedelta = timedelta()


class Sender:
    """Sends requests: all through the same gate, at most `concurrency` at once."""

    def __init__(
        self,
        wire: Wire,
        gate: Gate,
        *,
        clock: Clock,
        sleep: Sleep,
        random: Random,
        concurrency: int,
        measures: Measures | None = None,
        longest: float = LONGEST,
    ) -> None:
        self._measures = measures
        self._wire = wire
        self._gate = gate
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._slots = asyncio.Semaphore(concurrency)
        self._longest = longest
        self._dated: tuple[str | None, datetime] | None = None

    @property
    def behind(self) -> float | None:
        """How many seconds our clock was behind the service's at its last answer.

        0 where it was not, or where the answer does not tell (RFC 9110, 6.6.1); None where there
        was no answer yet.
        """
        if self._dated is None:
            return None
        told, heard = self._dated
        try:
            return max(0.0, (parsedate_to_datetime(told or "") - heard).total_seconds())
        except (TypeError, ValueError):
            return 0.0

    async def send(self, request: Request, read: Callable[[Response], T]) -> T:
        """Return what is read from the response; raise the ServiceError that it ended with."""
        effort = _Effort()
        result = await retry(
            partial(self._attempt, request, read, effort),
            POLICY,
            again=self._again,
            at_least=self._wait,
            spent=lambda: effort.sending.total_seconds(),
            sleep=self._sleep,
            random=self._random,
        )
        if isinstance(result, Failure):
            raise _settled(result, effort)
        return result

    def _again(self, result: object) -> bool:
        wanted = isinstance(result, Failure) and result.again
        return wanted and self._wait(result) <= self._gate.longest_wait

    def _wait(self, result: object) -> float:
        until = result.not_before if isinstance(result, Failure) else None
        return 0.0 if until is None else max(0.0, (until - self._clock()).total_seconds())

    async def _attempt(
        self, request: Request, read: Callable[[Response], T], effort: _Effort
    ) -> T | Failure:
        """Send until the answer is not 429; only what comes after the gate is an attempt."""
        effort.attempts += 1
        limited: Failure | None = None
        for _ in range(LIMITED_TIMES):
            async with self._slots:
                try:
                    await self._pass_gate(request, effort)
                except RateLimited as shut:
                    effort.attempts -= limited is None
                    return _kept_out(shut, limited, request.operation.money)
                result = await self._once(request, read, effort)
            if not isinstance(result, Failure) or result.outcome is not Outcome.LIMITED:
                return result
            limited = result
        return result

    async def _pass_gate(self, request: Request, effort: _Effort) -> None:
        """Return when the request may leave."""
        now = self._clock()
        latest = now + WAITING - effort.waiting
        await self._gate.wait(operation=request.operation.name, latest=latest)
        effort.waiting += self._clock() - now

    async def _once(
        self, request: Request, read: Callable[[Response], T], effort: _Effort
    ) -> T | Failure:
        started, now, since = time.perf_counter(), self._clock(), telemetry.now()
        response: Response | None = None
        result: T | Failure
        try:
            async with asyncio.timeout(self._longest):
                response = await self._wire.send(request)
        except Exception as cause:
            outcome = of_exception(cause)
            if outcome is None:
                raise
            result = from_exception(request, cause, outcome)
        else:
            self._dated = response.headers.get("date"), self._clock()
            result = self._judge(request, response, read, effort)
        effort.sending += self._clock() - now
        failure = result if isinstance(result, Failure) else None
        effort.unknown |= failure is not None and failure.outcome in UNKNOWN
        if self._measures is not None:
            how = failure.outcome.value if failure else "ok"
            self._measures.requested(request.operation.name, how, attempt=effort.attempts)
        seconds = time.perf_counter() - started
        log_request(request.operation, response, failure, effort.attempts, seconds)
        if since:
            trace_request(request.operation, response, failure, effort.attempts, since)
        return result

    def _judge(
        self, request: Request, response: Response, read: Callable[[Response], T], effort: _Effort
    ) -> T | Failure:
        outcome = of_status(response.status)
        if outcome is None:
            try:
                return read(response)
            except Unparsable:
                outcome = Outcome.CUT
            except Shapeless:
                outcome = Outcome.SHAPELESS
        retry_at = not_before = self._heed(response, outcome, effort)
        if outcome is Outcome.CONFLICT and request.operation.money is Money.KEYED:
            later = self._clock() + timedelta(seconds=IN_PROGRESS * 2 ** (effort.attempts - 1))
            not_before = max(later, retry_at or later)
        return from_response(request, response, outcome, retry_at=retry_at, not_before=not_before)

    def _heed(self, response: Response, outcome: Outcome, effort: _Effort) -> datetime | None:
        """Return the moment named by Retry-After; close the gate where it is meant for all."""
        now = self._clock()
        told = retry_after(response.headers, now=now)
        if outcome is Outcome.LIMITED:
            effort.limited += 1
            told = max(told or 0.0, POLICY.pause(effort.limited, self._random))
        if told is None:
            return None
        until = now + timedelta(seconds=told)
        if response.status in (429, 503):
            self._gate.close(until)
            return self._gate.closed_until
        return until


def _kept_out(shut: RateLimited, limited: Failure | None, money: Money) -> Failure:
    # The 429 this call met itself says more than the closed gate does.
    if limited is None:
        return Failure(outcome=Outcome.LIMITED, error=shut, money=money)
    limited.error.retry_at = shut.retry_at
    return limited


def _settled(failure: Failure, effort: _Effort) -> ServiceError:
    error = failure.error
    error.attempts = effort.attempts
    certain = failure.money is Money.READ or isinstance(error, OutcomeUnknown)
    return error if certain or not effort.unknown else still_unknown(error, failure.money)


# What is told of a request that was made: a line in the log, and a span.
#
# No address, body or key is in any of them.


log = logging.getLogger("callsheet.service")


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One request and how it went, as the log has it; holds nothing secret."""

    operation: str
    method: str
    path: str
    number: int
    status: int | None
    outcome: str
    seconds: float
    request_id: str | None

    def __str__(self) -> str:
        return (
            f"{self.operation} {self.method} {self.path} {self.status or '-'} {self.outcome} "
            f"attempt {self.number} {self.seconds * 1000:.0f} ms"
        )


def log_request(
    operation: Operation[object],
    response: Response | None,
    failure: Failure | None,
    number: int,
    seconds: float,
) -> None:
    """Log one request; make nothing if no one listens."""
    level = logging.DEBUG if _is_fine(operation, failure) else logging.INFO
    if not log.isEnabledFor(level):
        return
    entry = LogEntry(
        operation=operation.name,
        method=operation.method,
        path=operation.path,
        number=number,
        status=response.status if response else None,
        outcome=failure.outcome.value if failure else "ok",
        seconds=seconds,
        request_id=response.request_id if response else None,
    )
    log.log(level, "%s", entry)


def trace_request(
    operation: Operation[object],
    response: Response | None,
    failure: Failure | None,
    number: int,
    since: int,
) -> None:
    """Make the span of a request that began at `since`; no address or body is in it."""
    telemetry.request_made(
        f"{operation.method} {operation.path}",
        since=since,
        facts=lambda: {
            "http.request.method": operation.method,
            "url.template": operation.path,
            "http.response.status_code": response.status if response else None,
            "http.request.resend_count": number - 1 or None,
            "callsheet.operation": operation.name,
            "callsheet.request_id": response.request_id if response else None,
        },
        trouble=None if _is_fine(operation, failure) else str(failure and failure.outcome.value),
    )


def _is_fine(operation: Operation[object], failure: Failure | None) -> bool:
    # A look at what is not ready yet is answered with a conflict, and nothing is wrong.
    waits = failure is not None and failure.outcome is Outcome.CONFLICT
    return failure is None or (waits and operation.money is Money.READ)
