"""The ways in (specification, section 5): registered programs, what waits for a person, and the
three grants that end in a key.

A user code goes `pending -> approved | denied`, and `approved -> used` once the program has fetched
its token. Whatever is secret is kept as its sha256.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox.auth.keys import (
    SCOPES,
    ApiKey,
    digest,
    issue_key,
    new_secret,
    revoke_key,
)
from callsheet.deployments.sandbox.database import Document, every, find, put
from callsheet.deployments.sandbox.envelope import Refusal, RefusedCall, parsed, raw_body

CODE_GRANT = "authorization_code"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CLAIM_GRANT = "urn:service:agent-auth:grant-type:claim"
CODE_LIFETIME = 600.0
CLAIM_LIFETIME = 86_400.0
TOKEN_LIFETIME = 365 * 86_400.0
POLL_INTERVAL = 5.0
#: However fast the time: what is gone before a person or a program can use it is of no use.
SHORTEST_LIFETIME = 5.0
#: A poll may come this much of the interval early: the network does not deliver all at one speed.
SLACK = 0.1
#: Consonants only: no code spells a word, and none looks like a digit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
LONGEST_BODY = 64 * 1024
LONGEST_NAME = 100
MOST_REDIRECTS = 10
#: https anywhere, http on this machine alone (RFC 8252, 7.3); a fragment could never come back.
REDIRECT = re.compile(
    r"(https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?|https?://(localhost|127(\.[0-9]{1,3}){3}|\[::1\]))"
    r"(:[0-9]{1,5})?([/?][!-\"$-~]{0,2000})?"
)
EMAIL = re.compile(r"[^@\s,;<>\"']+@[^@\s,;<>\"']{1,200}")
PKCE = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
NOT_ENABLED = {
    "anonymous": ("anonymous_not_enabled", "No agent comes in without a user: use service_auth."),
    "identity_assertion": ("issuer_not_enabled", "No issuer is trusted here: use service_auth."),
}
Fields = dict[str, str]


class Lifetimes:
    """Seconds, divided by the time scale. What is told is what is kept to."""

    def __init__(self, time_scale: float) -> None:
        self.code = max(SHORTEST_LIFETIME, CODE_LIFETIME / time_scale)
        self.claim = max(3 * SHORTEST_LIFETIME, CLAIM_LIFETIME / time_scale)
        self.token = max(SHORTEST_LIFETIME, TOKEN_LIFETIME / time_scale)
        #: Whole seconds, at least 1: how long to wait between polls, and how much longer after
        #: each that came too soon.
        self.interval = max(1, math.ceil(POLL_INTERVAL / time_scale))


class OAuthError(RefusedCall):
    """A refusal to a program: `{"error", "error_description"}`, and `interval` where it helps.

    The description is plain ASCII without quotes, as RFC 6749 (5.2) demands.
    """

    def __init__(
        self, error: str, description: str, *, status: int = 400, interval: int | None = None
    ) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status
        self.interval = interval

    def answer(self) -> Response:
        body: dict[str, object] = {"error": self.error, "error_description": self.description}
        if self.interval is not None:
            body["interval"] = self.interval
        headers = {**NO_STORE, "www-authenticate": "Bearer"} if self.status == 401 else NO_STORE
        return JSONResponse(body, self.status, headers)


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_request", description)


async def fields_of(request: Request) -> Fields:
    """Read a form, or a JSON object of texts. An empty member counts as not said (RFC 6749, 3.2).

    Raises invalid_request for anything else, and for a member said twice.
    """
    if "json" in request.headers.get("content-type", ""):
        said = await json_of(request)
        if not all(isinstance(value, str) for value in said.values()):
            raise _invalid("Every member has to be a text.")
        return {name: str(value) for name, value in said.items() if value}
    pairs = await pairs_of(request)
    if len(dict(pairs)) < len(pairs):
        raise _invalid("No field may be sent twice.")
    return {name: value for name, value in pairs if value}


async def pairs_of(request: Request) -> list[tuple[str, str]]:
    """Read a form as it was filled in, in order. Raises invalid_request."""
    try:
        body = (await _body(request)).decode()
        return parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise _invalid("The body is not a form in UTF-8.") from None


async def json_of(request: Request, error: str = "invalid_request") -> dict[str, object]:
    """Read a JSON object, or refuse it with this error."""
    try:
        said = parsed(await _body(request))
    except (ValueError, OAuthError):
        raise OAuthError(error, "The body is not JSON, or too long.") from None
    if not isinstance(said, dict):
        raise OAuthError(error, "The body has to be a JSON object.")
    return said


async def _body(request: Request) -> bytes:
    body = await raw_body(request, LONGEST_BODY)
    if body is None:
        raise _invalid("The body is too long.")
    return body


def needed(said: Fields, *names: str) -> tuple[str, ...]:
    """Give the values of members that have to be there. Raises invalid_request naming the first
    that is not."""
    for name in names:
        if name not in said:
            raise _invalid(f"{name} is missing.")
    return tuple(said[name] for name in names)


def asked_scopes(said: str | None) -> tuple[str, ...]:
    """Read a space-separated list; without one, all are asked for. Raises invalid_scope."""
    wanted = set(said.split(" ")) if said else set(SCOPES)
    if not wanted <= set(SCOPES):
        raise OAuthError("invalid_scope", f"scope: the scopes are {', '.join(SCOPES)}.")
    return ordered_scopes(wanted)


def ordered_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Put scopes in their one order, each once; what is no scope is left out."""
    held = set(scopes)
    return tuple(scope for scope in SCOPES if scope in held)


def email_of(said: str) -> str | None:
    """Read an e-mail address, the same however it is capitalized; None if it is none."""
    email = said.strip().casefold()
    return email if email.isprintable() and EMAIL.fullmatch(email) else None


def app_name(said: object, error: str = "invalid_request") -> str:
    """Read a program's name, which a person will be shown: nothing invisible may be in it."""
    name = said.strip() if isinstance(said, str) else "A program without a name"
    if said is not None and not isinstance(said, str):
        name = ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        message = f"client_name: has to be a printable text of 1 to {LONGEST_NAME} characters."
        raise OAuthError(error, message)
    return name


class Client(Document):
    """One registered program."""

    name: str
    redirect_uris: list[str]
    grant_types: list[str]
    created_at: float

    def shown(self) -> dict[str, object]:
        """Give the answer to the registration."""
        return {
            "client_id": self.id,
            "client_id_issued_at": int(self.created_at),
            "client_name": self.name,
            "redirect_uris": self.redirect_uris,
            "grant_types": self.grant_types,
            "response_types": ["code"] if CODE_GRANT in self.grant_types else [],
            "token_endpoint_auth_method": "none",
        }


def register(db: sqlite3.Connection, said: dict[str, object], *, now: float) -> Client:
    """Register what a program says about itself. Raises the errors of RFC 7591 (3.2.2)."""
    metadata = "invalid_client_metadata"
    if said.get("token_endpoint_auth_method", "none") != "none":
        raise OAuthError(metadata, "token_endpoint_auth_method: only none.")
    uris = _texts(said, "redirect_uris")
    # A program that asks for nothing may also use the device grant, which needs no address.
    wanted = _texts(said, "grant_types") if "grant_types" in said else [CODE_GRANT, DEVICE_GRANT]
    # What is not known here is left out, and the answer says what is left (RFC 7591, 3.2.1).
    grants = [grant for grant in GRANTS if grant in wanted]
    if not grants:
        raise OAuthError(metadata, f"grant_types: there are {', '.join(GRANTS)}.")
    if CODE_GRANT in grants and not uris:
        raise OAuthError("invalid_redirect_uri", "redirect_uris: is missing.")
    if len(uris) > MOST_REDIRECTS or not all(_is_redirect(uri) for uri in uris):
        message = (
            f"redirect_uris: has to hold at most {MOST_REDIRECTS} https addresses, or http ones "
            "of a loopback address, without a fragment or a user."
        )
        raise OAuthError("invalid_redirect_uri", message)
    name = app_name(said.get("client_name"), metadata)
    client_id = f"client_{secrets.token_hex(12)}"
    client = Client(id=client_id, name=name, redirect_uris=uris, grant_types=grants, created_at=now)
    return put(db, client)


def _is_redirect(uri: str) -> bool:
    try:
        return REDIRECT.fullmatch(uri) is not None and urlsplit(uri).port != 0
    except ValueError:
        return False


def _texts(said: dict[str, object], name: str) -> list[str]:
    values = said.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise OAuthError("invalid_client_metadata", f"{name}: has to be a list of texts.")
    return values


def _presented(db: sqlite3.Connection, said: Fields, grant: str) -> Client | None:
    """Give the client a request names, if it names one.

    Raises invalid_client (401) for an unknown one, unauthorized_client for another grant than
    it registered for.
    """
    if "client_id" not in said:
        return None
    client = find(db, Client, said["client_id"])
    if client is None:
        message = "client_id: no program is registered under it; register at /api/oauth/register."
        raise OAuthError("invalid_client", message, status=401)
    if grant not in client.grant_types:
        raise OAuthError("unauthorized_client", "client_id: it is not registered for this grant.")
    return client


class Approval(Document):
    """What waits for a person, by the user code that they type (RFC 8628, 6.1).

    `secret` is the digest of what the program polls with: a device code, or the claim token that
    several user codes may have in turn. `email` is who alone may answer, None anyone. A code is
    good until `expires_at`, an approved one `until` then; `interval` is in seconds.
    """

    kind: str
    secret: str
    app: str
    client_id: str | None = None
    email: str | None = None
    scopes: tuple[str, ...]
    state: str = "pending"
    granted: tuple[str, ...] = ()
    answered_by: str = ""
    expires_at: float
    until: float
    interval: int
    polled_at: float | None = None

    def found_by(self) -> tuple[str, str, float]:
        return f"{self.kind} {self.secret}", self.state, 0.0


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


def open_to(db: sqlite3.Connection, user_code: str, email: str, *, now: float) -> Approval:
    """Give the approval that this person may answer now. Raises 404, 409, 410 or 403."""
    approval = find(db, Approval, user_code)
    if approval is None:
        raise Refusal(404, "not_found", "This code is not known. Compare it with the program's.")
    if approval.state != "pending":
        raise Refusal(409, "already_answered", "This code has been answered already.")
    if approval.expires_at <= now:
        raise Refusal(410, "expired", "This code has expired. Ask the program for a new one.")
    if approval.email not in (None, email):
        message = (
            f"This request is for another account, and you are signed in as {email}. "
            "Sign in with the e-mail address that the program was given."
        )
        raise Refusal(403, "other_account", message)
    return approval


def answer(
    db: sqlite3.Connection, user_code: str, email: str, granted: Sequence[str], *, now: float
) -> Approval:
    """Write down what a person said: the scopes granted, none of them for no. Raises as open_to."""
    approval = open_to(db, user_code, email, now=now)
    if not set(granted) <= set(approval.scopes):
        asked = ", ".join(approval.scopes)
        raise Refusal(400, "invalid_scope", f"The program asked for {asked} and nothing else.")
    state = "approved" if granted else "denied"
    held = ordered_scopes(granted)
    return put(db, approval.changed(state=state, granted=held, answered_by=email))


def begin_device(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Approval, str]:
    """Make a user code; give it with the device code that belongs to it. Raises OAuthError."""
    client = _presented(db, said, DEVICE_GRANT)
    name, device_code = app_name(said.get("client_name")), new_secret("dev")
    until = now + lifetimes.code
    approval = Approval(
        id=new_user_code(), kind="device", secret=digest(device_code),
        # What was registered cannot be dressed up as something else afterwards.
        app=client.name if client else name, client_id=client.id if client else None,
        scopes=asked_scopes(said.get("scope")), expires_at=until, until=until,
        interval=lifetimes.interval,
    )  # fmt: skip
    return put(db, approval), device_code


def begin_claim(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> tuple[Approval, str]:
    """Make a claim's first user code; give it with the claim token. Raises OAuthError."""
    (kind,) = needed(said, "type")
    if kind in NOT_ENABLED:
        raise OAuthError(*NOT_ENABLED[kind])
    if kind != "service_auth":
        raise _invalid("type: only service_auth is supported.")
    (hint,) = needed(said, "login_hint")
    email = email_of(hint)
    if email is None:
        raise _invalid("login_hint: has to be an e-mail address.")
    token, name = new_secret("clm"), app_name(said.get("client_name"))
    approval = Approval(
        id=new_user_code(), kind="claim", secret=digest(token), app=name, email=email,
        scopes=asked_scopes(said.get("scope")), expires_at=now + lifetimes.code,
        until=now + lifetimes.claim, interval=lifetimes.interval,
    )  # fmt: skip
    return put(db, approval), token


def renew_claim(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, *, now: float
) -> Approval:
    """Make a fresh user code after the last one expired unanswered. Raises OAuthError."""
    (token,) = needed(said, "claim_token")
    approval = _latest(db, "claim", token)
    if approval is None:
        raise OAuthError("invalid_claim_token", "claim_token: it is not known.")
    if approval.state != "pending":
        message = "The user has answered already: poll the token endpoint."
        raise OAuthError("claimed_or_in_flight", message, status=409)
    if now >= approval.until:
        message = "The claim token has expired: start again at /agent/identity."
        raise OAuthError("claim_expired", message, status=410)
    if now < approval.expires_at:
        message = "The last user code is still good: show that one."
        raise OAuthError("claimed_or_in_flight", message, status=409)
    fresh = {"id": new_user_code(), "expires_at": now + lifetimes.code, "polled_at": None}
    return put(db, approval.changed(**fresh, interval=lifetimes.interval))


def _latest(db: sqlite3.Connection, kind: str, secret: str) -> Approval | None:
    """Give the newest user code behind a device code or claim token."""
    found = every(db, Approval, owner=f"{kind} {digest(secret)}")
    return found[-1] if found else None


class AccessRequest(NamedTuple):
    """A good authorization request (path 1), and how to answer it."""

    client: Client
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    state: str | None
    issuer: str

    def answered(self, **answer: str) -> str:
        """Give the address that takes an answer to the program (issuer: RFC 9207)."""
        members = {**answer, "state": self.state, "iss": self.issuer}
        query = urlencode({name: value for name, value in members.items() if value is not None})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{query}"


def read_request(
    db: sqlite3.Connection, pairs: Sequence[tuple[str, str]], *, issuer: str
) -> tuple[AccessRequest, OAuthError | None] | None:
    """Read an authorization request, with the error that goes back to the program, if any.

    None: its redirect address is not to be trusted, so nothing goes anywhere.
    """
    said = {name: value for name, value in pairs if value}
    client = find(db, Client, said.get("client_id", ""))
    if client is None or said.get("redirect_uri") not in client.redirect_uris:
        return None
    asking = AccessRequest(
        client=client, redirect_uri=said["redirect_uri"], scopes=(),
        challenge=said.get("code_challenge", ""), state=said.get("state"), issuer=issuer,
    )  # fmt: skip
    try:
        if len(dict(pairs)) < len(pairs):
            raise _invalid("No parameter may be sent twice.")
        _presented(db, said, CODE_GRANT)
        if needed(said, "response_type") != ("code",):
            raise OAuthError("unsupported_response_type", "response_type: only code.")
        if needed(said, "code_challenge", "code_challenge_method")[1] != "S256":
            raise _invalid("code_challenge_method: only S256.")
        if not PKCE.fullmatch(asking.challenge):
            raise _invalid("code_challenge: has to be 43 to 128 characters.")
        return asking._replace(scopes=asked_scopes(said.get("scope"))), None
    except OAuthError as error:
        return asking, error


class Code(Document):
    """One authorization code, by its digest: granted by a person, good once."""

    client_id: str
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    email: str
    expires_at: float
    key_id: str | None = None


def grant_code(
    db: sqlite3.Connection,
    asking: AccessRequest,
    *,
    granted: tuple[str, ...],
    email: str,
    until: float,
) -> str:
    """Make a code for what a person granted."""
    code = new_secret("code")
    kept = Code(
        id=digest(code), client_id=asking.client.id, redirect_uri=asking.redirect_uri,
        challenge=asking.challenge, scopes=granted, email=email, expires_at=until,
    )  # fmt: skip
    put(db, kept)
    return code


class GrantOutcome(NamedTuple):
    """What a request for a token comes to: a key made, a key taken back, a refusal.

    A value and not an exception, which would undo in the state what belongs to a refusal.
    """

    key: ApiKey | None = None
    value: str = ""
    refusal: OAuthError | None = None


def _refuse(error: str, description: str) -> GrantOutcome:
    return GrantOutcome(refusal=OAuthError(error, description))


def redeem_code(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, now: float
) -> GrantOutcome:
    """Give the token for a code. A code that comes again takes its token back (RFC 6749, 4.1.2)."""
    secret, uri, _, verifier = needed(said, "code", "redirect_uri", "client_id", "code_verifier")
    client, code = _presented(db, said, CODE_GRANT), find(db, Code, digest(secret))
    if client is None or code is None or code.client_id != client.id:
        return _refuse("invalid_grant", "code: it is not known, or belongs to another.")
    if code.key_id is not None:
        message = "code: it was used before, so the token it gave is revoked: start again."
        taken = revoke_key(db, code.key_id, now=now)
        return GrantOutcome(taken, refusal=OAuthError("invalid_grant", message))
    if now >= code.expires_at:
        return _refuse("invalid_grant", "code: it has expired: start again.")
    if uri != code.redirect_uri:
        return _refuse("invalid_grant", "redirect_uri: it is not the one that was asked for.")
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    if not PKCE.fullmatch(verifier) or made.decode() != code.challenge:
        return _refuse("invalid_grant", "code_verifier: it does not fit the challenge.")
    given = issue_key(
        db, name=client.name, scopes=code.scopes, made_by=code.email, now=now,
        lifetime=lifetimes.token,
    )  # fmt: skip
    put(db, code.changed(key_id=given[0].id))
    return GrantOutcome(*given)


def redeem_device(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, now: float
) -> GrantOutcome:
    """Give the token, or say how the approval stands. Raises OAuthError for what cannot be."""
    (device_code,) = needed(said, "device_code")
    client = _presented(db, said, DEVICE_GRANT)
    approval = _latest(db, "device", device_code)
    if approval is None:
        return _refuse("invalid_grant", "device_code: it is not known.")
    if approval.client_id is not None:
        needed(said, "client_id")
    if client is not None and approval.client_id not in (None, client.id):
        return _refuse("invalid_grant", "device_code: it belongs to another client.")
    return _polled(db, approval, lifetimes, "Start again.", now)


def redeem_claim(
    db: sqlite3.Connection, said: Fields, lifetimes: Lifetimes, now: float
) -> GrantOutcome:
    """Give the token, or say how the claim stands. Raises invalid_request."""
    (token,) = needed(said, "claim_token")
    approval = _latest(db, "claim", token)
    if approval is None:
        return _refuse("invalid_grant", "claim_token: it is not known.")
    again = "Ask for a fresh one at /agent/identity/claim."
    return _polled(db, approval, lifetimes, again, now)


def _polled(
    db: sqlite3.Connection, approval: Approval, lifetimes: Lifetimes, again: str, now: float
) -> GrantOutcome:
    """Answer a poll by the approval's state."""
    if approval.state == "used":
        return _refuse("invalid_grant", "Its token was fetched already: start again.")
    if approval.state == "denied":
        return _refuse("access_denied", "The user declined.")
    if now >= (approval.until if approval.state == "approved" else approval.expires_at):
        return _refuse("expired_token", f"The code has expired. {again}")
    if approval.state == "approved":
        put(db, approval.changed(state="used"))
        given = issue_key(
            db, name=approval.app, scopes=approval.granted, made_by=approval.answered_by,
            now=now, lifetime=lifetimes.token,
        )  # fmt: skip
        return GrantOutcome(*given)
    interval, before = approval.interval, approval.polled_at
    early = before is not None and now - before < interval * (1 - SLACK)
    interval += lifetimes.interval if early else 0
    put(db, approval.changed(polled_at=now, interval=interval))
    if not early:
        return _refuse("authorization_pending", "Nobody has answered yet: keep polling.")
    message = f"Polls came too close together: wait {interval} seconds from now on."
    return GrantOutcome(refusal=OAuthError("slow_down", message, interval=interval))


GRANTS = {CODE_GRANT: redeem_code, DEVICE_GRANT: redeem_device, CLAIM_GRANT: redeem_claim}
