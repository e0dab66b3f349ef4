"""Owns redirect addresses: which may be registered, and how an answer is put into one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlencode, urlsplit

LONGEST = 2048
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'()*+,\-./:;=?@\[\]_~]+")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f:.]+")


def complaint(uri: str) -> str | None:
    """Say what keeps this address from being registered; None: nothing.

    https anywhere, http on this machine alone (RFC 8252, 7.3); a fragment could never come back.
    """
    if len(uri) > LONGEST or not _ADDRESS.fullmatch(uri):
        return "is not an address, or is too long"
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        return "has to begin with https:// or, on a loopback address, with http://"
    if parts.scheme == "http" and not _is_loopback(host):
        return "may be http only on a loopback address: use https"
    if "#" in uri or "@" in parts.netloc:
        return "may hold neither a fragment nor a user"
    return None


def with_answer(uri: str, answer: Mapping[str, str | None]) -> str:
    """Add the members of an answer that there are to the query of an address."""
    query = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def origin(uri: str) -> str:
    """Give an address's origin as a content security policy can name it."""
    parts = urlsplit(uri)
    # Such a policy knows no IPv6 address; the scheme is as near as it comes.
    return f"{parts.scheme}:" if "[" in parts.netloc else f"{parts.scheme}://{parts.netloc}"


def place(uri: str) -> str:
    """Say where an address leads, for a person."""
    parts: SplitResult = urlsplit(uri)
    return f"{parts.netloc} on this machine" if _is_loopback(parts.hostname or "") else parts.netloc


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
