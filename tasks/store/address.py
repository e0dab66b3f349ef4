"""Which addresses a film may be downloaded from. Never repeats one: it may be signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.errors import StoreError

if TYPE_CHECKING:
    import httpx


def check_address(text: str, *, allow_http: bool, base: httpx.URL | None = None) -> httpx.URL:
    """Return the address `text` (a redirect's, seen from `base`) or raise StoreError."""
    url = _parse(text, base)
    if url is None or not url.host:
        raise StoreError("the service gave a download address that cannot be read")
    if url.userinfo:
        message = f"the download address at {url.host} holds a user name; it was not used"
        raise StoreError(message, permanent=True)
    # Even where plain http is allowed, nothing may lead from a private road to a public one.
    downgraded = base is not None and base.scheme == "https"
    if url.scheme != "https" and (url.scheme != "http" or downgraded or not allow_http):
        message = f"the download address at {url.host} is not https; it was not used"
        raise StoreError(message, permanent=True)
    return url


def _parse(text: str, base: httpx.URL | None) -> httpx.URL | None:
    import httpx

    try:
        return base.join(text) if base is not None else httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError):
        return None
