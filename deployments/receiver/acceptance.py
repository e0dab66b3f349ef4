"""Accepts webhook deliveries: size, signature, then one stored event and one reply.

Section 6 of the specification leaves the body open, so every string in it is looked at. The words
of the headers are not signed: they are cut to size and kept for people to read. ASGI alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import Hint, drop_old_hints, keep_hint
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.telemetry import HINTS
from callsheet.tasks.values.amounts import count

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
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


@dataclass(frozen=True)
class Reply:
    """A status and a word for anyone who reads logs at the other end."""

    status: int
    words: str
    document: bytes | None = None

    async def give(self, send: Send) -> None:
        """Send it. Every connection serves one request: no one keeps one to sit on."""
        body = self.document or f"{self.words}\n".encode()
        kind = b"application/json" if self.document else b"text/plain; charset=utf-8"
        headers = [
            (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if self.status == 405:
            headers.append((b"allow", b"POST"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


TOO_LARGE = Reply(413, f"a delivery has {LARGEST} bytes at most")
TOO_SLOW = Reply(408, "the body did not arrive in time")


class NoDelivery(Exception):
    """The request has no body that could be one; `reply` says why, None if no one waits."""

    def __init__(self, reply: Reply | None) -> None:
        super().__init__()
        self.reply = reply


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """Return the whole body; raise NoDelivery when it is too large, too slow, or cut off."""
    # The server has checked that it is a number; without one the bytes are counted as they come.
    said = next((value for name, value in headers if name == b"content-length"), b"0")
    if int(said) > LARGEST:
        raise NoDelivery(TOO_LARGE)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            while (message := await receive())["type"] == "http.request":
                body += message.get("body", b"")
                if len(body) > LARGEST:
                    raise NoDelivery(TOO_LARGE)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise NoDelivery(TOO_SLOW) from None
    raise NoDelivery(None)


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


# The application behind the socket: one reply a request, and nothing kept of it but a hint.
#
# The order is the safety of it: size, signature over the raw bytes, what they say, the commit to
# the ledger, and only then the acknowledgement.


log = logging.getLogger("callsheet.receiver")

Clock = Callable[[], float]
OnHint = Callable[[Hint], None]

#: Seconds that a commit may take before the service is asked to come again. How long the service
#: waits is not shown (specification, section 6).
COMMIT_TIMEOUT = 5.0
#: Old hints are dropped so often, in seconds.
SWEEP_INTERVAL = 3600.0
#: Bodies that are known to be in the inbox: anyone who repeats one does not reach the ledger.
REMEMBERED = 4096
#: A signature that fits no secret is told a person so often, in seconds.
WARN_INTERVAL = 600.0

HEARD = Reply(200, "heard")
HEARD_BEFORE = Reply(200, "heard before")
NOT_SIGNED = Reply(401, "no secret of this receiver signs this body")
POST_ONLY = Reply(405, "deliveries are POSTed")
NOT_NOW = Reply(503, "it could not be written down; come again")


@dataclass
class Receiver:
    """A receiver at work: where it listens, where it tells of that, and what came in so far."""

    address: str
    #: Where Prometheus is answered, if anywhere.
    metrics: str | None = None
    #: New hints, deliveries that were known already, and what was turned away.
    heard: int = 0
    repeated: int = 0
    refused: int = 0


@dataclass
class Acceptance:
    """Commits hints, then has them acknowledged, then passes each new one on to `on_hint`."""

    ledger: Ledger
    receiver: Receiver
    on_hint: OnHint | None
    clock: Clock
    known: OrderedDict[str, None] = field(default_factory=OrderedDict)
    commits: set[asyncio.Task[Reply]] = field(default_factory=set)

    async def accept(self, hint: Hint) -> Reply:
        """Commit a hint and return the reply; a commit may come after its reply of 503."""
        # The bodies of two pings may be the same, and the second one is waited for.
        if hint.digest in self.known and not hint.ping:
            return self._repeat(hint)
        commit = asyncio.create_task(self._commit(hint))
        self.commits.add(commit)
        commit.add_done_callback(self.commits.discard)
        try:
            return await asyncio.wait_for(asyncio.shield(commit), COMMIT_TIMEOUT)
        except TimeoutError:
            log.warning("the ledger is slow: a delivery was not acknowledged, and comes again")
            return NOT_NOW

    async def _commit(self, hint: Hint) -> Reply:
        try:
            new = await self.ledger.write(keep_hint, hint=hint, at=self.clock())
        except Exception as error:
            words = _words_of(error)
            log.warning("a delivery could not be written down, and comes again: %s", words)
            return NOT_NOW
        if not hint.ping:
            self.known[hint.digest] = None
            while len(self.known) > REMEMBERED:
                self.known.popitem(last=False)
        if not new:
            return self._repeat(hint)
        self._count("heard")
        log.info("heard %s", _about(hint))
        if self.on_hint is not None:
            try:
                self.on_hint(hint)
            except Exception as error:
                log.warning("a hint was heard but not passed on: %s", _words_of(error))
        return HEARD

    def _repeat(self, hint: Hint) -> Reply:
        self._count("repeated")
        log.info("heard before: %s", _about(hint))
        return HEARD_BEFORE

    def refuse(self) -> None:
        """Count a delivery that is turned away."""
        self._count("refused")

    def _count(self, what: Literal["heard", "repeated", "refused"]) -> None:
        setattr(self.receiver, what, getattr(self.receiver, what) + 1)
        self.ledger.measures.add(HINTS, what)

    async def drop_old_hints(self) -> None:
        """Drop old hints now and every hour."""
        while True:
            try:
                await self.ledger.write(drop_old_hints, at=self.clock())
            except Exception as error:
                log.warning("old hints could not be dropped: %s", _words_of(error))
            await asyncio.sleep(SWEEP_INTERVAL)

    async def finish(self) -> None:
        """Let commits that are under way end."""
        await asyncio.gather(*self.commits, return_exceptions=True)


@dataclass
class Application:
    """The ASGI application: one reply a request."""

    acceptance: Acceptance
    secrets: Callable[[], list[tuple[str, bytes]]]
    vendor: str
    ledger: str
    clock: Clock
    warned_at: float = float("-inf")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        reply = await self._reply_to(scope, receive)
        if reply is not None:
            await reply.give(send)

    async def _reply_to(self, scope: Message, receive: Receive) -> Reply | None:
        method, headers = scope["method"], scope["headers"]
        if method in ("GET", "HEAD") and scope["path"].rpartition("/")[2] == "health":
            said = json.dumps({"receiver": "callsheet", "ledger": self.ledger}).encode()
            return Reply(200, "at work", said)
        if method != "POST":
            return POST_ONLY
        try:
            body = await read_body(headers, receive)
        except NoDelivery as none:
            self.acceptance.refuse()
            words = none.reply.words if none.reply else "cut off"
            log.info("a delivery was refused: %s", words)
            return none.reply
        try:
            return await self._hear(headers, body)
        except Exception as error:
            # Above all a file of secrets that cannot be read: it may be fixed before the retry.
            log.warning("a delivery could not be heard: %s", _words_of(error))
            return NOT_NOW

    async def _hear(self, headers: Headers, body: bytes) -> Reply:
        signature = header_values(headers, self.vendor, "Signature")
        nonce = signer_of(signature, body, self.secrets())
        if nonce is None:
            self.acceptance.refuse()
            self._tell_of_refusal(well_formed=is_signature(signature))
            return NOT_SIGNED
        hint = hint_of(body, headers, nonce=nonce, vendor=self.vendor)
        return await self.acceptance.accept(hint)

    def _tell_of_refusal(self, *, well_formed: bool) -> None:
        """Say it aloud now and then: it may be the service, and a secret that was lost."""
        aloud = well_formed and self.clock() - self.warned_at >= WARN_INTERVAL
        if aloud:
            self.warned_at = self.clock()
        log.log(
            logging.WARNING if aloud else logging.INFO,
            "a delivery was refused: %s",
            "no secret that is kept here signed it; if it came from the service, "
            "`callsheet webhooks ensure` sets that right"
            if well_formed
            else "it has no signature, or none of the right form",
        )


def _about(hint: Hint) -> str:
    """Say what a delivery is in a line that holds nothing anybody could write into it."""
    words = "a ping" if hint.ping else hint.kind or "an event without a kind"
    attempt = f", attempt {hint.attempt}" if hint.attempt else ""
    return f"{words}{attempt}, {count(len(hint.videos), 'video')} named"


def _words_of(error: Exception) -> str:
    """Say what went wrong; of an error that is not ours only its name, since it may quote."""
    return str(error) if isinstance(error, CallsheetError) else type(error).__name__


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
