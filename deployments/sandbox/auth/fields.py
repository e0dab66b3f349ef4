"""Owns reading what a request says: a form or a JSON object, small, each member said once."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from fastapi import Request

from deployments.sandbox.auth.refusals import OAuthError

LONGEST = 64 * 1024
MOST_FIELDS = 100

Fields = dict[str, str]


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
        said = json.loads(await _body(request))
        # Half a surrogate pair passes for JSON, but can be neither stored nor answered.
        json.dumps(said, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
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
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            raise _invalid("The body is too long.")
    return bytes(body)


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_request", description)
