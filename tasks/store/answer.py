"""What a server's answer to a download means. Pure: no connection, no file, no clock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tasks.errors import FilmError
from tasks.retry_after import retry_after
from tasks.store.note import Source

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_UNRANGED = re.compile(r"bytes \*/(\d+)")
_NOT_FILMS = ("text/", "application/xml", "application/json", "application/xhtml")
_COMPRESSED = {"gzip", "x-gzip", "deflate"}


@dataclass(frozen=True)
class Begin:
    """The whole file follows."""

    source: Source
    compressed: bool = False


@dataclass(frozen=True)
class Continue:
    """What was missing follows."""


@dataclass(frozen=True)
class Complete:
    """Nothing was missing."""


@dataclass(frozen=True)
class Trouble:
    """Not this time. `fresh`: another address is needed; `restart`: the bytes had are no use."""

    reason: str
    fresh: bool = False
    restart: bool = False
    wait: float = 0.0


Meaning = Begin | Continue | Complete | Trouble


def judge(
    status: int, headers: Mapping[str, str], *, had: int, source: Source, now: datetime
) -> Meaning:
    """Say what to do with an answer when `had` bytes of `source` are here already."""
    if status == 200:
        return _whole(headers)
    if status == 206:
        return _rest(headers, had, source)
    if status == 416:
        return _nothing_more(headers, had, source)
    if status in (408, 425, 429) or status >= 500:
        reason = f"the download server answered {status}"
        return Trouble(reason, wait=retry_after(headers, now=now) or 0.0)
    # 401, 403 and 410 mean an address that is no longer good; object stores say the same with
    # 400 and 404. A fresh address either helps or answers the same until the tries are used up.
    return Trouble(f"the download address was refused ({status})", fresh=True)


def _whole(headers: Mapping[str, str]) -> Meaning:
    kind = headers.get("content-type")
    if kind and kind.strip().lower().startswith(_NOT_FILMS):
        message = f"the download server sent {kind.split(';')[0].strip()} instead of a film"
        raise FilmError(message)
    length = _number(headers.get("content-length"))
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return Begin(Source(_strong(headers.get("etag")), length, kind))
    if encoding not in _COMPRESSED:
        raise FilmError(f'the download server compressed the film with "{encoding[:20]}"')
    # We asked for no compression. It can be undone, but not taken up in the middle.
    return Begin(Source(content_type=kind), compressed=True)


def _rest(headers: Mapping[str, str], had: int, source: Source) -> Meaning:
    found = _RANGE.fullmatch(headers.get("content-range", "").strip())
    if not had or not found or int(found[1]) != had:
        return Trouble("the download server sent another part than was asked for", restart=True)
    total = None if found[3] == "*" else int(found[3])
    if total is not None and source.total is not None and total != source.total:
        return Trouble("the film changed its length on the way", restart=True)
    if "etag" in headers and _strong(headers["etag"]) != source.etag:
        return Trouble("the film changed on the way", restart=True)
    return Continue()


def _nothing_more(headers: Mapping[str, str], had: int, source: Source) -> Meaning:
    found = _UNRANGED.fullmatch(headers.get("content-range", "").strip())
    if had and found and int(found[1]) == had and source.total in (None, had):
        return Complete()
    return Trouble("the film is shorter than what was downloaded of it", restart=True)


def _strong(etag: str | None) -> str | None:
    # A weak ETag (W/) promises the same meaning, not the same bytes.
    return etag if etag and etag.startswith('"') else None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
