"""What a signed delivery says: the videos it names, and its own words about itself.

Section 6 of the specification leaves the body open, so every string in it is looked at. The words
of the headers are not signed: they are cut to size and kept for people to read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks.ledger import Hint

#: Together with the prefix no longer than the ledger's column.
_VIDEO = re.compile(r"vid_[A-Za-z0-9_-]{1,196}")
#: An event says one video; whoever names thousands has looks to be saved from.
MOST_VIDEOS = 100
#: Deeper than this, nothing is looked for.
DEEPEST = 32

_EVENT_ID = re.compile(r"[!-~]{1,200}")
_NUMBER = re.compile(r"[0-9]{1,6}")
_MOMENT = re.compile(r"[0-9]{1,12}")
_ODD = re.compile(r"[^\w./:-]", re.ASCII)
_LONGEST_KIND = 60

Headers = Sequence[tuple[bytes, bytes]]


def hint_of(body: bytes, headers: Headers, *, nonce: str, vendor: str) -> Hint:
    """Return the hint that lies in a signed body, which need not even be JSON."""
    document = _parse(body)

    def says(name: str) -> str | None:
        values = header_values(headers, vendor, name)
        return values[0].decode("latin-1").strip() if len(values) == 1 else None

    return Hint(
        digest=hashlib.sha256(body).hexdigest(),
        nonce=nonce,
        videos=videos_in(document),
        ping=_is_ping(document),
        # Cut short, the ids of two events could become one, and the second would not be heard.
        event_id=_if_like(_EVENT_ID, says("Event-Id")),
        kind=_ODD.sub("?", says("Event") or "")[:_LONGEST_KIND] or None,
        attempt=_whole(_if_like(_NUMBER, says("Attempt"))),
        told_at=_whole(_if_like(_MOMENT, says("Timestamp"))),
    )


def header_values(headers: Headers, vendor: str, name: str) -> list[bytes]:
    """Return every value of the header `X-<vendor>-<name>`; names come in lower case."""
    wanted = f"x-{vendor}-{name}".lower().encode()
    return [value for known, value in headers if known == wanted]


def videos_in(document: Any) -> frozenset[str]:
    """Return the video ids among all strings of a document, the outermost first."""
    found: set[str] = set()
    line: deque[tuple[Any, int]] = deque([(document, 0)])
    while line and len(found) < MOST_VIDEOS:
        value, depth = line.popleft()
        if isinstance(value, str):
            if _VIDEO.fullmatch(value):
                found.add(value)
        elif depth < DEEPEST:
            line.extend((inner, depth + 1) for inner in _inside(value))
    return frozenset(found)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    return value if isinstance(value, list) else ()


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_ping(document: Any) -> bool:
    """Specification, section 6: a test ping has `data.test`, and it is true."""
    data = document.get("data") if isinstance(document, Mapping) else None
    return isinstance(data, Mapping) and data.get("test") is True


def _if_like(form: re.Pattern[str], text: str | None) -> str | None:
    return text if text and form.fullmatch(text) else None


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)
