"""The receiver of webhooks: signed deliveries become hints in the ledger, each once.

It answers 200 only after the commit, so that whatever is lost here is sent again. It does no work
of its own: a hint shortens a wait and is never believed. Knows no run and no flow. ASGI alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from callsheet.deployments.process import inherited, origin_of
from callsheet.deployments.receiver.acceptance import (
    Headers,
    Message,
    Receive,
    Reply,
    header_values,
    hint_of,
    is_signature,
    read_body,
    signer_of,
)
from callsheet.deployments.receiver.endpoint import BACKLOG, listen, name_of
from callsheet.deployments.web_server import answering, config_for
from callsheet.tasks.credentials import LiveSecrets
from callsheet.tasks.ledger.gauges import keeping_counts
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.webhook_events import Hint, drop_old_hints, keep_hint
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.telemetry import HINTS
from callsheet.tasks.values.amounts import count

log = logging.getLogger("callsheet.receiver")

Send = Callable[[Message], Awaitable[None]]

#: Connections at once; of a delivery that comes when there are more, the service is told to come
#: again.
MOST_CONNECTIONS = 768
#: Seconds that deliveries under way have at the end. A commit that takes longer is finished all the
#: same, and its delivery comes again.
GRACE = 2
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


@asynccontextmanager
async def receiving(
    ledger: Ledger,
    settings: Settings,
    *,
    on_hint: Callable[[Hint], None] | None = None,
    clock: Callable[[], float] = time.time,
    fd: int | None = None,
) -> AsyncIterator[Receiver]:
    """Receive deliveries on `settings.receiver` until left; `on_hint` is told each new one.

    `fd` is a socket on which the parent process listens, instead of that address.

    Raises ConfigurationError when the address cannot be had.
    """
    name = name_of(ledger.address)
    listening = await listen(settings.receiver, ledger=name) if fd is None else inherited(fd)
    try:
        receiver = Receiver(
            address=origin_of(listening),
            ledger=ledger,
            secrets=LiveSecrets(settings.webhook_secrets, settings.webhook_secret, clock=clock),
            vendor=settings.webhook_vendor,
            on_hint=on_hint,
            clock=clock,
        )
        config = config_for(
            receiver,
            backlog=BACKLOG,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
        )
        dropping = asyncio.create_task(receiver.drop_old_hints())
        try:
            async with keeping_counts(ledger), answering(config, listening):
                yield receiver
        finally:
            dropping.cancel()
            # Commits that are under way end.
            await asyncio.gather(dropping, *receiver.commits, return_exceptions=True)
    finally:
        listening.close()


@dataclass(kw_only=True)
class Receiver:
    """A receiver at work, as an ASGI application, and what came in so far.

    The order is the safety of it: size, signature over the raw bytes, what they say, the commit to
    the ledger, only then the acknowledgement, and last the word to `on_hint`.
    """

    address: str
    ledger: Ledger
    secrets: Callable[[], list[tuple[str, bytes]]]
    vendor: str
    on_hint: Callable[[Hint], None] | None
    clock: Callable[[], float]
    #: Where Prometheus is answered, if anywhere.
    metrics: str | None = None
    #: New hints, deliveries that were known already, and what was turned away.
    heard: int = 0
    repeated: int = 0
    refused: int = 0
    commits: set[asyncio.Task[Reply]] = field(default_factory=set)
    known: OrderedDict[str, None] = field(default_factory=OrderedDict)
    warned_at: float = float("-inf")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] in ("GET", "HEAD") and scope["path"].rpartition("/")[2] == "health":
            said = {"receiver": "callsheet", "ledger": name_of(self.ledger.address)}
            await _answer(send, 200, "application/json", json.dumps(said))
            return
        reply = await self._reply_to(scope, receive)
        # Of a request that was cut off no one waits for the answer.
        if reply is not None:
            await _answer(send, reply.status, "text/plain; charset=utf-8", f"{reply.words}\n")

    async def _reply_to(self, scope: Message, receive: Receive) -> Reply | None:
        if scope["method"] != "POST":
            return POST_ONLY
        body = await read_body(scope["headers"], receive)
        if not isinstance(body, bytes):
            self._count("refused")
            log.info("a delivery was refused: %s", body.words if body else "cut off")
            return body
        try:
            return await self._hear(scope["headers"], body)
        except Exception as error:
            # Above all a file of secrets that cannot be read: it may be fixed before the retry.
            log.warning("a delivery could not be heard: %s", _words_of(error))
            return NOT_NOW

    async def _hear(self, headers: Headers, body: bytes) -> Reply:
        """Commit the hint in a signed body; a commit may come after its reply of 503."""
        signature = header_values(headers, self.vendor, "Signature")
        nonce = signer_of(signature, body, self.secrets())
        if nonce is None:
            self._count("refused")
            self._tell_of_refusal(well_formed=is_signature(signature))
            return NOT_SIGNED
        hint = hint_of(body, headers, nonce=nonce, vendor=self.vendor)
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

    def _count(self, what: Literal["heard", "repeated", "refused"]) -> None:
        setattr(self, what, getattr(self, what) + 1)
        self.ledger.measures.add(HINTS, what)

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

    async def drop_old_hints(self) -> None:
        """Drop old hints now and every hour."""
        while True:
            try:
                await self.ledger.write(drop_old_hints, at=self.clock())
            except Exception as error:
                log.warning("old hints could not be dropped: %s", _words_of(error))
            await asyncio.sleep(SWEEP_INTERVAL)


async def _answer(send: Send, status: int, kind: str, words: str) -> None:
    """Answer. Every connection serves one request: no one keeps one to sit on."""
    body = words.encode()
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *([(b"allow", b"POST")] if status == POST_ONLY.status else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _about(hint: Hint) -> str:
    """Say what a delivery is in a line that holds nothing anybody could write into it."""
    words = "a ping" if hint.ping else hint.kind or "an event without a kind"
    attempt = f", attempt {hint.attempt}" if hint.attempt else ""
    return f"{words}{attempt}, {count(len(hint.videos), 'video')} named"


def _words_of(error: Exception) -> str:
    """Say what went wrong; of an error that is not ours only its name, since it may quote."""
    return str(error) if isinstance(error, CallsheetError) else type(error).__name__
