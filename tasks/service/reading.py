"""Reads answers whose shape is only partly known. Pure: JSON in, values out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from tasks.brief import Json
from tasks.credits import parse_credits
from tasks.redact import redact
from tasks.service.shapes import Shapes, at_pointer

_VIDEO_ID = re.compile(r"vid_[A-Za-z0-9_-]+")
_WEBHOOK_ID = re.compile(r"wh_[A-Za-z0-9_-]+")
_DEPTH = 12


class Shapeless(Exception):
    """The answer lacks the one member that is needed."""


def unwrap(body: Json) -> Json:
    """Return what is inside the envelope, or the body itself when it comes bare."""
    if not isinstance(body, dict) or "data" not in body:
        return body
    return body["data"] if len(body) == 1 or "meta" in body or "error" in body else body


def find_id(data: Json, shapes: Shapes) -> str | None:
    """Return the video id: by its name, else the only text that looks like one."""
    records = (data, record_of(data))
    named = [str(r[name]) for r in records for name in shapes.id_names if _has_text(r, name)]
    return _id(named, data, _VIDEO_ID)


def find_webhook_id(data: Json, shapes: Shapes) -> str | None:
    """Return the id of a subscription, found as a video's is."""
    named = [str(data[name]) for name in shapes.webhook_id_names if _has_text(data, name)]
    return _id(named, data, _WEBHOOK_ID)


def find_status(data: Json, shapes: Shapes) -> str | None:
    """Return the status word, whatever it is, but for secrets: it is told and kept everywhere."""
    record = record_of(data)
    found = (record[name] for name in shapes.status_names if _has_text(record, name))
    return next((redact(word) for word in found), None)


def find_poll_after(data: Json, shapes: Shapes) -> float | None:
    """Return the polling hint in seconds as given, or None for anything not a time."""
    record = record_of(data)
    for name in shapes.poll_names:
        value = record.get(name) if isinstance(record, dict) else None
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return _seconds(value)
    return None


def find_amount(body: Json, pointer: str | None, names: tuple[str, ...]) -> Decimal | None:
    """Return an amount of credits, or None when none can be read with certainty."""
    data = unwrap(body)
    if pointer is not None:
        amount = parse_credits(at_pointer(data, pointer))
        return parse_credits(at_pointer(body, pointer)) if amount is None else amount
    return _amount(data, names, depth=4)


def find_url(body: Json, shapes: Shapes, *, pointer: str | None) -> str | None:
    """Return an address: by pointer or name, else the only http address there is."""
    data = unwrap(body)
    if pointer is not None:
        pointed = (at_pointer(where, pointer) for where in (data, body))
        return next((url for url in pointed if _is_url(url)), None)
    if isinstance(data, dict):
        for name in shapes.url_names:
            if _is_url(data.get(name)):
                return str(data[name])
    urls = {text for text in _texts(data) if _is_url(text)}
    return urls.pop() if len(urls) == 1 else None


def find_list(body: Json, shapes: Shapes) -> list[Json]:
    """Return the list in an answer, by its name or as the only one; else raise Shapeless."""
    data = unwrap(body)
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        for name in shapes.list_names:
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


def _has_text(data: Json, name: str) -> bool:
    value = data.get(name) if isinstance(data, dict) else None
    return isinstance(value, str) and value.strip() != ""


def _is_url(value: Json) -> bool:
    return isinstance(value, str) and value.lower().startswith(("https://", "http://"))


def _texts(data: Json, depth: int = _DEPTH) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif depth and isinstance(data, dict | list):
        inner: Iterable[Json] = data.values() if isinstance(data, dict) else data
        for item in inner:
            yield from _texts(item, depth - 1)
