"""How a run ends early: it is stopped, rows are canceled, and calls under way finish first.

Trouble with one video does not mean that the service is silent: before a run is parked for it,
another read is tried.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.active_rows import ActiveRow
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.policy.decision import (
    NEVER_MADE,
    NeverSent,
    NotStored,
    Observation,
    Troubled,
    Unknown,
    unwanted,
)
from callsheet.tasks.ledger.cancel_requests import CancelMark, cancel_mark, cancel_requests
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import remark
from callsheet.tasks.ledger.takes import refuse
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow
from callsheet.tasks.runtime.errors import (
    CallsheetError,
    LedgerError,
    NotSent,
    OutcomeUnknown,
    RunStopped,
    ServerTrouble,
    ServiceError,
)
from callsheet.tasks.service import VideoService
from callsheet.tasks.service.sending import LONGEST

#: A gate closed for longer than this parks the run instead of pausing it, in seconds.
PAUSE_LIMIT = 900.0
#: A service that has not answered for so long is worth a word, in seconds.
SILENT = 5.0
#: After so long without an answer it is asked whether the service is there at all, in seconds.
SILENCE = 120.0
#: When to come back to a service that is not there, in seconds.
LATER = 300.0


class Stop:
    """Why and until when a run begins nothing more; the first reason stands.

    `then` is called once, at that moment.
    """

    def __init__(self, at: Context, *, max_wait: float | None, then: Callable[[], None]) -> None:
        self.because: str | None = None
        self.until: datetime | None = None
        self._at = at
        self._max_wait = max_wait
        self._then = then
        self._silent_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def waits_for(self) -> str | None:
        """Say what no row can go on without, and since or until when."""
        gate, silent = self._at.service.gate, self._silence()
        if not gate.is_open and gate.closed_until is not None:
            return f"the service accepts no requests before {gate.closed_until:%H:%M:%S} UTC"
        if silent > SILENT:
            since = datetime.fromtimestamp(self._at.clock() - silent, UTC)
            return f"the service has not answered since {since:%H:%M:%S} UTC"
        return None

    def _silence(self) -> float:
        """Return for how long no call was answered, in seconds."""
        if self._silent_since is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._silent_since

    def watch(self) -> None:
        """Begin to count the time that the run may take."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        if self._max_wait is not None:
            words = "the time given with --max-wait is up"
            self._timer = loop.call_later(self._max_wait, self.ask, words)

    def close(self) -> None:
        """Count the time no more."""
        if self._timer is not None:
            self._timer.cancel()

    def ask(self, because: str, until: float | None = None) -> None:
        """Stop now; `until` is when to come back, in Unix seconds."""
        if self.because is not None:
            return
        self.because = because
        self.until = datetime.fromtimestamp(until or self._at.clock(), UTC)
        self._then()

    def pause(self, until: float) -> None:
        """Make no request before a moment; stop where that is too far away to wait for."""
        limit = PAUSE_LIMIT
        if self._max_wait is not None:
            spent = asyncio.get_running_loop().time() - self._began
            limit = min(limit, max(0.0, self._max_wait - spent))
        if until - self._at.clock() > limit:
            self.ask("the service asks not to be called before then", until)

    async def notice(self, observation: Observation) -> None:
        """Stop when no call at all is answered, counted from the first that was not."""
        if isinstance(observation, NotStored | Unknown):
            # It may have been answered and may not.
            return
        now = asyncio.get_running_loop().time()
        if not isinstance(observation, NeverSent | Troubled):
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since > SILENCE:
            self._silent_since = now
            if await answers(self._at.service):
                self._silent_since = None
            elif self._silent_since == now:
                words = f"the service has not answered for {SILENCE:.0f} s ({observation.words})"
                self.ask(words, self._at.clock() + LATER)


def broken_off(fault: BaseException) -> BaseException:
    """Return a fault as what it means in the middle of a run, where something may be paid."""
    if not isinstance(fault, CallsheetError) or isinstance(fault, RunStopped):
        return fault
    return RunStopped.by(fault, remedy=fault.remedy or "run the same command again")


async def answers(service: VideoService) -> bool:
    """Whether the service answers any read: one kind of request may be in trouble by itself."""
    for read in (partial(_first_video, service), service.templates):
        try:
            await read()
        except (NotSent, OutcomeUnknown, ServerTrouble):
            continue
        except ServiceError:
            pass
        return True
    return False


async def _first_video(service: VideoService) -> object:
    async with aclosing(service.list_videos()) as videos:  # type: ignore[type-var]
        return await anext(videos, None)


# What someone asked to cancel while a run lasts, as the ledger tells it.
#
# Requests come from any process. What was asked for before the run began is known from its rows.


log = logging.getLogger("callsheet.engine")

#: How often the ledger is asked what is to be cancelled, in seconds.
EVERY = 1.0
#: A create that was to be cancelled before anybody knew whether it arrived.
NOT_YET = (
    "to be cancelled, but it is not known whether its create arrived: the next run asks again "
    "under the same key, and cancels what it made"
)


class Cancellations:
    """The takes to cancel and the rows that are cancelled already, since this run began.

    The ledger is asked for a mark that changes with every request, and for more where it did.
    """

    def __init__(self, ledger: Ledger, campaign_id: int) -> None:
        self._ledger = ledger
        self._campaign_id = campaign_id
        self._mark: CancelMark | None = None
        #: The takes to cancel by the number of their row, and those that were so from the start.
        self._asked: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._cancelled: frozenset[int] = frozenset()

    def begins(self, row: CampaignRow) -> None:
        """Note a row as this run takes it up."""
        if row.take is not None and unwanted(row):
            self._before[row.id] = row.take.id

    def ends(self, row: CampaignRow) -> None:
        """Forget a row that is settled."""
        self._asked.pop(row.id, None)
        self._before.pop(row.id, None)

    async def named(self) -> AsyncIterator[list[int]]:
        """Ask again and again; yield the numbers of the rows that are named newly."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                found = await self.refresh()
            except LedgerError as error:
                # A ledger that is busy now is asked again.
                log.warning("the ledger did not say what is to be cancelled: %s", error)
                continue
            yield found

    async def refresh(self) -> list[int]:
        """Ask the ledger; return the numbers of the rows that it names newly.

        Raises LedgerError when it cannot be read.
        """
        mark = await self._ledger.read(cancel_mark, campaign_id=self._campaign_id)
        if mark == self._mark:
            return []
        found = await self._ledger.read(cancel_requests, campaign_id=self._campaign_id)
        new = [row for row, take in found.takes.items() if self._asked.get(row) != take]
        new += found.cancelled - self._cancelled
        self._mark, self._asked, self._cancelled = mark, dict(found.takes), found.cancelled
        return sorted(new)

    def is_over(self, row: CampaignRow) -> bool:
        """Whether a row that has not begun in this run is cancelled in the ledger."""
        return row.state not in UNDER_WAY and row.id in self._cancelled

    def is_touched(self, row: CampaignRow) -> bool:
        """Whether there is something to do about a row that waits."""
        if not self._asked and not self._cancelled:
            return False
        return self.is_over(row) or self.is_given_up(row) or self._is_new(row)

    def is_given_up(self, row: CampaignRow) -> bool:
        """Whether it is not known if a create arrived that no one wants: not sent again now."""
        keyed = row.take is not None and row.take.keyed
        return row.state == "submitting" and keyed and self._is_asked(row)

    def marked(self, row: CampaignRow, now: float) -> CampaignRow:
        """Return the row as the ledger has it: its take marked, if that was asked for."""
        if row.take is None or not self._is_new(row):
            return row
        return replace(row, take=replace(row.take, cancel_requested_at=now))

    def _is_new(self, row: CampaignRow) -> bool:
        return self._is_asked(row) and not unwanted(row)

    def _is_asked(self, row: CampaignRow) -> bool:
        take = row.take
        if take is None or not self._asked:
            return False
        return self._asked.get(row.id) == take.id != self._before.get(row.id)


def drop(connection: Connection, row: CampaignRow, at: float) -> bool:
    """Cancel a row whose create is known to have made nothing; False if it had moved on."""
    assert row.take is not None, "a row in submitting has a take"
    return refuse(connection, row, row.take, new="cancelled", reason=NEVER_MADE, at=at)


def leave(connection: Connection, row: CampaignRow, at: float) -> bool:
    """Say why a row with a create of unknown outcome stays; False if it had moved on."""
    return remark(connection, row, NOT_YET, at=at)


# The visits under way: when a run is stopped they are waited for, and paid calls the longest.


#: How long calls under way may take to end when the run is stopped, in seconds.
GRACE = 5.0


class CallsUnderWay:
    """Who is being visited, and which of those pay without a key."""

    def __init__(self) -> None:
        self._busy: set[ActiveRow] = set()
        #: Of those, the rows whose paid call takes no key: cut off, no one knows what became of it.
        self._paying: set[ActiveRow] = set()
        self._ended = asyncio.Event()

    @property
    def paying(self) -> list[str]:
        """The rows whose paid call without a key is under way."""
        return sorted(active.row.row for active in self._paying)

    @contextlib.contextmanager
    def noted(self, active: ActiveRow) -> Iterator[None]:
        """Note that a row is being visited, until its visit is over."""
        self._busy.add(active)
        try:
            yield
        finally:
            self._busy.discard(active)
            self._paying.discard(active)
            self._ended.set()

    def pays(self, active: ActiveRow) -> None:
        """Note that a row's paid call without a key is begun."""
        self._paying.add(active)

    async def let_finish(self) -> None:
        """Wait for calls under way: to cut one off would only make its outcome unknown.

        The same bytes may be sent again under their key. A paid call without one may not: it is
        waited for as long as it may take.
        """
        await self._ends(self._busy, GRACE)
        if self._paying:
            words = "a paid call without a key is under way, and its answer is waited for: %s"
            log.warning(words, ", ".join(self.paying))
            await self._ends(self._paying, LONGEST)

    async def _ends(self, calls: set[ActiveRow], longest: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                while calls:
                    self._ended.clear()
                    await self._ended.wait()
