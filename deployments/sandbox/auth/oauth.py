"""Owns what every path of section 5 of the specification shares: how a request is read, a form or
a JSON object; how a program is refused, as RFC 6749 has it; the scopes; and lifetimes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox.bodies import parsed, raw_body
from callsheet.deployments.sandbox.envelope import RefusedCall

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
