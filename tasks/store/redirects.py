"""Asks for files at signed addresses, and looks at every redirect on the way there.

Sends no credentials, no cookies and every address exactly as it was given: `%2F` in a query that is
quoted again becomes `/`, and a signature made over the exact text no longer fits.
"""

from __future__ import annotations

from collections.abc import Mapping

from yarl import URL

from callsheet.tasks.runtime.connections import ERRORS, Answer, Connections, address
from callsheet.tasks.runtime.errors import StoreError

#: Whatever may go wrong on the way; ValueError is what an address that is none may end in.
NETWORK_ERRORS = (*ERRORS, ValueError)

_REDIRECTS = 3
_REDIRECT = {301, 302, 303, 307, 308}
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "callsheet"}


class Redirects:
    """Asks over connections that have no credentials of ours."""

    def __init__(self, *, allow_http: bool, stall_seconds: float) -> None:
        self._allow_http = allow_http
        self._stall_seconds = stall_seconds
        self._connections = Connections(
            _HEADERS, limit=0, connect=stall_seconds, pool=stall_seconds
        )

    async def answer(self, text: str, headers: Mapping[str, str]) -> Answer:
        """Return the first answer that is no redirect, to be closed by anyone who takes it.

        Raises StoreError for an address that must not be followed, or one of NETWORK_ERRORS.
        """
        url = check_address(text, allow_http=self._allow_http)
        for _ in range(_REDIRECTS + 1):
            answer = await self._connections.exchange(
                url, headers=headers, read=self._stall_seconds, decompress=False
            )
            if answer.status not in _REDIRECT:
                return answer
            answer.close()
            location = answer.headers.get("location", "")
            url = check_address(location, allow_http=self._allow_http, base=url)
        raise StoreError("the download address led from one place to the next more than 3 times")

    async def aclose(self) -> None:
        """Close every connection."""
        await self._connections.aclose()


def check_address(text: str, *, allow_http: bool, base: URL | None = None) -> URL:
    """Return the address `text` (a redirect's, seen from `base`) or raise StoreError."""
    url = _parse(text, base)
    if url is None or not url.host:
        raise StoreError("the service gave a download address that cannot be read")
    if url.raw_user is not None or url.raw_password is not None:
        message = f"the download address at {url.host} holds a user name; it was not used"
        raise StoreError(message, permanent=True)
    # Even where plain http is allowed, nothing may lead from a private road to a public one.
    downgraded = base is not None and base.scheme == "https"
    if url.scheme != "https" and (url.scheme != "http" or downgraded or not allow_http):
        message = f"the download address at {url.host} is not https; it was not used"
        raise StoreError(message, permanent=True)
    return url


def _parse(text: str, base: URL | None) -> URL | None:
    try:
        url = address(text)
        return base.join(url) if base is not None else url
    except ValueError:
        return None
