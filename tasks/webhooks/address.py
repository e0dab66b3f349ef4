"""Addresses of webhooks: ours are the prefix, which leads to the receiver, and a nonce."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

#: What `secrets.token_urlsafe` makes, and hardly anybody chooses as the last part of an address.
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{20,40}")


def is_under(prefix: str, url: str | None) -> bool:
    """Whether an address is the prefix and one part more."""
    part = last_part(url)
    return url is not None and bool(part) and is_same(url, prefix + part)


def last_part(url: str | None) -> str:
    """Return what stands after the last slash; empty for nothing."""
    return (url or "").rstrip("/").rpartition("/")[2]


def looks_random(part: str) -> bool:
    """Whether the last part of an address looks as if a program had made it."""
    return _RANDOM.fullmatch(part) is not None


def is_same(one: str, other: str) -> bool:
    """Whether two addresses are one, however the service writes it."""
    try:
        return _parts(one) == _parts(other)
    except ValueError:
        return False


def _parts(url: str) -> tuple[object, ...]:
    found = urlsplit(url.rstrip("/"))
    port = found.port or {"http": 80, "https": 443}.get(found.scheme)
    return found.scheme, found.hostname, port, found.path, found.query
