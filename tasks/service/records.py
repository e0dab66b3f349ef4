"""Turns the JSON of an answer into a value, or says which member was missing."""

from __future__ import annotations

from tasks.brief import Json
from tasks.service.reading import (
    Shapeless,
    find_amount,
    find_id,
    find_poll_after,
    find_status,
    find_url,
    unwrap,
)
from tasks.service.shapes import Shapes
from tasks.service.values import Created, Quote, SignedUrl, Video

__all__ = ["Shapeless", "created", "quote", "signed_url", "video"]


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
    return Video(
        id=video_id,
        status=find_status(data, shapes),
        poll_after=find_poll_after(data, shapes),
        charged=find_amount(body, shapes.charged_amount, shapes.charged_names),
        raw=data,
    )


def signed_url(body: Json, shapes: Shapes) -> SignedUrl:
    """Read the signed address of a film."""
    url = find_url(body, shapes)
    if url is None:
        raise Shapeless
    return SignedUrl(url=url)
