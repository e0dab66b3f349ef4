"""What became of one request: told from a status, or from the exception that ended it.

The rule where nothing fits: once a request may have left, its outcome is not known.
"""

from __future__ import annotations

import ssl
from enum import Enum

import httpx


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


#: After these the request may have been carried out.
UNKNOWN = frozenset({Outcome.TROUBLE, Outcome.LOST, Outcome.CUT, Outcome.SHAPELESS})

_NEVER_LEFT: dict[type[Exception], Outcome] = {
    httpx.ConnectError: Outcome.UNREACHED,
    httpx.ConnectTimeout: Outcome.UNREACHED,
    httpx.PoolTimeout: Outcome.UNREACHED,
    httpx.ProxyError: Outcome.UNREACHED,
    httpx.LocalProtocolError: Outcome.UNSENDABLE,
    httpx.UnsupportedProtocol: Outcome.UNSENDABLE,
    httpx.InvalidURL: Outcome.UNSENDABLE,
}


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
    aiohttp_error = _of_aiohttp(error) or _of_aiohttp(error.__cause__)
    if aiohttp_error is not None:
        found = aiohttp_error
    elif isinstance(error, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError):
        found = _NEVER_LEFT.get(type(error), Outcome.LOST)
    elif isinstance(error, OSError | EOFError):
        found = Outcome.LOST
    else:
        return None
    return Outcome.UNSENDABLE if found is Outcome.UNREACHED and _untrusted(error) else found


def _of_aiohttp(error: BaseException | None) -> Outcome | None:
    # httpx-aiohttp reports a connection lost after sending as ConnectTimeout, and lets some of
    # aiohttp's errors through as they are. Only the error underneath tells sent from not sent.
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
