"""Owns what the token endpoint answers: which grant it is, and what that comes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from deployments.sandbox.auth import key_table
from deployments.sandbox.auth.key_table import Key
from deployments.sandbox.auth.lifetimes import Lifetimes
from deployments.sandbox.auth.refusals import OAuthError


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a request for a token comes to: a key made, a key taken back, a refusal.

    A value and not an exception, which would undo in the state what belongs to a refusal.
    """

    key: Key | None = None
    value: str = ""
    refusal: OAuthError | None = None


def refuse(error: str, description: str) -> Outcome:
    """Refuse a request for a token."""
    return Outcome(refusal=OAuthError(error, description))


def give(
    db: sqlite3.Connection,
    *,
    app: str,
    scopes: Sequence[str],
    email: str,
    lifetimes: Lifetimes,
    now: float,
) -> Outcome:
    """Make a key for a program that a person approved."""
    key, value = key_table.issue(
        db, name=app, scopes=scopes, made_by=email, now=now, lifetime=lifetimes.token
    )
    return Outcome(key=key, value=value)


def success(outcome: Outcome, lifetimes: Lifetimes) -> dict[str, object]:
    """Give the success body, the same for every grant (specification, section 5)."""
    assert outcome.key is not None
    return {
        "access_token": outcome.value,
        "token_type": "Bearer",
        "expires_in": int(lifetimes.token),
        "scope": " ".join(outcome.key.scopes),
    }
