"""A request that did not succeed: what is known of it, and the error to raise should it stand.

Made as a value and raised only at the very end, outside every `except`: an exception of the
transport holds headers and addresses, and must not hang on to ours as its cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.errors import NotSent, OutcomeUnknown, ServerTrouble, ServiceError, ShapeError, shorten
from tasks.redact import redact
from tasks.service.answer import Answer
from tasks.service.operations import Money, Operation
from tasks.service.outcome import Outcome
from tasks.service.refusals import class_of, message_of, remedy_of
from tasks.service.retry import MATRIX, Verdict

_LOOK = {
    Money.KEYED: "ask again with the same key and the same bytes, never with new ones",
    Money.GENTLE: "it may have been done: look before asking again",
    Money.ONCE: "do not send it again: look for what it made, or let a person decide",
}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One request that failed, for the retry matrix and then for the caller."""

    outcome: Outcome
    error: ServiceError
    money: Money
    final: bool = False  # the envelope says that repeating cannot help
    not_before: datetime | None = None

    @property
    def again(self) -> bool:
        """Whether the matrix sends the same request once more."""
        return not self.final and MATRIX[self.outcome, self.money] is Verdict.AGAIN


def from_answer(
    answer: Answer,
    outcome: Outcome,
    operation: Operation,
    *,
    key: str | None,
    retry_at: datetime | None,
    not_before: datetime | None = None,
) -> Failure:
    """Return the failure that an answer, or its shape, amounts to."""
    money = operation.money
    kind: type[ServiceError]
    if outcome in (Outcome.CUT, Outcome.SHAPELESS):
        kind = ShapeError if money is Money.READ else OutcomeUnknown
        lacks = "is not whole" if outcome is Outcome.CUT else "lacks the one thing needed"
        message = f"{operation.name}: the answer ({answer.status}) {lacks}: {answer.words}"
    elif outcome is Outcome.TROUBLE:
        kind = ServerTrouble if money is Money.READ else OutcomeUnknown
        message = f"{operation.name}: the service is in trouble ({answer.status}): {answer.words}"
    else:
        kind, message = class_of(answer.status), message_of(answer, operation)
    remedy = _LOOK.get(money) if kind is OutcomeUnknown else remedy_of(answer, operation)
    error = kind(
        message,
        operation=operation.name,
        status=answer.status,
        code=answer.code,
        request_id=answer.request_id,
        key=key,
        retry_at=retry_at,
        remedy=remedy,
    )
    # `retryable: false` can only make us ask less often; 4xx carry it as a matter of course.
    final = outcome is Outcome.TROUBLE and answer.retryable is False
    return Failure(
        outcome=outcome, error=error, money=money, final=final, not_before=not_before or retry_at
    )


def from_exception(
    cause: Exception, outcome: Outcome, operation: Operation, *, key: str | None
) -> Failure:
    """Return the failure that an exception of the transport amounts to."""
    detail = shorten(redact(f"{cause}".replace(" ssl:default", "")) or type(cause).__name__, 200)
    if outcome in (Outcome.UNREACHED, Outcome.UNSENDABLE):
        kind: type[ServiceError] = NotSent
        message = f"{operation.name}: the service could not be reached: {detail}"
        remedy = "check CALLSHEET_BASE_URL and the network; nothing was sent"
    elif operation.money is Money.READ:
        kind, remedy = ServerTrouble, "the connection is unreliable; run the same command again"
        message = f"{operation.name}: no whole answer came back: {detail}"
    else:
        kind, remedy = OutcomeUnknown, _LOOK[operation.money]
        message = f"{operation.name}: sent, but no whole answer came back: {detail}"
    error = kind(message, operation=operation.name, key=key, remedy=remedy)
    error.permanent = outcome is Outcome.UNSENDABLE
    return Failure(outcome=outcome, error=error, money=operation.money)


def still_unknown(error: ServiceError, money: Money) -> ServiceError:
    """Return `error` as the unknown outcome it is, once an earlier request went unanswered.

    That the last request never left, or was refused, proves nothing about the one before it.
    """
    return OutcomeUnknown(
        f"{error}; an earlier attempt went unanswered and may have been carried out",
        operation=error.operation,
        status=error.status,
        code=error.code,
        request_id=error.request_id,
        key=error.key,
        attempts=error.attempts,
        retry_at=error.retry_at,
        remedy=_LOOK[money],
    )
