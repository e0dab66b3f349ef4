"""What the service answers, as far as we need it; all the rest is kept in `raw`.

Each value reads itself from a response and says by Shapeless that the one member it cannot do
without is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Self, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit

from callsheet.tasks.runtime.redact import register_secret
from callsheet.tasks.service import response as shapes
from callsheet.tasks.service.response import Response, Shapeless, Unparsable, unwrap
from callsheet.tasks.values.briefs import Json

T = TypeVar("T")
#: What turns a whole response into a value.
Reader: TypeAlias = Callable[[Response], T]


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What a video would cost; `amount` is None when the answer cannot be read as credits.

    `seconds` is the video's length that it holds for, where the answer says so.
    """

    amount: Decimal | None
    seconds: float | None = None
    raw: Json = field(default=None, repr=False)

    @classmethod
    def read(cls, response: Response) -> Quote:
        """Read a quote; an amount that cannot be read is None, never a guess."""
        body = response.json()
        data = unwrap(body)
        return cls(amount=shapes.amount(body, "quoted"), seconds=shapes.length(data), raw=data)


@dataclass(frozen=True, kw_only=True)
class _Begun:
    video_id: str
    status: str | None
    poll_after: float | None
    raw: Json = field(default=None, repr=False)

    @classmethod
    def _of(cls, video_id: str, data: Json) -> Self:
        status, poll_after = shapes.status(data), shapes.poll_after(data)
        return cls(video_id=video_id, status=status, poll_after=poll_after, raw=data)


class Created(_Begun):
    """A video that now exists; `poll_after` is a hint in seconds, as it was given."""

    @classmethod
    def read(cls, response: Response) -> Created:
        """Read the answer of a create; without an id there is nothing to hold on to."""
        data = unwrap(response.json())
        video_id = shapes.id_of(data, "video")
        if video_id is None:
            raise Shapeless
        return cls._of(video_id, data)


class Started(_Begun):
    """A render that was begun on a video that existed; `poll_after` as for Created."""

    @classmethod
    def read(cls, response: Response, *, asked: str) -> Started:
        """Read the answer of a remake; that it is a success says that it was begun."""
        return cls._of(asked, response.data)


@dataclass(frozen=True, kw_only=True)
class Video:
    """A video as it was seen; any word may be its status."""

    id: str
    status: str | None
    poll_after: float | None
    charged: Decimal | None
    raw: Json = field(default=None, repr=False)

    @classmethod
    def read(cls, response: Response, *, asked: str) -> Video:
        """Read a video; the id that was `asked` for stands in for one that is not shown."""
        return cls._of(response.json(), asked=asked)

    @classmethod
    def glimpse(cls, response: Response, *, asked: str) -> Video | None:
        """Read the video that a success may show; a success is a success, whatever it says."""
        with suppress(Unparsable, Shapeless):
            return cls.read(response, asked=asked)
        return None

    @classmethod
    def _of(cls, body: Json, *, asked: str | None = None) -> Video:
        data = unwrap(body)
        video_id = asked or shapes.id_of(data, "video")
        if video_id is None or not isinstance(data, dict):
            raise Shapeless
        return cls(
            id=video_id,
            status=shapes.status(data),
            poll_after=shapes.poll_after(data),
            charged=shapes.amount(body, "charged"),
            raw=data,
        )


@dataclass(frozen=True, kw_only=True)
class VideoPage:
    """Some videos, and the query that gives the next ones; None where nothing says so."""

    videos: tuple[Video, ...]
    next: str | None

    @classmethod
    def read(cls, response: Response) -> VideoPage:
        """Read one page of the list; raise Shapeless when there is no list in it."""
        body = response.json()
        videos = []
        for entry in shapes.entries(body):
            # One without an id is nothing that could be looked at.
            with suppress(Shapeless):
                videos.append(Video._of({"data": entry}))
        return cls(videos=tuple(videos), next=_next_query(body))


@dataclass(frozen=True, kw_only=True)
class ShareLink:
    """A public link to a video: anyone who has it can see the video until it expires."""

    url: str = field(repr=False)
    raw: Json = field(default=None, repr=False)

    @classmethod
    def read(cls, response: Response) -> ShareLink:
        """Read a public link."""
        body = response.json()
        return cls(url=shapes.url(body), raw=unwrap(body))


@dataclass(frozen=True, kw_only=True)
class SignedUrl:
    """An address that gives the video to its holder, for 15 minutes: a secret."""

    url: str = field(repr=False)

    @classmethod
    def read(cls, response: Response) -> SignedUrl:
        """Read the signed address of a video."""
        return cls(url=shapes.url(response.json()))


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A subscription; `secret` is there in the answer to its creation and never again."""

    id: str
    url: str | None
    events: tuple[str, ...]
    name: str | None
    is_active: bool | None
    secret: str | None = field(default=None, repr=False)
    raw: Json = field(default=None, repr=False)

    @classmethod
    def read(cls, response: Response) -> Webhook:
        """Read a subscription; its secret, if it is shown, is kept out of every text from now."""
        return cls._of(unwrap(response.json()))

    @classmethod
    def read_list(cls, response: Response) -> list[Webhook]:
        """Read the list of subscriptions; an entry without an id is none."""
        found = []
        for entry in shapes.entries(response.json()):
            with suppress(Shapeless):
                found.append(cls._of(entry))
        return found

    @classmethod
    def _of(cls, outer: Json) -> Webhook:
        inner = outer.get("webhook") if isinstance(outer, dict) else None
        data = inner if isinstance(inner, dict) else outer
        webhook_id = shapes.id_of(data, "webhook")
        if webhook_id is None or not isinstance(data, dict):
            raise Shapeless
        # The secret may stand in the record, or next to it.
        secret = _text(data.get("secret")) or _text(outer.get("secret"))
        if secret:
            register_secret(secret)
        events, active = data.get("events"), data.get("is_active")
        return cls(
            id=webhook_id,
            url=_text(data.get("url")),
            events=tuple(map(str, events)) if isinstance(events, list) else (),
            name=_text(data.get("name")),
            is_active=active if isinstance(active, bool) else None,
            secret=secret,
            raw={name: value for name, value in data.items() if name != "secret"},
        )


def opaque(response: Response) -> Json:
    """Return what is inside the envelope as it is; None where a success has no body at all."""
    return response.data


def entries(response: Response) -> list[Json]:
    """Return a list of which nothing more is known."""
    return shapes.entries(response.json())


def available(response: Response) -> Decimal | None:
    """Return the credits that are neither spent nor reserved, or None where nothing says so."""
    return shapes.amount(response.json(), "available")


def done(_: Response) -> bool:
    """Return True: a success is a success, whatever it says."""
    return True


def caption_bytes(response: Response) -> bytes:
    """Return a caption file as it is."""
    # A page in place of the file is a proxy's, and may be gone the next time.
    if "text/html" in response.headers.get("content-type", ""):
        raise Unparsable
    return response.content


#: These are given the id that was asked for, as `asked`.
OF_ONE = (Video.read, Video.glimpse, Started.read)


_AROUND = ("meta", "pagination", "page", "links", "paging")


def _next_query(body: Json) -> str | None:
    for place in _places(body):
        if place.get("has_more") is False:
            return None
        for name in shapes.ALIASES["next"]:
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


def _places(body: Json) -> Iterator[dict[str, Json]]:
    if not isinstance(body, dict):
        return
    tops = [top for top in (unwrap(body), body) if isinstance(top, dict)]
    yield from tops
    for top in tops:
        for name in _AROUND:
            inner = top.get(name)
            if isinstance(inner, dict):
                yield inner


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
