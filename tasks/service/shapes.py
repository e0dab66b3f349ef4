"""Finds the members of an answer, as far as the specification does not say where they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from callsheet.tasks.brief import Json
from callsheet.tasks.credits import parse_credits
from callsheet.tasks.redact import redact
from callsheet.tasks.service.response import Shapeless, unwrap

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
