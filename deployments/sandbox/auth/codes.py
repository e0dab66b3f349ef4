"""Owns the codes of path 1 in section 5 of the specification: granted by a person, good once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from deployments.sandbox.auth import clients, grants, key_table, pkce
from deployments.sandbox.auth.authorization import Asking
from deployments.sandbox.auth.fields import Fields, needed
from deployments.sandbox.auth.grants import Outcome
from deployments.sandbox.auth.lifetimes import Lifetimes
from deployments.sandbox.auth.refusals import OAuthError
from deployments.sandbox.auth.secret import digest, new_secret


def grant(
    db: sqlite3.Connection,
    asking: Asking,
    *,
    granted: Sequence[str],
    email: str,
    lifetimes: Lifetimes,
    now: float,
) -> str:
    """Make a code for what a person granted; good once, for the lifetime of codes."""
    code = new_secret("code")
    db.execute(
        "INSERT INTO authorization_codes"
        " (digest, client_id, redirect_uri, challenge, scopes, email, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            digest(code),
            asking.client.id,
            asking.redirect_uri,
            asking.challenge,
            " ".join(granted),
            email,
            now + lifetimes.code,
        ),
    )
    return code


def redeem(db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float) -> Outcome:
    """Give the token for a code. A code that comes again takes its token back (RFC 6749, 4.1.2)."""
    names = ("code", "redirect_uri", "client_id", "code_verifier")
    code, redirect_uri, client_id, verifier = needed(said, *names)
    client = clients.presented(db, said, clients.CODE_GRANT)
    row = db.execute(
        "SELECT * FROM authorization_codes WHERE digest = ?", (digest(code),)
    ).fetchone()
    if client is None or row is None or row["client_id"] != client_id:
        return grants.refuse("invalid_grant", "code: it is not known, or belongs to another.")
    if row["key_id"] is not None:
        taken = key_table.revoke(db, row["key_id"], now=now)
        message = "code: it was used before, so the token it gave is revoked: start again."
        return Outcome(key=taken, refusal=OAuthError("invalid_grant", message))
    if now >= row["expires_at"]:
        return grants.refuse("invalid_grant", "code: it has expired: start again.")
    if redirect_uri != row["redirect_uri"]:
        return grants.refuse("invalid_grant", "redirect_uri: it is not the one that was asked for.")
    if not pkce.verifies(verifier, row["challenge"]):
        return grants.refuse("invalid_grant", "code_verifier: it does not fit the challenge.")
    outcome = grants.give(
        db,
        app=client.name,
        scopes=row["scopes"].split(),
        email=row["email"],
        lifetimes=lifetimes,
        now=now,
    )
    assert outcome.key is not None
    db.execute(
        "UPDATE authorization_codes SET key_id = ? WHERE digest = ?",
        (outcome.key.id, row["digest"]),
    )
    return outcome
