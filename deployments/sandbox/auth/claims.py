"""Owns path 3 of the specification's section 5: a program that knows its user's e-mail address."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from deployments.sandbox.auth import approvals, clients, grants, people, scopes
from deployments.sandbox.auth.approvals import Approval
from deployments.sandbox.auth.device import settle
from deployments.sandbox.auth.fields import Fields, needed
from deployments.sandbox.auth.grants import Outcome
from deployments.sandbox.auth.lifetimes import Lifetimes
from deployments.sandbox.auth.refusals import OAuthError
from deployments.sandbox.auth.secret import digest, new_secret

NOT_ENABLED = {
    "anonymous": ("anonymous_not_enabled", "No agent comes in without a user: use service_auth."),
    "identity_assertion": ("issuer_not_enabled", "No issuer is trusted here: use service_auth."),
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim token, by its digest, and the user codes' common part."""

    digest: str
    email: str
    app: str
    scopes: tuple[str, ...]
    expires_at: float

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Claim:
        return cls(**{**dict(row), "scopes": tuple(row["scopes"].split())})


def begin(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Claim, Approval, str]:
    """Make a claim and its first user code; give both and the claim token. Raises OAuthError."""
    (kind,) = needed(said, "type")
    if kind in NOT_ENABLED:
        raise OAuthError(*NOT_ENABLED[kind])
    if kind != "service_auth":
        raise OAuthError("invalid_request", "type: only service_auth is supported.")
    (hint,) = needed(said, "login_hint")
    email = people.email_of(hint)
    if email is None:
        raise OAuthError("invalid_request", "login_hint: has to be an e-mail address.")
    token = new_secret("clm")
    claim = Claim(
        digest=digest(token),
        email=email,
        app=clients.app_name(said.get("client_name")),
        scopes=scopes.asked(said.get("scope")),
        expires_at=now + lifetimes.claim,
    )
    db.execute(
        "INSERT INTO claims (digest, email, app, scopes, expires_at) VALUES (?, ?, ?, ?, ?)",
        (claim.digest, claim.email, claim.app, " ".join(claim.scopes), claim.expires_at),
    )
    return claim, _ask(db, claim, lifetimes, now=now), token


def renew(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Claim, Approval]:
    """Make a fresh user code after the last one expired unanswered. Raises OAuthError."""
    (token,) = needed(said, "claim_token")
    claim = _get(db, token)
    approval = approvals.latest(db, "claim", digest(token))
    if claim is None or approval is None:
        raise OAuthError("invalid_claim_token", "claim_token: it is not known.")
    if approval.state != "pending":
        message = "The user has answered already: poll the token endpoint."
        raise OAuthError("claimed_or_in_flight", message, status=409)
    if now >= claim.expires_at:
        message = "The claim token has expired: start again at /agent/identity."
        raise OAuthError("claim_expired", message, status=410)
    if now < approval.expires_at:
        message = "The last user code is still good: show that one."
        raise OAuthError("claimed_or_in_flight", message, status=409)
    return claim, _ask(db, claim, lifetimes, now=now)


def redeem(db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float) -> Outcome:
    """Give the token, or say how the claim stands. Raises invalid_request."""
    (token,) = needed(said, "claim_token")
    claim = _get(db, token)
    approval = approvals.latest(db, "claim", digest(token))
    if claim is None or approval is None:
        return grants.refuse("invalid_grant", "claim_token: it is not known.")
    expired = "Ask for a fresh one at /agent/identity/claim."
    return settle(db, approval, lifetimes, until=claim.expires_at, expired=expired, now=now)


def _ask(db: sqlite3.Connection, claim: Claim, lifetimes: Lifetimes, *, now: float) -> Approval:
    return approvals.ask(
        db,
        kind="claim",
        secret=claim.digest,
        app=claim.app,
        email=claim.email,
        scopes=claim.scopes,
        lifetimes=lifetimes,
        now=now,
    )


def _get(db: sqlite3.Connection, token: str) -> Claim | None:
    row = db.execute("SELECT * FROM claims WHERE digest = ?", (digest(token),)).fetchone()
    return None if row is None else Claim.from_row(row)
