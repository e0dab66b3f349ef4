"""A response of the service, and where its members are when the specification does not say."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

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


_VIDEO_ID = re.compile(r"vid_[A-Za-z0-9_-]+")
_WEBHOOK_ID = re.compile(r"wh_[A-Za-z0-9_-]+")
_DEPTH = 12

# Names to try, in order.
_IDS = ("id", "video_id")
_WEBHOOK_IDS = ("id", "webhook_id")
_STATUS = ("status", "state")
_LENGTH = ("duration_seconds", "seconds", "length_seconds")
_POLL = ("poll_after_seconds", "poll_after")
_AMOUNT = (
    "total_credits",
    "estimated_credits",
    "credits",
    "amount",
    "cost",
    "price",
    "total",
    "quote",
    "estimate",
)
_CHARGED = (
    "credits_charged",
    "charged_credits",
    "charged",
    "credits_used",
    "credits_spent",
)
#: A balance counts as available only where nothing says what of it is.
_AVAILABLE = (
    "available",
    "available_credits",
    "credits_available",
    "remaining",
    "remaining_credits",
    "credits_remaining",
    "balance",
    "credit_balance",
    "credits",
)
_URL = ("url", "download_url", "signed_url", "href", "share_url", "link")
_LIST = (
    "videos",
    "webhooks",
    "deliveries",
    "templates",
    "tools",
    "characters",
    "items",
    "results",
    "data",
)
NEXT = ("next_cursor", "next", "next_url", "cursor", "next_page")


def video_id(data: Json) -> str | None:
    """Return the video id: by its name, else the only text that looks like one."""
    named = [text for record in (data, record_of(data)) for text in _said(record, _IDS)]
    return _id(named, data, _VIDEO_ID)


def webhook_id(data: Json) -> str | None:
    """Return the id of a subscription, found as a video's is."""
    return _id(list(_said(data, _WEBHOOK_IDS)), data, _WEBHOOK_ID)


def status(data: Json) -> str | None:
    """Return the status word, whatever it is, but for secrets: it is told and kept anywhere."""
    found = _said(record_of(data), _STATUS)
    return next((redact(word) for word in found), None)


def poll_after(data: Json) -> float | None:
    """Return the polling hint in seconds as given, or None for anything not a time."""
    record = record_of(data)
    for name in _POLL:
        value = record.get(name) if isinstance(record, dict) else None
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return _seconds(value)
    return None


def length(data: Json) -> float | None:
    """Return the seconds of video that a quote is for, or None where it does not say."""
    values = [data.get(name) for name in _LENGTH] if isinstance(data, dict) else []
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return next(filter(None, map(_seconds, numbers)), None)


def quoted(body: Json) -> Decimal | None:
    """Return what a quote comes to, or None when no amount can be read with certainty."""
    return _amount(unwrap(body), _AMOUNT, depth=4)


def charged(body: Json) -> Decimal | None:
    """Return what a video is said to have cost, read as a quote is."""
    return _amount(record_of(unwrap(body)), _CHARGED, depth=4)


def available(body: Json) -> Decimal | None:
    """Return the credits that can be spent now, read as a quote is."""
    return _amount(unwrap(body), _AVAILABLE, depth=4)


def url(body: Json) -> str:
    """Return an address: by its name, else the only http one; else raise Shapeless."""
    data = unwrap(body)
    tried = [data.get(name) for name in _URL] if isinstance(data, dict) else []
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
    if isinstance(data, dict):
        for name in _LIST:
            if isinstance(data.get(name), list):
                return list(data[name])
        lists = [value for value in data.values() if isinstance(value, list)]
        if len(lists) == 1:
            return list(lists[0])
    raise Shapeless


def record_of(data: Json) -> Json:
    """Return the record of a video, also where it is wrapped once more as `video`."""
    inner = data.get("video") if isinstance(data, dict) else None
    return inner if isinstance(inner, dict) else data


def _id(named: list[str], data: Json, form: re.Pattern[str]) -> str | None:
    for value in named:
        if form.fullmatch(value):
            return value
    looks = {text for text in _texts(data) if form.fullmatch(text)}
    if len(looks) == 1:
        return looks.pop()
    return named[0] if named else None


def _amount(data: Json, names: tuple[str, ...], depth: int) -> Decimal | None:
    if not isinstance(data, dict):
        return parse_credits(data)
    if depth == 0:
        return None
    for name in names:
        amount = _amount(data.get(name), names, depth - 1)
        if amount is not None:
            return amount
    return None


def _seconds(value: float | str) -> float | None:
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _said(data: Json, names: tuple[str, ...]) -> Iterator[str]:
    for name in names if isinstance(data, dict) else ():
        if isinstance(data.get(name), str) and data[name].strip():
            yield data[name]


def _is_url(value: Json) -> bool:
    return isinstance(value, str) and value.lower().startswith(("https://", "http://"))


def _texts(data: Json, depth: int = _DEPTH) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif depth and isinstance(data, dict | list):
        inner: Iterable[Json] = data.values() if isinstance(data, dict) else data
        for item in inner:
            yield from _texts(item, depth - 1)
