"""Turns the JSON of an answer into a value, or says which member was missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias, TypeVar

from tasks.brief import Json
from tasks.redact import register_secret
from tasks.service.answer import Answer
from tasks.service.reading import (
    Shapeless,
    find_amount,
    find_id,
    find_list,
    find_poll_after,
    find_status,
    find_url,
    find_webhook_id,
    record_of,
    unwrap,
)
from tasks.service.shapes import Shapes
from tasks.service.values import (
    Created,
    Quote,
    ShareLink,
    SignedUrl,
    Started,
    Video,
    Webhook,
)

__all__ = [
    "Reader",
    "Shapeless",
    "created",
    "nothing",
    "opaque",
    "quote",
    "share_link",
    "signed_url",
    "started",
    "video",
    "webhook",
    "webhooks",
]

T = TypeVar("T")
#: What turns a whole answer into a value.
Reader: TypeAlias = Callable[[Answer], T]


def quote(body: Json, shapes: Shapes) -> Quote:
    """Read a quote; an amount that cannot be read is None, never a guess."""
    amount = find_amount(body, shapes.quote_amount, shapes.amount_names)
    return Quote(amount=amount, raw=unwrap(body))


def created(body: Json, shapes: Shapes) -> Created:
    """Read the answer of a create; without an id there is nothing to hold on to."""
    data = unwrap(body)
    video_id = find_id(data, shapes)
    if video_id is None:
        raise Shapeless
    return Created(
        video_id=video_id,
        status=find_status(data, shapes),
        poll_after=find_poll_after(data, shapes),
        raw=data,
    )


def video(body: Json, shapes: Shapes, *, asked: str | None = None) -> Video:
    """Read a video; the id that was `asked` for stands in for one that is not shown."""
    data = unwrap(body)
    if not isinstance(data, dict):
        raise Shapeless
    video_id = asked or find_id(data, shapes)
    if video_id is None:
        raise Shapeless
    charged_in = body if shapes.charged_amount is not None else record_of(data)
    return Video(
        id=video_id,
        status=find_status(data, shapes),
        poll_after=find_poll_after(data, shapes),
        charged=find_amount(charged_in, shapes.charged_amount, shapes.charged_names),
        raw=data,
    )


def signed_url(body: Json, shapes: Shapes) -> SignedUrl:
    """Read the signed address of a film."""
    url = find_url(body, shapes, pointer=shapes.signed_url)
    if url is None:
        raise Shapeless
    return SignedUrl(url=url)


def started(answer: Answer, shapes: Shapes, *, asked: str) -> Started:
    """Read the answer of a remake; that it is a success says that it was begun."""
    data = opaque(answer)
    return Started(
        video_id=asked,
        status=find_status(data, shapes),
        poll_after=find_poll_after(data, shapes),
        raw=data,
    )


def share_link(body: Json, shapes: Shapes) -> ShareLink:
    """Read a public link."""
    url = find_url(body, shapes, pointer=shapes.share_url)
    if url is None:
        raise Shapeless
    return ShareLink(url=url, raw=unwrap(body))


def webhook(body: Json, shapes: Shapes) -> Webhook:
    """Read a subscription; its secret, if it is shown, is kept out of every text from now on."""
    outer = unwrap(body)
    inner = outer.get("webhook") if isinstance(outer, dict) else None
    data = inner if isinstance(inner, dict) else outer
    webhook_id = find_webhook_id(data, shapes)
    if webhook_id is None or not isinstance(data, dict):
        raise Shapeless
    # The secret may stand in the record, or beside it.
    secret = _text(data.get("secret")) or _text(outer.get("secret"))
    if secret:
        register_secret(secret)
    events = data.get("events")
    active = data.get("is_active")
    return Webhook(
        id=webhook_id,
        url=_text(data.get("url")),
        events=tuple(str(event) for event in events) if isinstance(events, list) else (),
        name=_text(data.get("name")),
        is_active=active if isinstance(active, bool) else None,
        secret=secret,
        raw={name: value for name, value in data.items() if name != "secret"},
    )


def webhooks(body: Json, shapes: Shapes) -> list[Webhook]:
    """Read the list of subscriptions; an entry without an id is none."""
    found = []
    for entry in find_list(body, shapes):
        with suppress(Shapeless):
            found.append(webhook({"data": entry}, shapes))
    return found


def opaque(answer: Answer) -> Json:
    """Return what is inside the envelope as it is; None where a success has no body at all."""
    return unwrap(answer.json()) if answer.content else None


def nothing(answer: Answer) -> None:
    """Read nothing: a success is a success, whatever it says."""


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
