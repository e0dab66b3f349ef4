"""Failed requests: what is known, whether to retry, and what a person is told.

Made as a value and raised only at the very end, outside every `except`: an exception of the
transport holds headers and addresses, and must not hang on to ours as its cause.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from urllib.parse import urlsplit

from callsheet.tasks.runtime.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    InsufficientCredits,
    NotFound,
    NotSent,
    OtherRefusal,
    OutcomeUnknown,
    RateLimited,
    Refused,
    ServerTrouble,
    ServiceError,
    ShapeError,
    Unauthenticated,
    shorten,
)
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.retry import RetryPolicy
from callsheet.tasks.service.operations import Money, Operation
from callsheet.tasks.service.request import Request
from callsheet.tasks.service.response import Response

CLASSES: dict[int, type[Refused]] = {
    400: BadRequest,
    401: Unauthenticated,
    402: InsufficientCredits,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}
_ADDRESS = "check CALLSHEET_BASE_URL: it is the service's REST root and ends in /api/v1"
_REMEDIES = {
    401: "run `callsheet login`, or set CALLSHEET_API_KEY to a key that is not revoked",
    402: "add credits or renew the subscription in the service's app, then run this again",
    422: "nothing is sent again under another key; see what the service says of this one",
    429: "run the same command again after that moment; nothing is lost",
}
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


def from_response(
    request: Request,
    response: Response,
    outcome: Outcome,
    *,
    retry_at: datetime | None,
    not_before: datetime | None,
) -> Failure:
    """Return the failure that a response, or its shape, amounts to."""
    operation, money = request.operation, request.operation.money
    kind: type[ServiceError]
    name, status = operation.name, response.status
    if outcome in (Outcome.CUT, Outcome.SHAPELESS):
        kind = ShapeError if money is Money.READ else OutcomeUnknown
        lacks = "is not whole" if outcome is Outcome.CUT else "lacks the one thing needed"
        message = f"{name}: the answer ({status}) {lacks}: {response.words}"
    elif outcome is Outcome.TROUBLE:
        kind = ServerTrouble if money is Money.READ else OutcomeUnknown
        message = f"{name}: the service is in trouble ({status}): {response.words}"
    else:
        kind, message = CLASSES.get(status, OtherRefusal), _message(response, operation)
    remedy = _LOOK.get(money) if kind is OutcomeUnknown else _remedy(response, operation)
    error = kind(
        message,
        operation=name,
        status=status,
        code=response.code,
        request_id=response.request_id,
        key=request.key,
        retry_at=retry_at,
        remedy=remedy,
    )
    # `retryable: false` can only make us ask less often; 4xx have it as a matter of course.
    final = outcome is Outcome.TROUBLE and response.retryable is False
    return Failure(outcome=outcome, error=error, money=money, final=final, not_before=not_before)


def from_exception(request: Request, cause: Exception, outcome: Outcome) -> Failure:
    """Return the failure that an exception of the transport amounts to."""
    operation = request.operation
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
    error = kind(message, operation=operation.name, key=request.key, remedy=remedy)
    error.permanent = outcome is Outcome.UNSENDABLE
    return Failure(outcome=outcome, error=error, money=operation.money)


def still_unknown(error: ServiceError, money: Money) -> ServiceError:
    """Return `error` as the unknown outcome it is, once an earlier request went unanswered.

    That the last request never left, or was refused, proves nothing about the one before it.
    """
    return OutcomeUnknown(
        f"{error}; an earlier attempt went unanswered and may have been processed",
        operation=error.operation,
        status=error.status,
        code=error.code,
        request_id=error.request_id,
        key=error.key,
        attempts=error.attempts,
        retry_at=error.retry_at,
        remedy=_LOOK[money],
    )


def _message(response: Response, operation: Operation[object]) -> str:
    """Return one sentence: the operation, the status and the service's own words."""
    if 300 <= response.status < 400:
        return (
            f"{operation.name}: the service redirected ({response.status}) to "
            f"{_host(response)}, which is not followed: the key must not go to another address"
        )
    what = operation.conflict if response.status == 409 else None
    head = f"{operation.name} was refused ({response.status}{f', {what}' if what else ''})"
    return f"{head}: {response.words}"


def _remedy(response: Response, operation: Operation[object]) -> str | None:
    """Return what a person can do about it."""
    if 300 <= response.status < 400 or (response.status == 404 and "{id}" not in operation.path):
        return _ADDRESS
    if response.status == 403:
        return (
            f"this needs a key with the `{operation.scope}` scope: get one with "
            f"`callsheet login --scopes read,write,ai`, or issue one in the service's app and set "
            f"CALLSHEET_API_KEY to it"
        )
    return _REMEDIES.get(response.status)


def _host(response: Response) -> str:
    location = response.headers.get("location", "")
    try:
        host = urlsplit(location).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    return redact(host) or ("another path of its own" if location else "nowhere")


# What became of one request, and whether it is sent again: the retry matrix.
#
# Told from a status, or from the exception that ended it. The rule where nothing fits: once a
# request may have left, its outcome is not known.


class Outcome(Enum):
    """What is known after one request; the first two and the last four are proofs."""

    UNREACHED = "unreached"  # never left: no connection
    UNSENDABLE = "unsendable"  # never left, and never will: address, certificate, protocol
    TROUBLE = "trouble"  # 408 or 5xx
    LOST = "lost"  # it may have left; no whole answer came back
    CUT = "cut"  # 2xx that cannot be parsed
    SHAPELESS = "shapeless"  # 2xx without the one member needed
    LIMITED = "limited"  # 429
    CONFLICT = "conflict"  # 409
    REFUSED = "refused"  # any other 3xx or 4xx


#: After these the request may have been processed.
UNKNOWN = frozenset({Outcome.TROUBLE, Outcome.LOST, Outcome.CUT, Outcome.SHAPELESS})


class Verdict(Enum):
    """What to do after one outcome."""

    AGAIN = "again"  # the same bytes and, where there is one, the same key
    STOP = "stop"  # a definite answer: tell it
    ASK = "ask"  # it may have been processed: the caller must find out


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

#: Waiting at the gate is not held against the seconds.
POLICY = RetryPolicy(attempts=3, seconds=60.0, first=0.5, longest=30.0)


def of_status(status: int) -> Outcome | None:
    """Return what a status means, or None for success."""
    if 200 <= status < 300:
        return None
    if status == 429:
        return Outcome.LIMITED
    if status == 409:
        return Outcome.CONFLICT
    if status == 408 or status >= 500:
        return Outcome.TROUBLE
    return Outcome.REFUSED


def of_exception(error: Exception) -> Outcome | None:
    """Return what an exception of a connection means, or None when it is not one."""
    found = _of_aiohttp(error)
    if found is None and isinstance(error, OSError | EOFError):
        found = Outcome.LOST
    return Outcome.UNSENDABLE if found is Outcome.UNREACHED and _untrusted(error) else found


def _of_aiohttp(error: Exception) -> Outcome | None:
    if not type(error).__module__.startswith("aiohttp."):
        return None
    import aiohttp  # already loaded, by anyone who raised

    never = (
        aiohttp.ClientConnectorError,
        aiohttp.ClientConnectorSSLError,
        aiohttp.ClientConnectorCertificateError,
        aiohttp.ConnectionTimeoutError,
        aiohttp.ClientHttpProxyError,
    )
    if isinstance(error, never):
        return Outcome.UNREACHED
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return Outcome.UNSENDABLE
    return Outcome.LOST


def _untrusted(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
