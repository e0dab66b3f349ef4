"""Owns the authorization request of path 1 in section 5: whether it is good, and the way back."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from deployments.sandbox.auth import clients, pkce, redirects, scopes
from deployments.sandbox.auth.clients import Client
from deployments.sandbox.auth.fields import Fields, needed
from deployments.sandbox.auth.refusals import OAuthError, PageRefused, SentBack

MEMBERS = (
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
)


@dataclass(frozen=True, kw_only=True)
class Asking:
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
        return redirects.with_answer(self.redirect_uri, members)


def read_request(
    db: sqlite3.Connection, pairs: Sequence[tuple[str, str]], *, issuer: str
) -> Asking:
    """Check an authorization request.

    Raises PageRefused while its redirect address is not to be trusted; from then on SentBack,
    which takes the error to the program.
    """
    said = {name: value for name, value in pairs if value and name in MEMBERS}
    counts = Counter(name for name, _ in pairs if name in MEMBERS)
    twice = {name for name, count in counts.items() if count > 1}
    client = _trusted(db, said, twice)
    asking = Asking(
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
    client = clients.get(db, said.get("client_id", ""))
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


def _checked(asking: Asking, said: Fields, twice: set[str]) -> Asking:
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
    if not pkce.is_well_formed(challenge):
        raise OAuthError("invalid_request", "code_challenge: has to be 43 to 128 characters.")
    return Asking(**{**vars(asking), "scopes": scopes.asked(said.get("scope"))})
