"""The application behind the socket: one reply a request, and nothing kept of it but a hint.

The order is the safety of it: size, signature over the raw bytes, what they say, the commit to the
ledger, and only then the acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from callsheet.deployments.receiver.delivery import (
    Headers,
    Message,
    NoDelivery,
    Receive,
    Reply,
    Send,
    header_values,
    hint_of,
    read_body,
)
from callsheet.deployments.receiver.signature import is_signature, signer_of
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import Hint, Ledger, drop_old_hints, keep_hint
from callsheet.tasks.measures import HINTS
from callsheet.tasks.plural import count

log = logging.getLogger("callsheet.receiver")

Clock = Callable[[], float]
OnHint = Callable[[Hint], None]

#: Seconds that a commit may take before the service is asked to come again. How long the service
#: waits is not shown (specification, section 6).
COMMIT_TIMEOUT = 5.0
#: Old hints are dropped so often, in seconds.
SWEEP_INTERVAL = 3600.0
#: Bodies that are known to be in the inbox: whoever repeats one does not reach the ledger.
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
        # The bodies of two pings may be the same, and whoever asked for the second one waits.
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
            new = await self.ledger.write(partial(keep_hint, hint=hint, at=self.clock()))
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
                await self.ledger.write(partial(drop_old_hints, at=self.clock()))
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
            # Above all a file of secrets that cannot be read: it may be mended before the retry.
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
