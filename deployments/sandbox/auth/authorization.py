"""Owns path 1 of the specification's section 5: whether an authorization request is good, the way
back, and codes, granted by a person and good once for whoever asked (RFC 7636, method S256)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from callsheet.deployments.sandbox.auth import clients, grants, keys, oauth
from callsheet.deployments.sandbox.auth.clients import Client
from callsheet.deployments.sandbox.auth.grants import GrantOutcome
from callsheet.deployments.sandbox.auth.keys import digest, new_secret
from callsheet.deployments.sandbox.auth.oauth import Fields, Lifetimes, OAuthError, needed
from callsheet.deployments.sandbox.auth.pages import PageRefused, SentBack
from callsheet.deployments.sandbox.tables import insert

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
        """Give the address that carries an answer to the program (issuer: RFC 9207)."""
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
        return grants.refuse("invalid_grant", "code: it is not known, or belongs to another.")
    if row["key_id"] is not None:
        taken = keys.revoke_key(db, row["key_id"], now=now)
        message = "code: it was used before, so the token it gave is revoked: start again."
        return GrantOutcome(key=taken, refusal=OAuthError("invalid_grant", message))
    if now >= row["expires_at"]:
        return grants.refuse("invalid_grant", "code: it has expired: start again.")
    if redirect_uri != row["redirect_uri"]:
        return grants.refuse("invalid_grant", "redirect_uri: it is not the one that was asked for.")
    if not pkce_verifies(verifier, row["challenge"]):
        return grants.refuse("invalid_grant", "code_verifier: it does not fit the challenge.")
    outcome = grants.give_key(
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
