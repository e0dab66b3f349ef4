"""Reads what the auth server says. Errors are decided on their `error` member, whatever the status:
the specification (section 5) names codes and hardly any statuses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.errors import LoginError, shorten
from tasks.redact import redact, register_secret
from tasks.service.response import Response, Unparsable

KEY_PREFIX = "mav_"


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What every path of a login ends with; `scopes` is None where nobody said.

    `lifetime` is in seconds, None where the answer names none.
    """

    key: str = field(repr=False)
    scopes: tuple[str, ...] | None = None
    lifetime: float | None = None


def members(answer: Response) -> Mapping[str, Any] | None:
    """Return the members of a JSON object, out of the REST envelope if it is in one; else None."""
    try:
        found = answer.json()
    except Unparsable:
        return None
    if not isinstance(found, dict):
        return None
    inner = found.get("data")
    return inner if isinstance(inner, dict) and not found.get("error") else found


def error_code(answer: Response) -> str | None:
    """Return the machine code of a refusal, bare (RFC 6749) or in the envelope; None without."""
    error = (members(answer) or {}).get("error")
    if isinstance(error, dict):
        error = error.get("code")
    return plain(error)[:64] if isinstance(error, str) and error else None


def error_words(answer: Response) -> str:
    """Return what the server says of a refusal in words; empty when it says nothing."""
    found = members(answer) or {}
    error = found.get("error")
    said = error.get("message") if isinstance(error, dict) else found.get("error_description")
    return plain(said) if isinstance(said, str) else ""


def text(found: Mapping[str, Any], name: str) -> str | None:
    """Return a member that is a text with something in it, else None."""
    value = found.get(name)
    return value.strip() if isinstance(value, str) and value.strip() else None


def seconds(value: object, *, default: float) -> float:
    """Return a number of seconds above zero, from a number or a text of one."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default
    usable = math.isfinite(number) and number > 0 and not isinstance(value, bool)
    return number if usable else default


def read_grant(answer: Response) -> Grant | None:
    """Return the grant in a token answer; None when it holds no token at all.

    Raises LoginError when what it holds is no key of this service.
    """
    found = members(answer) or {}
    token = text(found, "access_token")
    if token is None or answer.status >= 300:
        return None
    register_secret(token)
    kind = text(found, "token_type") or "Bearer"
    if kind.lower() != "bearer" or not is_key(token):
        raise LoginError(
            "the auth server answered with something that is no key of the service",
            remedy="check that CALLSHEET_AUTH_URL and CALLSHEET_BASE_URL are the same service's",
        )
    scope = found.get("scope")
    scopes = tuple(plain(scope).split()) if isinstance(scope, str) else None
    lifetime = seconds(found.get("expires_in"), default=0.0)
    return Grant(key=token, scopes=scopes, lifetime=lifetime or None)


def is_key(token: str) -> bool:
    """Return whether a text has the form of a key (specification, section 5, rule 2)."""
    rest = token.removeprefix(KEY_PREFIX)
    return (
        rest != token
        and bool(rest)
        and token.isascii()
        and token.isprintable()
        and " " not in token
    )


def plain(said: str) -> str:
    """Return what a server said as one short line that cannot command a terminal."""
    return shorten(redact("".join(c if c.isprintable() else " " for c in said)), 300)
