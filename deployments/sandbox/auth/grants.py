"""Grants: authorization codes, device codes, claims."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from callsheet.deployments.sandbox.auth import clients, oauth, pages
from callsheet.deployments.sandbox.auth.clients import ApiKey, Client, digest, new_secret
from callsheet.deployments.sandbox.auth.oauth import (
    CodeApproval,
    Fields,
    Lifetimes,
    OAuthError,
    needed,
)
from callsheet.deployments.sandbox.auth.pages import PageRefused, SentBack
from callsheet.deployments.sandbox.database import insert

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
    key, value = clients.issue_key(
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
    approval = oauth.ask(
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
    approval = oauth.latest(db, "device", digest(device_code))
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
        return GrantOutcome(refusal=oauth.poll(db, approval, lifetimes, now=now))
    oauth.use(db, approval)
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
    approval = oauth.latest(db, "claim", digest(token))
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
    approval = oauth.latest(db, "claim", digest(token))
    if claim is None or approval is None:
        return refuse("invalid_grant", "claim_token: it is not known.")
    expired = "Ask for a fresh one at /agent/identity/claim."
    return answer_poll(db, approval, lifetimes, until=claim.expires_at, expired=expired, now=now)


def _ask_for_claim(
    db: sqlite3.Connection, claim: Claim, lifetimes: Lifetimes, *, now: float
) -> CodeApproval:
    return oauth.ask(
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


# Owns path 1 of the specification's section 5: whether an authorization request is good, the way
# back, and codes, granted by a person and good once for the caller (RFC 7636, method S256).


MEMBERS = (
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
)
PKCE = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


@dataclass(frozen=True, kw_only=True)
class AccessRequest:
    """A good authorization request, and how to answer it."""

    client: Client
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    state: str | None
    issuer: str

    def answered(self, **answer: str) -> str:
        """Give the address that takes an answer to the program (issuer: RFC 9207)."""
        members = {**answer, "state": self.state, "iss": self.issuer}
        return clients.with_answer(self.redirect_uri, members)


def read_request(
    db: sqlite3.Connection, pairs: Sequence[tuple[str, str]], *, issuer: str
) -> AccessRequest:
    """Check an authorization request.

    Raises PageRefused while its redirect address is not to be trusted; from then on SentBack,
    which takes the error to the program.
    """
    said = {name: value for name, value in pairs if value and name in MEMBERS}
    counts = Counter(name for name, _ in pairs if name in MEMBERS)
    twice = {name for name, count in counts.items() if count > 1}
    client = _trusted(db, said, twice)
    asking = AccessRequest(
        client=client,
        redirect_uri=said["redirect_uri"],
        challenge=said.get("code_challenge", ""),
        scopes=(),
        state=None if "state" in twice else said.get("state"),
        issuer=issuer,
    )
    try:
        return _checked(asking, said, twice)
    except OAuthError as error:
        raise SentBack(
            asking.answered(error=error.error, error_description=error.description)
        ) from error


def _trusted(db: sqlite3.Connection, said: Fields, twice: set[str]) -> Client:
    client = clients.find_client(db, said.get("client_id", ""))
    if client is None or "client_id" in twice:
        raise PageRefused(
            "This program is not known",
            "The program that sent you here is not registered. Start again from the program; "
            "if that does not help, its makers have to mend it.",
        )
    if said.get("redirect_uri") not in client.redirect_uris or "redirect_uri" in twice:
        raise PageRefused(
            "This request cannot be trusted",
            f"It would lead to an address that {client.name} did not register, so it ends here. "
            "Start again from the program.",
        )
    return client


def _checked(asking: AccessRequest, said: Fields, twice: set[str]) -> AccessRequest:
    if twice:
        raise OAuthError("invalid_request", "No parameter may be sent twice.")
    if clients.CODE_GRANT not in asking.client.grant_types:
        raise OAuthError("unauthorized_client", "The client did not register for this grant.")
    (response_type,) = needed(said, "response_type")
    if response_type != "code":
        raise OAuthError("unsupported_response_type", "response_type: only code.")
    challenge, method = needed(said, "code_challenge", "code_challenge_method")
    if method != "S256":
        raise OAuthError("invalid_request", "code_challenge_method: only S256.")
    if not is_pkce(challenge):
        raise OAuthError("invalid_request", "code_challenge: has to be 43 to 128 characters.")
    return AccessRequest(**{**vars(asking), "scopes": oauth.asked_scopes(said.get("scope"))})


def grant_code(
    db: sqlite3.Connection,
    asking: AccessRequest,
    *,
    granted: Sequence[str],
    email: str,
    lifetimes: Lifetimes,
    now: float,
) -> str:
    """Make a code for what a person granted; good once, for the lifetime of codes."""
    code = new_secret("code")
    insert(
        db, "authorization_codes", digest=digest(code), client_id=asking.client.id,
        redirect_uri=asking.redirect_uri, challenge=asking.challenge, scopes=" ".join(granted),
        email=email, expires_at=now + lifetimes.code,
    )  # fmt: skip
    return code


def redeem_code(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> GrantOutcome:
    """Give the token for a code. A code that comes again takes its token back (RFC 6749, 4.1.2)."""
    names = ("code", "redirect_uri", "client_id", "code_verifier")
    code, redirect_uri, client_id, verifier = needed(said, *names)
    client = clients.presented_client(db, said, clients.CODE_GRANT)
    row = db.execute(
        "SELECT * FROM authorization_codes WHERE digest = ?", (digest(code),)
    ).fetchone()
    if client is None or row is None or row["client_id"] != client_id:
        return refuse("invalid_grant", "code: it is not known, or belongs to another.")
    if row["key_id"] is not None:
        taken = clients.revoke_key(db, row["key_id"], now=now)
        message = "code: it was used before, so the token it gave is revoked: start again."
        return GrantOutcome(key=taken, refusal=OAuthError("invalid_grant", message))
    if now >= row["expires_at"]:
        return refuse("invalid_grant", "code: it has expired: start again.")
    if redirect_uri != row["redirect_uri"]:
        return refuse("invalid_grant", "redirect_uri: it is not the one that was asked for.")
    if not pkce_verifies(verifier, row["challenge"]):
        return refuse("invalid_grant", "code_verifier: it does not fit the challenge.")
    outcome = give_key(
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


def is_pkce(said: str) -> bool:
    """Say whether this can be a verifier or a challenge."""
    return PKCE.fullmatch(said) is not None


def pkce_verifies(verifier: str, challenge: str) -> bool:
    """Say whether the challenge was made of this verifier."""
    if not is_pkce(verifier):
        return False
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(made, challenge.encode())
