"""What every login path shares, and approvals by a person."""

from __future__ import annotations

import math
import secrets
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox.database import insert
from callsheet.deployments.sandbox.envelope import Refusal, RefusedCall, parsed, raw_body

SCOPES = ("read", "write", "ai")

#: What a person is told before granting one: a verb, then what it covers.
SCOPE_MEANINGS = {
    "read": ("See the account", "Videos, characters, webhooks and the credits left."),
    "write": ("Create and change", "Make, edit, regenerate and delete videos. Spends credits."),
    "ai": (
        "Use generation helpers",
        "Scripts, portraits, voices, music, animated images, talking avatars and swaps. "
        "Spends credits.",
    ),
}
CODE_LIFETIME = 600.0
CLAIM_LIFETIME = 86_400.0
TOKEN_LIFETIME = 365 * 86_400.0
POLL_INTERVAL = 5.0
#: However fast the time: what is gone before a person or a program can use it is of no use.
SHORTEST_LIFETIME = 5.0
NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
LONGEST_BODY = 64 * 1024
MOST_FIELDS = 100

Fields = dict[str, str]


class OAuthError(RefusedCall):
    """A refusal to a program: `{"error", "error_description"}` and whatever else helps it.

    The description is plain ASCII without quotes, as RFC 6749 (5.2) demands, and repeats nothing
    of what was sent.
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


async def fields_of(request: Request) -> Fields:
    """Read a form, or a JSON object of texts. An empty member counts as not said (RFC 6749, 3.2).

    Raises invalid_request for anything else, and for a member said twice.
    """
    if _is_json(request):
        said = await json_of(request)
        wrong = [name for name, value in said.items() if not isinstance(value, str)]
        if wrong:
            raise _invalid("Every member has to be a text.")
        return {name: str(value) for name, value in said.items() if value}
    pairs = await pairs_of(request)
    if len({name for name, _ in pairs}) < len(pairs):
        raise _invalid("No field may be sent twice.")
    return {name: value for name, value in pairs if value}


async def pairs_of(request: Request) -> list[tuple[str, str]]:
    """Read a form as it was filled in, in order. Raises invalid_request."""
    try:
        return parse_qsl(
            (await _body(request)).decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise _invalid("The body is not a form in UTF-8.") from None


async def json_of(request: Request) -> dict[str, object]:
    """Read a JSON object. Raises invalid_request."""
    try:
        said = parsed(await _body(request))
    except ValueError:
        raise _invalid("The body is not JSON.") from None
    if not isinstance(said, dict):
        raise _invalid("The body has to be a JSON object.")
    return said


def needed(said: Fields, *names: str) -> tuple[str, ...]:
    """Give the values of members that have to be there. Raises invalid_request naming the first
    that is not."""
    for name in names:
        if name not in said:
            raise _invalid(f"{name} is missing.")
    return tuple(said[name] for name in names)


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


async def _body(request: Request) -> bytes:
    body = await raw_body(request, LONGEST_BODY)
    if body is None:
        raise _invalid("The body is too long.")
    return body


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_request", description)


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


def explained(scopes: Iterable[str]) -> list[tuple[str, str, str]]:
    """Give scopes with the words that a person reads."""
    return [(scope, *SCOPE_MEANINGS[scope]) for scope in scopes]


class Lifetimes:
    """Seconds, divided by the time scale. What is told is what is kept to."""

    def __init__(self, time_scale: float) -> None:
        self.code = max(SHORTEST_LIFETIME, CODE_LIFETIME / time_scale)
        self.claim = max(3 * SHORTEST_LIFETIME, CLAIM_LIFETIME / time_scale)
        self.token = max(SHORTEST_LIFETIME, TOKEN_LIFETIME / time_scale)
        #: Whole seconds, at least 1: how long to wait between polls, and how much longer after
        #: each that came too soon.
        self.interval = max(1, math.ceil(POLL_INTERVAL / time_scale))


# Owns what waits for a person: the code they type (RFC 8628, 6.1), the program behind it, and what
# they said.
#
# `pending -> approved | denied`, and `approved -> used` once the program has fetched its token.


ApprovalKind = Literal["device", "claim"]
#: A poll may come this much of the interval early: the network does not deliver all at one speed.
SLACK = 0.1
#: Consonants only: no code spells a word, and none looks like a digit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
MOST_WRONG = 10


@dataclass(frozen=True, kw_only=True)
class CodeApproval:
    """One user code. `email` is who alone may answer, None anyone; `interval` is in seconds."""

    n: int
    user_code: str
    kind: ApprovalKind
    secret: str
    app: str
    client_id: str | None
    email: str | None
    scopes: tuple[str, ...]
    state: str
    granted: tuple[str, ...]
    answered_by: str | None
    expires_at: float
    interval: int
    polled_at: float | None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> CodeApproval:
        lists = {name: tuple((row[name] or "").split()) for name in ("scopes", "granted")}
        return cls(**{**dict(row), **lists})


def ask(
    db: sqlite3.Connection,
    *,
    kind: ApprovalKind,
    secret: str,
    app: str,
    scopes: Sequence[str],
    lifetimes: Lifetimes,
    now: float,
    client_id: str | None = None,
    email: str | None = None,
) -> CodeApproval:
    """Make a user code for a program. `secret` is the digest of what the program will poll with."""
    user_code = new_user_code()
    while find(db, user_code) is not None:
        user_code = new_user_code()
    insert(
        db, "approvals", user_code=user_code, kind=kind, secret=secret, app=app,
        client_id=client_id, email=email, scopes=" ".join(scopes),
        expires_at=now + lifetimes.code, interval=lifetimes.interval,
    )  # fmt: skip
    made = find(db, user_code)
    assert made is not None
    return made


def find(db: sqlite3.Connection, user_code: str) -> CodeApproval | None:
    """Look a user code up, whatever has become of it."""
    row = db.execute("SELECT * FROM approvals WHERE user_code = ?", (user_code,)).fetchone()
    return None if row is None else CodeApproval.from_row(row)


def latest(db: sqlite3.Connection, kind: ApprovalKind, secret: str) -> CodeApproval | None:
    """Give the newest user code behind a device code or claim token, by its digest."""
    row = db.execute(
        "SELECT * FROM approvals WHERE kind = ? AND secret = ? ORDER BY n DESC LIMIT 1",
        (kind, secret),
    ).fetchone()
    return None if row is None else CodeApproval.from_row(row)


def waiting(db: sqlite3.Connection, *, now: float) -> list[CodeApproval]:
    """Give every user code that still waits for a person."""
    rows = db.execute(
        "SELECT * FROM approvals WHERE state = 'pending' AND expires_at > ? ORDER BY n", (now,)
    )
    return [CodeApproval.from_row(row) for row in rows]


def open_to(db: sqlite3.Connection, user_code: str, email: str, *, now: float) -> CodeApproval:
    """Give the approval that this person may answer now. Raises 404, 409, 410 or 403."""
    approval = find(db, user_code)
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
) -> CodeApproval:
    """Write down what a person said: the scopes granted, none of them for no. Raises as open_to."""
    approval = open_to(db, user_code, email, now=now)
    if not set(granted) <= set(approval.scopes):
        asked = ", ".join(approval.scopes)
        raise Refusal(400, "invalid_scope", f"The program asked for {asked} and nothing else.")
    state, held = "approved" if granted else "denied", " ".join(ordered_scopes(granted))
    db.execute(
        "UPDATE approvals SET state = ?, granted = ?, answered_by = ? WHERE n = ?",
        (state, held, email, approval.n),
    )
    answered = find(db, user_code)
    assert answered is not None
    return answered


def use(db: sqlite3.Connection, approval: CodeApproval) -> None:
    """Note that the token was fetched; it is fetched once."""
    db.execute("UPDATE approvals SET state = 'used' WHERE n = ?", (approval.n,))


def poll(
    db: sqlite3.Connection, approval: CodeApproval, lifetimes: Lifetimes, *, now: float
) -> OAuthError:
    """Count a poll of what is still pending and say how to go on (RFC 8628, 3.5)."""
    interval = approval.interval
    since = None if approval.polled_at is None else now - approval.polled_at
    early = since is not None and since < interval * (1 - SLACK)
    if early:
        interval += lifetimes.interval
    db.execute(
        "UPDATE approvals SET polled_at = ?, interval = ? WHERE n = ?", (now, interval, approval.n)
    )
    if early:
        message = f"Polls came too close together: wait {interval} seconds from now on."
        return OAuthError("slow_down", message, interval=interval)
    return OAuthError("authorization_pending", "Nobody has answered yet: keep polling.")


def new_user_code() -> str:
    """Make a code such as `WDJB-MJHT`."""
    drawn = "".join(secrets.choice(LETTERS) for _ in range(8))
    return f"{drawn[:4]}-{drawn[4:]}"


def normal_code(typed: str) -> str:
    """Bring what was typed into the form codes are kept in, whatever its case and dashes."""
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())[:9]
    return f"{letters[:4]}-{letters[4:]}"


class Guesses:
    """Counts each person's wrong codes in the last while."""

    def __init__(self, window: float) -> None:
        self._window = window
        self._wrong: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MOST_WRONG))

    def spent(self, email: str, *, now: float) -> bool:
        """Say whether this person has guessed too often to be let guess now."""
        wrong = self._wrong[email]
        return len(wrong) == MOST_WRONG and now - wrong[0] < self._window

    def wrong(self, email: str, *, now: float) -> None:
        """Count one wrong code."""
        self._wrong[email].append(now)
