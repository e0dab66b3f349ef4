"""The ways in (specification, section 5): registered programs, what waits for a person, and the
three grants that end in a key.

All three are one `Approval`. It goes `pending -> approved | denied`, and `approved -> used` once
the program has fetched its token; an authorization code is approved from the start. Whatever is
secret is kept as its sha256.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import secrets
import sqlite3
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox.auth.keys import SCOPES, ApiKey, digest, issue_key, new_secret
from callsheet.deployments.sandbox.database import Document, every, find, put
from callsheet.deployments.sandbox.envelope import Refusal, RefusedCall, parsed

CODE_GRANT = "authorization_code"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CLAIM_GRANT = "urn:service:agent-auth:grant-type:claim"
#: What a request for a token has to hold by its grant, the secret first.
GRANTS = {
    CODE_GRANT: ("code", "redirect_uri", "client_id", "code_verifier"),
    DEVICE_GRANT: ("device_code",),
    CLAIM_GRANT: ("claim_token",),
}
#: However fast the time: what is gone before a person or a program can use it is of no use.
SHORTEST_LIFETIME = 5.0
#: A poll may come this much of the interval early: the network does not deliver all at one speed.
SLACK = 0.1
#: Consonants only: no code spells a word, and none looks like a digit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
LONGEST_NAME = 100
EMAIL = r"^[^@\s]+@[^@\s]+$"
NOT_ENABLED = {
    "anonymous": ("anonymous_not_enabled", "No agent comes in without a user: use service_auth."),
    "identity_assertion": ("issuer_not_enabled", "No issuer is trusted here: use service_auth."),
}
#: The error for a member that is wrong, where it is not that of the whole request.
ERROR_OF_MEMBER = {
    "scope": "invalid_scope",
    "response_type": "unsupported_response_type",
    "redirect_uris": "invalid_redirect_uri",
}


class Lifetimes:
    """Seconds, divided by the time scale. What is told is what is kept to."""

    def __init__(self, time_scale: float) -> None:
        self.code = max(SHORTEST_LIFETIME, 600 / time_scale)
        self.claim = max(3 * SHORTEST_LIFETIME, 86_400 / time_scale)
        self.token = max(SHORTEST_LIFETIME, 365 * 86_400 / time_scale)
        #: Whole seconds, at least 1: how long to wait between polls, and how much longer after
        #: each that came too soon.
        self.interval = max(1, math.ceil(5 / time_scale))


class OAuthError(RefusedCall):
    """A refusal to a program: `{"error", "error_description"}`, and `interval` where it helps."""

    def __init__(
        self, error: str, description: str, *, status: int = 400, interval: int | None = None
    ) -> None:
        super().__init__(description)
        self.said = {"error": error, "error_description": description}
        self.status = status
        self.interval = {} if interval is None else {"interval": interval}

    def answer(self) -> Response:
        headers = {**NO_STORE, "www-authenticate": "Bearer"} if self.status == 401 else NO_STORE
        return JSONResponse({**self.said, **self.interval}, self.status, headers)


AppName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
UNNAMED = "A program without a name"
#: https anywhere, http on this machine alone (RFC 8252, 7.3); a fragment could never come back.
Redirect = Annotated[
    str,
    StringConstraints(
        pattern=r"^(https://|http://(localhost|127[.]0[.]0[.]1|\[::1\])[:/])[^#@ ]*$"
    ),
]


class Asked(BaseModel):
    """What a program sends, and the error for what is wrong with it."""

    error: ClassVar[str] = "invalid_request"


class Registration(Asked):
    """A program that registers. One that names no grant may also use that of devices."""

    error: ClassVar[str] = "invalid_client_metadata"
    client_name: AppName = UNNAMED
    redirect_uris: list[Redirect] = []
    grant_types: list[str] = [CODE_GRANT, DEVICE_GRANT]
    token_endpoint_auth_method: Literal["none"] = "none"


class ScopesAsked(Asked):
    """A request for scopes, all of them where it names none."""

    scope: str = Field(" ".join(SCOPES), pattern=r"^((read|write|ai)( (read|write|ai))*)?$")

    @property
    def scopes(self) -> tuple[str, ...]:
        return ordered_scopes(self.scope.split(" "))


class CodeRequest(ScopesAsked):
    """The request that sends a person to the authorization page (path 1)."""

    client_id: str
    redirect_uri: str
    response_type: Literal["code"]
    code_challenge: str
    code_challenge_method: Literal["S256"]
    state: str | None = None


class DeviceRequest(ScopesAsked):
    """What a program says to get a device code; all of it is optional."""

    client_name: str = Field(UNNAMED, max_length=LONGEST_NAME)
    client_id: str | None = None


class ClaimRequest(ScopesAsked):
    """What a program says of the person whose account it wants to use (path 3)."""

    type: Literal["service_auth"]
    login_hint: str
    client_name: AppName = UNNAMED


Fields = dict[str, Any]
AnyAsked = TypeVar("AnyAsked", bound=Asked)


def read(kind: type[AnyAsked], said: Mapping[str, Any]) -> AnyAsked:
    """Read what a program sent. Raises OAuthError naming the first member that is wrong."""
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        trouble = error.errors(include_url=False, include_input=False)[0]
    name, message = str(trouble["loc"][0]), trouble["msg"]
    missing = trouble["type"] == "missing"
    raise OAuthError(
        kind.error if missing else ERROR_OF_MEMBER.get(name, kind.error), f"{name}: {message}."
    )


def read_grant(said: Fields) -> str:
    """Give the grant that a program asks a token for. Raises OAuthError."""
    grant = said.get("grant_type")
    for name in ("grant_type", *GRANTS.get(str(grant), ())):
        if name not in said:
            raise OAuthError("invalid_request", f"{name} is missing.")
    if grant not in GRANTS:
        raise OAuthError("unsupported_grant_type", f"grant_type: one of {', '.join(GRANTS)}.")
    return str(grant)


async def form_of(request: Request) -> QueryParams:
    """Read a form as it was filled in."""
    return QueryParams((await request.body()).decode(errors="replace"))


async def fields_of(request: Request) -> Fields:
    """Read a form or a JSON object. An empty member counts as not said (RFC 6749, 3.2)."""
    is_json = "json" in request.headers.get("content-type", "")
    said: Mapping[str, Any] = await (json_of(request) if is_json else form_of(request))
    return {name: value for name, value in said.items() if value not in ("", None)}


async def json_of(request: Request, error: str = "invalid_request") -> Fields:
    """Read a JSON object, or refuse it with this error."""
    try:
        said = parsed(await request.body())
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise OAuthError(error, "The body has to be a JSON object.")
    return said


def ordered_scopes(scopes: Collection[str]) -> tuple[str, ...]:
    """Put scopes in their one order, each once; what is no scope is left out."""
    return tuple(scope for scope in SCOPES if scope in scopes)


def email_of(said: str) -> str | None:
    """Read an e-mail address, the same however it is capitalized; None if it is none."""
    email = said.strip().casefold()
    return email if re.fullmatch(EMAIL, email) else None


class Client(Document):
    """One registered program."""

    name: str
    redirect_uris: list[str]
    grant_types: list[str]
    created_at: float


def register(db: sqlite3.Connection, asked: Registration, *, now: float) -> Client:
    """Register what a program says about itself. Raises the errors of RFC 7591 (3.2.2)."""
    # What is not known here is left out, and the answer says what is left (RFC 7591, 3.2.1).
    grants = [grant for grant in GRANTS if grant in asked.grant_types]
    if not grants:
        raise OAuthError(asked.error, f"grant_types: there are {', '.join(GRANTS)}.")
    if CODE_GRANT in grants and not asked.redirect_uris:
        raise OAuthError("invalid_redirect_uri", "redirect_uris: is missing.")
    client = Client(
        id=f"client_{secrets.token_hex(12)}", name=asked.client_name, grant_types=grants,
        redirect_uris=asked.redirect_uris, created_at=now,
    )  # fmt: skip
    return put(db, client)


def client_of(db: sqlite3.Connection, client_id: str | None, grant: str) -> Client | None:
    """Give the program that a request names, if it names one. Raises OAuthError for one that is not
    known, or that registered for other grants."""
    if client_id is None:
        return None
    client = find(db, Client, client_id)
    if client is None:
        message = "client_id: no program is registered under it; register at /api/oauth/register."
        raise OAuthError("invalid_client", message, status=401)
    if grant not in client.grant_types:
        raise OAuthError("unauthorized_client", "client_id: it is not registered for this grant.")
    return client


class Approval(Document):
    """What waits for a person, by the user code that they type (RFC 8628, 6.1).

    `secret` is the digest of what the program fetches its token with: a device code, the claim
    token that several user codes may have in turn, or an authorization code, which has no user
    code. `email` is who alone may answer, None anyone. A code is good until `expires_at`, an
    approved one `until` then; `interval` is in seconds.
    """

    grant: str
    secret: str
    app: str
    client_id: str | None = None
    redirect_uri: str | None = None
    challenge: str | None = None
    email: str | None = None
    scopes: tuple[str, ...]
    state: str = "pending"
    granted: tuple[str, ...] = ()
    expires_at: float
    until: float
    interval: int
    polled_at: float | None = None

    def found_by(self) -> tuple[str, str, float]:
        return f"{self.grant} {self.secret}", self.state, 0.0


def new_user_code() -> str:
    """Make a code such as `WDJB-MJHT`."""
    return normal_code("".join(secrets.choice(LETTERS) for _ in range(8)))


def normal_code(typed: str) -> str:
    """Bring what was typed into the form codes are kept in, whatever its case and dashes."""
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())[:9]
    return f"{letters[:4]}-{letters[4:]}"


def waiting(db: sqlite3.Connection, *, now: float) -> list[Approval]:
    """Give every user code that still waits for a person."""
    return [one for one in every(db, Approval, state="pending") if one.expires_at > now]


def open_to(db: sqlite3.Connection, user_code: str, *, now: float) -> Approval:
    """Give the approval that a person may answer now. Raises 404, 409 or 410."""
    approval = find(db, Approval, user_code)
    if approval is None:
        raise Refusal(404, "not_found", "This code is not known. Compare it with the program's.")
    if approval.state != "pending":
        raise Refusal(409, "already_answered", "This code has been answered already.")
    if approval.expires_at <= now:
        raise Refusal(410, "expired", "This code has expired. Ask the program for a new one.")
    return approval


def answer(
    db: sqlite3.Connection, user_code: str, email: str, granted: Collection[str], *, now: float
) -> Approval:
    """Write down what a person said: the scopes granted, none of them for no. Raises as open_to,
    and 403 for a request that another account was asked for."""
    approval = open_to(db, user_code, now=now)
    if approval.email not in (None, email_of(email)):
        message = (
            f"This request is for another account than {email}: give the e-mail address that the "
            "program was given."
        )
        raise Refusal(403, "other_account", message)
    if not set(granted) <= set(approval.scopes):
        asked = ", ".join(approval.scopes)
        raise Refusal(400, "invalid_scope", f"The program asked for {asked} and nothing else.")
    state = "approved" if granted else "denied"
    held = ordered_scopes(granted)
    return put(db, approval.changed(state=state, granted=held))


def begin_device(
    db: sqlite3.Connection, asked: DeviceRequest, lifetimes: Lifetimes, *, now: float
) -> tuple[Approval, str]:
    """Make a user code; give it with the device code that belongs to it. Raises OAuthError."""
    client, code = client_of(db, asked.client_id, DEVICE_GRANT), new_secret("dev")
    until = now + lifetimes.code
    approval = Approval(
        id=new_user_code(), grant=DEVICE_GRANT, secret=digest(code), scopes=asked.scopes,
        # What was registered cannot be dressed up as something else afterwards.
        app=client.name if client else asked.client_name, client_id=asked.client_id,
        expires_at=until, until=until, interval=lifetimes.interval,
    )  # fmt: skip
    return put(db, approval), code


def begin_claim(
    db: sqlite3.Connection, asked: ClaimRequest, lifetimes: Lifetimes, *, now: float
) -> tuple[Approval, str]:
    """Make a claim's first user code; give it with the claim token. Raises OAuthError."""
    email, token = email_of(asked.login_hint), new_secret("clm")
    if email is None:
        raise OAuthError(asked.error, "login_hint: has to be an e-mail address.")
    approval = Approval(
        id=new_user_code(), grant=CLAIM_GRANT, secret=digest(token), scopes=asked.scopes,
        app=asked.client_name, email=email, expires_at=now + lifetimes.code,
        until=now + lifetimes.claim, interval=lifetimes.interval,
    )  # fmt: skip
    return put(db, approval), token


def renew_claim(
    db: sqlite3.Connection, token: str, lifetimes: Lifetimes, *, now: float
) -> Approval:
    """Make a fresh user code after the last one expired unanswered. Raises OAuthError."""
    approval = _latest(db, CLAIM_GRANT, token)
    if approval is None:
        raise OAuthError("invalid_claim_token", "claim_token: it is not known.")
    if approval.state == "pending" and now >= approval.until:
        message = "The claim token has expired: start again at /agent/identity."
        raise OAuthError("claim_expired", message, status=410)
    if approval.state != "pending" or now < approval.expires_at:
        message = "The last user code is still good, or the user has answered already."
        raise OAuthError("claimed_or_in_flight", message, status=409)
    fresh = {"id": new_user_code(), "expires_at": now + lifetimes.code, "polled_at": None}
    return put(db, approval.changed(**fresh, interval=lifetimes.interval))


def grant_code(
    db: sqlite3.Connection,
    asked: CodeRequest,
    client: Client,
    *,
    granted: tuple[str, ...],
    until: float,
) -> str:
    """Make an authorization code for what a person granted."""
    code = new_secret("code")
    approval = Approval(
        id=digest(code), grant=CODE_GRANT, secret=digest(code), app=client.name,
        client_id=client.id, redirect_uri=asked.redirect_uri, challenge=asked.code_challenge,
        scopes=asked.scopes, state="approved", granted=granted, expires_at=until, until=until,
        interval=0,
    )  # fmt: skip
    put(db, approval)
    return code


def _latest(db: sqlite3.Connection, grant: str, secret: str) -> Approval | None:
    """Give the newest approval behind a device code, claim token or authorization code."""
    found = every(db, Approval, owner=f"{grant} {digest(secret)}")
    return found[-1] if found else None


def redeem(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[ApiKey, str] | OAuthError:
    """Give the key for what a program sends, with its value, or say how its approval stands.

    That is given and not raised, which would undo in the state what a poll leaves behind.
    """
    grant, client_id = read_grant(said), said.get("client_id")
    client_of(db, client_id, grant)
    approval = _latest(db, grant, str(said[GRANTS[grant][0]]))
    if approval is None or approval.client_id not in (None, client_id):
        return OAuthError("invalid_grant", "It is not known, or belongs to another program.")
    if grant == CODE_GRANT and not _proves(said, approval):
        return OAuthError("invalid_grant", "redirect_uri or code_verifier: not those of the code.")
    if approval.state == "used":
        return OAuthError("invalid_grant", "Its token was fetched already: start again.")
    if approval.state == "denied":
        return OAuthError("access_denied", "The user declined.")
    if now >= (approval.until if approval.state == "approved" else approval.expires_at):
        error = "invalid_grant" if grant == CODE_GRANT else "expired_token"
        return OAuthError(error, "The code has expired: start again, or renew the claim.")
    if approval.state == "pending":
        return _not_yet(db, approval, lifetimes, now)
    put(db, approval.changed(state="used"))
    return issue_key(
        db, name=approval.app, scopes=approval.granted, now=now, lifetime=lifetimes.token
    )


def _proves(said: Fields, approval: Approval) -> bool:
    """Say whether a program is the one that sent the person (PKCE, RFC 7636)."""
    hashed = hashlib.sha256(str(said["code_verifier"]).encode()).digest()
    challenge = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
    return (said["redirect_uri"], challenge) == (approval.redirect_uri, approval.challenge)


def _not_yet(
    db: sqlite3.Connection, approval: Approval, lifetimes: Lifetimes, now: float
) -> OAuthError:
    interval, before = approval.interval, approval.polled_at
    early = before is not None and now - before < interval * (1 - SLACK)
    interval += lifetimes.interval if early else 0
    put(db, approval.changed(polled_at=now, interval=interval))
    if not early:
        return OAuthError("authorization_pending", "Nobody has answered yet: keep polling.")
    message = f"Polls came too close together: wait {interval} seconds from now on."
    return OAuthError("slow_down", message, interval=interval)
