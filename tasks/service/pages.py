"""Reads a page of the list, and where the next one is if the answer says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from tasks.brief import Json
from tasks.service.reading import Shapeless, find_list, unwrap
from tasks.service.records import video
from tasks.service.shapes import Shapes
from tasks.service.values import Video

_AROUND = ("meta", "pagination", "page", "links", "paging")


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some videos, and the query that gives the next ones; None where nothing says so."""

    videos: tuple[Video, ...]
    next: str | None


def page(body: Json, shapes: Shapes) -> Page:
    """Read one page; raise Shapeless when there is no list in it."""
    videos = tuple(_videos(find_list(body, shapes), shapes))
    return Page(videos=videos, next=_next(body, shapes))


def _videos(records: list[Json], shapes: Shapes) -> Iterator[Video]:
    for record in records:
        # An entry without an id is nothing that could be looked at.
        with suppress(Shapeless):
            yield video({"data": record}, shapes)


def _next(body: Json, shapes: Shapes) -> str | None:
    if not isinstance(body, dict):
        return None
    for place in _places(body):
        if place.get("has_more") is False:
            return None
        for name in shapes.next_names:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return "?" + urlencode({"page" if "page" in name else "cursor": value})
            if isinstance(value, str) and value:
                return _query_of(value)
    return None


def _query_of(value: str) -> str | None:
    # Of an address only the query is used: the key goes to no other host.
    if "?" in value or "://" in value or value.startswith("/"):
        query = urlsplit(value).query
        return "?" + query if query else None
    return "?" + urlencode({"cursor": value})


def _places(body: dict[str, Json]) -> Iterator[dict[str, Json]]:
    data = unwrap(body)
    tops = [top for top in (data, body) if isinstance(top, dict)]
    yield from tops
    for top in tops:
        for name in _AROUND:
            inner = top.get(name)
            if isinstance(inner, dict):
                yield inner
