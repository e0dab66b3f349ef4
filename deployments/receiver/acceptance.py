"""A webhook delivery: its body within bounds, the secret that signed it, and the hint in it.

Section 6 of the specification leaves the body open, so every string in it is looked at. The words
of the headers are not signed: they are cut to size and kept for people to read. Knows no ledger.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from callsheet.tasks.ledger.webhook_events import Hint

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Headers = Sequence[tuple[bytes, bytes]]

#: A delivery has some hundred bytes; beyond this, nothing is read.
LARGEST = 256 * 1024
#: Seconds for a whole body to arrive.
BODY_TIMEOUT = 10.0
#: An event says one video; anyone who names thousands has polls to be saved from.
MOST_VIDEOS = 100
#: Deeper than this, nothing is looked for.
DEEPEST = 32

#: Together with the prefix no longer than the ledger's column.
_VIDEO = re.compile(r"vid_[A-Za-z0-9_-]{1,196}")
_EVENT_ID = re.compile(r"[!-~]{1,200}")
_NUMBER = re.compile(r"[0-9]{1,6}")
_MOMENT = re.compile(r"[0-9]{1,12}")
_ODD = re.compile(r"[^\w./:-]", re.ASCII)
_ANY = re.compile(r".*", re.DOTALL)
_LONGEST_KIND = 60


class Reply(NamedTuple):
    """A status and a word for anyone who reads logs at the other end."""

    status: int
    words: str


TOO_LARGE = Reply(413, f"a delivery has {LARGEST} bytes at most")
TOO_SLOW = Reply(408, "the body did not arrive in time")


async def read_body(headers: Headers, receive: Receive) -> bytes | Reply | None:
    """Return the whole body; a reply if it is too large or too slow, None if it is cut off."""
    # The server has checked that it is a number; without one the bytes are counted as they come.
    said = next((value for name, value in headers if name == b"content-length"), b"0")
    if int(said) > LARGEST:
        return TOO_LARGE
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            while (message := await receive())["type"] == "http.request":
                body += message.get("body", b"")
                if len(body) > LARGEST:
                    return TOO_LARGE
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return TOO_SLOW
    return None


def header_values(headers: Headers, vendor: str, name: str) -> list[bytes]:
    """Return every value of the header `X-<vendor>-<name>`; names come in lower case."""
    wanted = f"x-{vendor}-{name}".lower().encode()
    return [value for known, value in headers if known == wanted]


def hint_of(body: bytes, headers: Headers, *, nonce: str, vendor: str) -> Hint:
    """Return the hint that lies in a signed body, which need not even be JSON."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None

    def says(name: str, form: re.Pattern[str]) -> str | None:
        values = header_values(headers, vendor, name)
        text = values[0].decode("latin-1").strip() if len(values) == 1 else ""
        return text if form.fullmatch(text) else None

    attempt, moment = says("Attempt", _NUMBER), says("Timestamp", _MOMENT)
    return Hint(
        digest=hashlib.sha256(body).hexdigest(),
        nonce=nonce,
        videos=_videos_in(document),
        ping=_is_ping(document),
        # Cut short, the ids of two events could become one, and the second would not be received.
        event_id=says("Event-Id", _EVENT_ID),
        kind=_ODD.sub("?", says("Event", _ANY) or "")[:_LONGEST_KIND] or None,
        attempt=int(attempt) if attempt else None,
        told_at=int(moment) if moment else None,
    )


def _videos_in(document: Any) -> frozenset[str]:
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


def _is_ping(document: Any) -> bool:
    """Specification, section 6: a test ping has `data.test`, and it is true."""
    data = document.get("data") if isinstance(document, Mapping) else None
    return isinstance(data, Mapping) and data.get("test") is True


# Whether a delivery is signed, and by which secret. Bytes in, a name out; knows no HTTP server.
#
# Specification, section 6: the header is `sha256=` and the HMAC-SHA256 of the raw body in lowercase
# hexadecimal digits.


_FORM = re.compile(rb"sha256=([0-9a-f]{64})")


def is_signature(values: Sequence[bytes]) -> bool:
    """Whether the values of the signature header are one, and of the right form."""
    return len(values) == 1 and _FORM.fullmatch(values[0]) is not None


def signer_of(
    values: Sequence[bytes], body: bytes, secrets: Iterable[tuple[str, bytes]]
) -> str | None:
    """Return the nonce of the secret that signed `body`, or None.

    Every secret is tried to the end, so that the time taken tells nothing of which one fits. All
    of it is bytes: `hmac.compare_digest` raises for text beyond ASCII.
    """
    if not is_signature(values):
        return None
    given, signer = values[0].removeprefix(b"sha256="), None
    for nonce, secret in secrets:
        wanted = hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
        if hmac.compare_digest(given, wanted) and signer is None:
            signer = nonce
    return signer
