"""The way of a hint into the ledger: committed, then acknowledged, then passed on."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from deployments.receiver.request import Answer
from tasks.errors import CallsheetError
from tasks.ledger import Hint, Ledger, drop_old_hints, keep_hint

log = logging.getLogger("callsheet.receiver")

Clock = Callable[[], float]
OnHint = Callable[[Hint], None]

#: Seconds that a commit may take before the service is asked to come again. How long the service
#: waits is not shown (specification, section 6).
COMMIT_WAIT = 5.0
#: Old hints are dropped so often, in seconds.
SWEEP = 3600.0
#: Bodies that are known to be in the inbox: whoever repeats one does not reach the ledger.
REMEMBERED = 4096

HEARD = Answer(200, "heard")
HEARD_BEFORE = Answer(200, "heard before")
NOT_NOW = Answer(503, "it could not be written down; come again")


@dataclass
class Receiver:
    """A receiver at work: where it listens, and what came in since it began."""

    address: str
    #: New hints, deliveries that were known already, and what was turned away.
    heard: int = 0
    repeated: int = 0
    refused: int = 0


@dataclass
class Intake:
    """Takes hints in; `receiver` counts them, `on_hint` is told each new one."""

    ledger: Ledger
    receiver: Receiver
    on_hint: OnHint | None
    clock: Clock
    known: OrderedDict[str, None] = field(default_factory=OrderedDict)
    commits: set[asyncio.Task[Answer]] = field(default_factory=set)

    async def take(self, hint: Hint) -> Answer:
        """Commit a hint and return what to answer; a commit may come after its answer of 503."""
        # The bodies of two pings may be the same, and whoever asked for the second one waits.
        if hint.digest in self.known and not hint.ping:
            return self._repeat(hint)
        commit = asyncio.create_task(self._commit(hint))
        self.commits.add(commit)
        commit.add_done_callback(self.commits.discard)
        try:
            return await asyncio.wait_for(asyncio.shield(commit), COMMIT_WAIT)
        except TimeoutError:
            log.warning("the ledger is slow: a delivery was not acknowledged, and comes again")
            return NOT_NOW

    async def _commit(self, hint: Hint) -> Answer:
        try:
            new = await self.ledger.write(partial(keep_hint, hint=hint, at=self.clock()))
        except Exception as error:
            log.warning(
                "a delivery could not be written down, and comes again: %s", words_of(error)
            )
            return NOT_NOW
        if not hint.ping:
            # A second ping with the same body is news: somebody asked whether we are heard.
            self._remember(hint.digest)
        if not new:
            return self._repeat(hint)
        self.receiver.heard += 1
        log.info("heard %s", _about(hint))
        if self.on_hint is not None:
            try:
                self.on_hint(hint)
            except Exception as error:
                log.warning("a hint was heard but not passed on: %s", words_of(error))
        return HEARD

    def _remember(self, digest: str) -> None:
        self.known[digest] = None
        while len(self.known) > REMEMBERED:
            self.known.popitem(last=False)

    def _repeat(self, hint: Hint) -> Answer:
        self.receiver.repeated += 1
        log.info("heard before: %s", _about(hint))
        return HEARD_BEFORE

    async def sweep(self) -> None:
        """Drop old hints now and every hour."""
        while True:
            try:
                await self.ledger.write(partial(drop_old_hints, at=self.clock()))
            except Exception as error:
                log.warning("old hints could not be dropped: %s", words_of(error))
            await asyncio.sleep(SWEEP)

    async def settle(self) -> None:
        """Let commits that are under way end."""
        await asyncio.gather(*self.commits, return_exceptions=True)


def _about(hint: Hint) -> str:
    """Say what a delivery is in a line that holds nothing anybody could write into it."""
    words = "a ping" if hint.ping else hint.kind or "an event without a kind"
    attempt = f", attempt {hint.attempt}" if hint.attempt else ""
    return f"{words}{attempt}, {len(hint.videos)} videos named"


def words_of(error: Exception) -> str:
    """Say what went wrong; of an error that is not ours only its name, since it may quote."""
    return str(error) if isinstance(error, CallsheetError) else type(error).__name__
