"""Owns the grants that are polled for: a device code (path 2 of the specification's section 5, RFC
8628) and the claim of a program that knows its user's e-mail address (path 3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from callsheet.deployments.sandbox.auth import approvals, clients, keys, oauth, pages
from callsheet.deployments.sandbox.auth.approvals import CodeApproval
from callsheet.deployments.sandbox.auth.keys import ApiKey, digest, new_secret
from callsheet.deployments.sandbox.auth.oauth import Fields, Lifetimes, OAuthError, needed
from callsheet.deployments.sandbox.tables import insert

NOT_ENABLED = {
    "anonymous": ("anonymous_not_enabled", "No agent comes in without a user: use service_auth."),
    "identity_assertion": ("issuer_not_enabled", "No issuer is trusted here: use service_auth."),
}


@dataclass(frozen=True, kw_only=True)
class GrantOutcome:
    """What a request for a token comes to: a key made, a key taken back, a refusal.

    A value and not an exception, which would undo in the state what belongs to a refusal.
    """

    key: ApiKey | None = None
    value: str = ""
    refusal: OAuthError | None = None


def refuse(error: str, description: str) -> GrantOutcome:
    """Refuse a request for a token."""
    return GrantOutcome(refusal=OAuthError(error, description))


def give_key(
    db: sqlite3.Connection,
    *,
    app: str,
    scopes: Sequence[str],
    email: str,
    lifetimes: Lifetimes,
    now: float,
) -> GrantOutcome:
    """Make a key for a program that a person approved."""
    key, value = keys.issue_key(
        db, name=app, scopes=scopes, made_by=email, now=now, lifetime=lifetimes.token
    )
    return GrantOutcome(key=key, value=value)


def token_answer(outcome: GrantOutcome, lifetimes: Lifetimes) -> dict[str, object]:
    """Give the success body, the same for every grant (specification, section 5)."""
    assert outcome.key is not None
    return {
        "access_token": outcome.value,
        "token_type": "Bearer",
        "expires_in": int(lifetimes.token),
        "scope": " ".join(outcome.key.scopes),
    }


def begin_device(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[CodeApproval, str]:
    """Make a user code; give it with the device code that belongs to it. Raises OAuthError."""
    client = clients.presented_client(db, said, clients.DEVICE_GRANT)
    device_code = new_secret("dev")
    said_name = clients.app_name(said.get("client_name"))
    approval = approvals.ask(
        db,
        kind="device",
        secret=digest(device_code),
        # What was registered cannot be dressed up as something else afterwards.
        app=said_name if client is None else client.name,
        scopes=oauth.asked_scopes(said.get("scope")),
        client_id=None if client is None else client.id,
        lifetimes=lifetimes,
        now=now,
    )
    return approval, device_code


def redeem_device(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> GrantOutcome:
    """Give the token, or say how the approval stands. Raises OAuthError for what cannot be."""
    (device_code,) = needed(said, "device_code")
    client = clients.presented_client(db, said, clients.DEVICE_GRANT)
    approval = approvals.latest(db, "device", digest(device_code))
    if approval is None:
        return refuse("invalid_grant", "device_code: it is not known.")
    if approval.client_id is not None:
        needed(said, "client_id")
    if client is not None and approval.client_id not in (None, client.id):
        return refuse("invalid_grant", "device_code: it belongs to another client.")
    return answer_poll(
        db, approval, lifetimes, until=approval.expires_at, expired="Start again.", now=now
    )


def answer_poll(
    db: sqlite3.Connection,
    approval: CodeApproval,
    lifetimes: Lifetimes,
    *,
    until: float,
    expired: str,
    now: float,
) -> GrantOutcome:
    """Answer a poll by the approval's state; an approved one is good `until` then.

    `expired` is what to do about one that is not good any more.
    """
    if approval.state == "used":
        return refuse("invalid_grant", "Its token was fetched already: start again.")
    if approval.state == "denied":
        return refuse("access_denied", "The user declined.")
    if now >= (until if approval.state == "approved" else approval.expires_at):
        return refuse("expired_token", f"The code has expired. {expired}")
    if approval.state == "pending":
        return GrantOutcome(refusal=approvals.poll(db, approval, lifetimes, now=now))
    approvals.use(db, approval)
    return give_key(
        db,
        app=approval.app,
        scopes=approval.granted,
        email=approval.answered_by or "",
        lifetimes=lifetimes,
        now=now,
    )


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


def begin_claim(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Claim, CodeApproval, str]:
    """Make a claim and its first user code; give both and the claim token. Raises OAuthError."""
    (kind,) = needed(said, "type")
    if kind in NOT_ENABLED:
        raise OAuthError(*NOT_ENABLED[kind])
    if kind != "service_auth":
        raise OAuthError("invalid_request", "type: only service_auth is supported.")
    (hint,) = needed(said, "login_hint")
    email = pages.email_of(hint)
    if email is None:
        raise OAuthError("invalid_request", "login_hint: has to be an e-mail address.")
    token = new_secret("clm")
    claim = Claim(
        digest=digest(token),
        email=email,
        app=clients.app_name(said.get("client_name")),
        scopes=oauth.asked_scopes(said.get("scope")),
        expires_at=now + lifetimes.claim,
    )
    insert(db, "claims", **{**vars(claim), "scopes": " ".join(claim.scopes)})
    return claim, _ask_for_claim(db, claim, lifetimes, now=now), token


def renew_claim(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Claim, CodeApproval]:
    """Make a fresh user code after the last one expired unanswered. Raises OAuthError."""
    (token,) = needed(said, "claim_token")
    claim = _find_claim(db, token)
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
    return claim, _ask_for_claim(db, claim, lifetimes, now=now)


def redeem_claim(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> GrantOutcome:
    """Give the token, or say how the claim stands. Raises invalid_request."""
    (token,) = needed(said, "claim_token")
    claim = _find_claim(db, token)
    approval = approvals.latest(db, "claim", digest(token))
    if claim is None or approval is None:
        return refuse("invalid_grant", "claim_token: it is not known.")
    expired = "Ask for a fresh one at /agent/identity/claim."
    return answer_poll(db, approval, lifetimes, until=claim.expires_at, expired=expired, now=now)


def _ask_for_claim(
    db: sqlite3.Connection, claim: Claim, lifetimes: Lifetimes, *, now: float
) -> CodeApproval:
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


def _find_claim(db: sqlite3.Connection, token: str) -> Claim | None:
    row = db.execute("SELECT * FROM claims WHERE digest = ?", (digest(token),)).fetchone()
    return None if row is None else Claim.from_row(row)
