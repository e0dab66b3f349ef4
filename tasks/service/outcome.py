"""What became of one request, and whether it is sent again: the retry matrix.

Told from a status, or from the exception that ended it. The rule where nothing fits: once a
request may have left, its outcome is not known.
"""

from __future__ import annotations

import ssl
import sys
from enum import Enum

from callsheet.tasks.retry import RetryPolicy
from callsheet.tasks.service.operations import Money


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
    ASK = "ask"  # it may have been processed: whoever asked must find out


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
    """Return what an exception of a transport means, or None when it is not one."""
    found = _of_aiohttp(error) or _of_aiohttp(error.__cause__) or _of_httpx(error)
    if found is None and isinstance(error, OSError | EOFError):
        found = Outcome.LOST
    return Outcome.UNSENDABLE if found is Outcome.UNREACHED and _untrusted(error) else found


def _of_httpx(error: Exception) -> Outcome | None:
    if "httpx" not in sys.modules:
        return None  # nobody can have raised an error of it
    import httpx

    kind = type(error)
    if kind in (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError):
        return Outcome.UNREACHED
    if kind in (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL):
        return Outcome.UNSENDABLE
    return Outcome.LOST if isinstance(error, httpx.HTTPError | httpx.StreamError) else None


def _of_aiohttp(error: BaseException | None) -> Outcome | None:
    # Ours come as they are. httpx-aiohttp's too, or dressed up: it reports a connection lost after
    # sending as ConnectTimeout. Only the error underneath tells sent from not sent.
    if error is None or not type(error).__module__.startswith("aiohttp."):
        return None
    import aiohttp  # already loaded, by whoever raised

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
