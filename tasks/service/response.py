"""A response of the service, and where its members are when the specification does not say."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import Json

EXCERPT = 500
_REQUEST_IDS = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "cf-ray")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)
# NaN and Infinity are not JSON, and no database would take them: read as missing.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


class Unparsable(Exception):
    """The body is not JSON: cut short, or not from the service at all."""


class Shapeless(Exception):
    """The body lacks the one member that is needed."""


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers and the whole body."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Json:
        """Return the body as JSON; raise Unparsable when it is not."""
        try:
            # `utf-8-sig` does the same, slowly.
            return _DECODER.decode(self.content.removeprefix(codecs.BOM_UTF8).decode())
        except (ValueError, RecursionError):
            raise Unparsable from None

    @property
    def data(self) -> Json:
        """What is inside the envelope; None where a success has no body at all."""
        return unwrap(self.json()) if self.content else None

    @property
    def request_id(self) -> str | None:
        """The name the service gave this request, for a person to ask about."""
        for name in _REQUEST_IDS:
            if value := self.headers.get(name):
                return redact(value)[:128]
        meta = self._member("meta")
        value = meta.get("request_id") if isinstance(meta, dict) else None
        return redact(value)[:128] if isinstance(value, str) else None

    @property
    def code(self) -> str | None:
        """The machine code of the error envelope."""
        value = self._error().get("code")
        return redact(value)[:128] if isinstance(value, str) else None

    @property
    def retryable(self) -> bool | None:
        """What the envelope says about repeating; None when it says nothing usable."""
        value = self._error().get("retryable")
        return value if isinstance(value, bool) else None

    @property
    def words(self) -> str:
        """What the service says in words, redacted, on one line and never long."""
        said = self._error().get("message")
        if not isinstance(said, str) or not said.strip():
            said = self._excerpt()
        return " ".join(redact(said).split())[:EXCERPT]

    def _excerpt(self) -> str:
        text = self.content[: 4 * EXCERPT].decode("utf-8", errors="replace")
        if "<html" in text.lower() or "text/html" in self.headers.get("content-type", ""):
            title = _TITLE.search(text)
            return "an HTML page" + (f': "{title[1].strip()}"' if title else "")
        return text or "no explanation was given"

    def _error(self) -> dict[str, Json]:
        error = self._member("error")
        if isinstance(error, str):
            return {"message": error}
        return error if isinstance(error, dict) else {}

    def _member(self, name: str) -> Json:
        try:
            body = self.json()
        except Unparsable:
            return None
        return body.get(name) if isinstance(body, dict) else None


def unwrap(body: Json) -> Json:
    """Return what is inside the envelope, or the body itself when it comes bare."""
    if not isinstance(body, dict) or "data" not in body:
        return body
    return body["data"] if len(body) == 1 or "meta" in body or "error" in body else body


# Finds the members of an answer, as far as the specification does not say where they are.


_IDS = {"video": re.compile(r"vid_[A-Za-z0-9_-]+"), "webhook": re.compile(r"wh_[A-Za-z0-9_-]+")}
_DEPTH = 12

#: What each member may be called, in the order in which the names are tried.
ALIASES = {
    member: tuple(names.split())
    for member, names in {
        "video": "id video_id",
        "webhook": "id webhook_id",
        "status": "status state",
        "length": "duration_seconds seconds length_seconds",
        "poll after": "poll_after_seconds poll_after",
        "quoted": "total_credits estimated_credits credits amount cost price total quote estimate",
        "charged": "credits_charged charged_credits charged credits_used credits_spent",
        # A balance counts as available only where nothing says what of it is.
        "available": "available available_credits credits_available remaining remaining_credits "
        "credits_remaining balance credit_balance credits",
        "url": "url download_url signed_url href share_url link",
        "list": "videos webhooks deliveries templates tools characters items results data",
        "next": "next_cursor next next_url cursor next_page",
    }.items()
}


def named(data: Json, member: str) -> Iterator[Json]:
    """Return what stands in a record under each name that a member may have."""
    for name in ALIASES[member] if isinstance(data, dict) else ():
        if name in data:
            yield data[name]


def id_of(data: Json, about: Literal["video", "webhook"]) -> str | None:
    """Return an id: by its name, else the only text that looks like one."""
    records = (data, record_of(data)) if about == "video" else (data,)
    found = [text for record in records for text in _words(record, about)]
    form = _IDS[about]
    for value in found:
        if form.fullmatch(value):
            return value
    looks = {text for text in _texts(data) if form.fullmatch(text)}
    if len(looks) == 1:
        return looks.pop()
    return found[0] if found else None


def status(data: Json) -> str | None:
    """Return the status word, whatever it is, but for secrets: it is told and kept anywhere."""
    return next((redact(word) for word in _words(record_of(data), "status")), None)


def poll_after(data: Json) -> float | None:
    """Return the polling hint in seconds as given, or None for anything not a time."""
    given = (value for value in named(record_of(data), "poll after") if _may_be_seconds(value))
    return next(map(_seconds, given), None)


def length(data: Json) -> float | None:
    """Return the seconds of video that a quote is for, or None where it does not say."""
    given = (value for value in named(data, "length") if not isinstance(value, str))
    return next(filter(None, map(_seconds, filter(_may_be_seconds, given))), None)


def amount(body: Json, member: Literal["quoted", "charged", "available"]) -> Decimal | None:
    """Return an amount of credits, or None when none can be read with certainty."""
    data = unwrap(body)
    return _amount(record_of(data) if member == "charged" else data, member, depth=4)


def url(body: Json) -> str:
    """Return an address: by its name, else the only http one; else raise Shapeless."""
    data = unwrap(body)
    tried = list(named(data, "url"))
    addresses = {text for text in _texts(data) if _is_url(text)}
    tried += addresses if len(addresses) == 1 else ()
    for found in filter(_is_url, tried):
        return str(found)
    raise Shapeless


def entries(body: Json) -> list[Json]:
    """Return the list in an answer, by its name or as the only one; else raise Shapeless."""
    data = unwrap(body)
    if isinstance(data, list):
        return data
    for found in named(data, "list"):
        if isinstance(found, list):
            return found
    values = data.values() if isinstance(data, dict) else ()
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == 1:
        return lists[0]
    raise Shapeless


def record_of(data: Json) -> Json:
    """Return the record of a video, also where it is wrapped once more as `video`."""
    inner = data.get("video") if isinstance(data, dict) else None
    return inner if isinstance(inner, dict) else data


def _amount(data: Json, member: str, depth: int) -> Decimal | None:
    if not isinstance(data, dict):
        return parse_credits(data)
    inner = named(data, member) if depth else ()
    found = (_amount(value, member, depth - 1) for value in inner)
    return next((one for one in found if one is not None), None)


def _may_be_seconds(value: Json) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _words(data: Json, member: str) -> Iterator[str]:
    for value in named(data, member):
        if isinstance(value, str) and value.strip():
            yield value


def _is_url(value: Json) -> bool:
    return isinstance(value, str) and value.lower().startswith(("https://", "http://"))


def _texts(data: Json, depth: int = _DEPTH) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif depth and isinstance(data, dict | list):
        inner: Iterable[Json] = data.values() if isinstance(data, dict) else data
        for item in inner:
            yield from _texts(item, depth - 1)
