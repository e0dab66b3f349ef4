"""The row of `runs` that a run keeps of itself: that it began, how far it is, and how it ended.

Never in a run's way: it waits for nothing of this before its end, and what cannot be written is
logged and left. A run that writes nothing else has no row.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, TypeVar
from uuid import uuid4

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.engine.owner import is_dead, this_process
from callsheet.tasks.ledger.ledger import Change, Ledger, open_ledger
from callsheet.tasks.ledger.runs import (
    RunDoor,
    RunKind,
    RunRow,
    Step,
    begin_run,
    end_run,
    note_expected,
    note_plan,
    note_step,
    renew_run,
)
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock, user_name
from callsheet.tasks.runtime.redact import redact, redacted

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])
log = logging.getLogger("callsheet.run")

#: Rows that are named in what a run was asked for; of more their number is kept.
NAMED = 100
#: Seconds between two notes of when a run will be done, and by which it has to differ.
OFTEN = 5.0
#: Characters that are kept of how a run ended.
LONGEST = 2000
_count = itertools.count(1)


@dataclass(frozen=True)
class Origin:
    """The door that runs come in by, and who comes; `run_id` is of one that may be begun again."""

    door: RunDoor = "terminal"
    by: str = field(default_factory=user_name)
    run_id: str | None = None


_origin: ContextVar[Origin | None] = ContextVar("callsheet_origin", default=None)
_current: ContextVar[RunRecord | None] = ContextVar("callsheet_run_record", default=None)


def comes_from(door: RunDoor, by: str, *, run_id: str | None = None) -> None:
    """Have what runs in this context from now on come in by a door."""
    _origin.set(Origin(door, by, run_id))


class RunRecord:
    """What one run writes of itself; `begin` it where the run first writes to the ledger."""

    def __init__(self, row: RunRow, *, is_ours: bool = True, clock: UnixClock = time.time) -> None:
        self.row = row
        self._clock = clock
        #: Whether someone else begins and ends the row: the board, for a plan approved there.
        self._is_ours = is_ours
        self._owner = f"{this_process()}:run.{next(_count)}"
        self._ledger: Ledger | None = None
        #: What the run is at, and what its row says of that.
        self._step: Step | None = None
        self._shown: Step | None = None
        #: When it was noted when the run will be done, and when that is.
        self._expected = (0.0, 0.0)
        self._end: tuple[int, str | None] | None = None
        self._last: asyncio.Task[bool] | None = None
        self._beat: asyncio.Task[None] | None = None

    @property
    def has_parts(self) -> bool:
        """Whether what runs within it are runs of their own."""
        return self.row.kind == "night"

    def begin(
        self, ledger: Ledger, settings: Settings, campaign: str = "", *, waiting: bool = False
    ) -> None:
        """Write that the run begins; again, whether it is `waiting` for another run."""
        begun, self._ledger = self._ledger is not None, ledger
        step: Step | None = "waiting" if waiting else self._step
        if begun or not self._is_ours:
            self._show(step)
            return
        self._shown = step
        self.row = replace(
            self.row,
            asked_at=self._clock(),
            campaign=campaign,
            step=step,
            organisation=_organisation(settings),
            store=redact(settings.store),
        )
        beginning = partial(begin_run, run=self.row, owner=self._owner, is_dead=is_dead)
        self._last = asyncio.create_task(self._write(partial(beginning, seconds=settings.lease)))
        self._beat = asyncio.create_task(self._renew(settings.lease), name="lease of the run")

    def at(self, step: Step) -> None:
        """Note what the run is at, from its beginning on."""
        self._step = step
        self._show(step)

    def _show(self, step: Step | None) -> None:
        if self._ledger is not None and step not in (None, self._shown):
            self._shown = step
            self._note(partial(note_step, run_id=self.row.id, step=step))

    def expects(self, seconds_left: float | None) -> None:
        """Note when the run will be done, if that is not about what was noted."""
        if seconds_left is None:
            return
        now = self._clock()
        noted_at, expected = self._expected
        moved = abs(now + seconds_left - expected)
        if now - noted_at >= OFTEN and moved > max(OFTEN, seconds_left / 20):
            self._expected = now, now + seconds_left
            self._note(partial(note_expected, run_id=self.row.id, at=now + seconds_left))

    def approved(self, plan_id: str | None) -> None:
        """Note the plan that the run has approved."""
        if plan_id is not None and self._is_ours:
            self._note(partial(note_plan, run_id=self.row.id, plan_id=plan_id))

    def ends(self, exit_status: int, words: str | None = None) -> None:
        """Have the run end with this exit status, unless an error ends it."""
        self._end = exit_status, words

    def hears(self, outcome: RunOutcome | None, interrupted: str | None) -> None:
        """Take what became of a run for its end; `interrupted` says what ended it from outside."""
        if outcome is not None:
            self.ends(outcome.exit_status, outcome.words or interrupted)
        elif interrupted is not None:
            self.ends(1, interrupted)

    def fails(self, error: BaseException) -> None:
        """Have the run end with an error."""
        cause = error if isinstance(error, CallsheetError) else error.__cause__
        if isinstance(cause, CallsheetError):
            words = f"{cause} ({cause.remedy})" if cause.remedy else str(cause)
            self._end = cause.exit_status, words
        elif self._end is None:
            # What any other error says may be about anything.
            self._end = 1, f"it was interrupted ({type(error).__name__})"

    async def settle(self) -> None:
        """Wait until all that was noted is written, or could not be."""
        if self._beat is not None:
            self._beat.cancel()
        if self._last is not None:
            await asyncio.wait({self._last})

    async def end(self, settings: Settings) -> None:
        """Write how the run ended."""
        await self.settle()
        if self._last is None or not self._is_ours or not self._last.result():
            return
        status, words = self._end or (0, None)
        words = redact(words)[:LONGEST] if words else None
        ended = partial(end_run, run_id=self.row.id, place=self._owner, exit_status=status)
        change = partial(ended, words=words, at=self._clock())
        assert self._ledger is not None, "it has begun"
        try:
            await self._ledger.write(change)
        except CallsheetError:
            # A run closes its ledger before it knows how it ends.
            with contextlib.suppress(CallsheetError, OSError):
                async with await open_ledger(settings.ledger, create=False, lock_wait=1) as own:
                    await own.write(change)

    def _note(self, change: Change[Any]) -> None:
        if self._ledger is not None:
            self._last = asyncio.create_task(self._write(change, self._last))

    async def _write(self, change: Change[Any], before: asyncio.Task[bool] | None = None) -> bool:
        """Write one thing after the other; False once another process turns out to have the run."""
        if before is not None and not await before:
            return False
        assert self._ledger is not None, "a run begins with its ledger"
        try:
            return await self._ledger.write(change) is not False
        except Exception as error:
            log.debug("what a run is at was not written: %s", error)
            return before is not None

    async def _renew(self, lapse: float) -> None:
        change = partial(renew_run, run_id=self.row.id, place=self._owner, seconds=lapse)
        while True:
            await asyncio.sleep(lapse / 4)
            self._note(change)


@asynccontextmanager
async def recorded(
    kind: RunKind,
    settings: Settings,
    *,
    options: RunOptions | None = None,
    run_id: str | None = None,
    by: str | None = None,
    parent: str | None = None,
) -> AsyncIterator[RunRecord]:
    """Keep the record of a run while it lasts; what runs within a run is the same run.

    It ends with what it was told (`ends`), or with the error that leaves it.
    """
    within = _current.get()
    if within is not None and not within.has_parts:
        yield within
        return
    origin = _origin.get() or Origin()
    if within is not None:
        origin, parent = Origin("night", within.row.started_by), within.row.id
    if run_id is None and options is not None:
        run_id = options.run_id
    record = RunRecord(
        RunRow(
            id=run_id or origin.run_id or uuid4().hex,
            kind=kind,
            door=origin.door,
            started_by=by or origin.by,
            asked_at=0.0,
            parent=parent,
            options={} if options is None else _kept(options),
        )
    )
    with _at_hand(record):
        try:
            yield record
        except BaseException as error:
            record.fails(error)
            raise
        finally:
            await record.end(settings)


@contextlib.contextmanager
def recorded_by_board(run: RunRow, ledger: Ledger, settings: Settings) -> Iterator[None]:
    """Have what runs within note its steps in the row of a run that was asked for."""
    record = RunRecord(run, is_ours=False)
    record.begin(ledger, settings)
    with _at_hand(record):
        yield


def this_run() -> str | None:
    """Return the id of the run at hand."""
    record = _current.get()
    return None if record is None else record.row.id


def run_begins(ledger: Ledger, settings: Settings, campaign: str, *, waiting: bool = False) -> None:
    """Write that the run at hand begins, as `RunRecord.begin`."""
    if (record := _current.get()) is not None:
        record.begin(ledger, settings, campaign, waiting=waiting)


def run_approved(plan_id: str | None) -> None:
    """Note the plan that the run at hand has approved."""
    if (record := _current.get()) is not None:
        record.approved(plan_id)


def run_left(exit_status: int, words: str) -> None:
    """Note why the run at hand ends though no error of ours ends it."""
    if (record := _current.get()) is not None:
        record.ends(exit_status, words)


def steps_to(step: Step) -> None:
    """Note what the run at hand is at."""
    if (record := _current.get()) is not None:
        record.at(step)


def expected_in(seconds_left: float | None) -> None:
    """Note when the run at hand will be done; None: nothing can be said."""
    if (record := _current.get()) is not None:
        record.expects(seconds_left)


def at_step(step: Step) -> Callable[[F], F]:
    """Have a step of a run note that the run is at it."""

    def wrap(function: F) -> F:
        @wraps(function)
        async def within(*args: Any, **named: Any) -> Any:
            steps_to(step)
            return await function(*args, **named)

        return within  # type: ignore[return-value]

    return wrap


@contextlib.contextmanager
def _at_hand(record: RunRecord) -> Iterator[None]:
    token = _current.set(record)
    try:
        yield
    finally:
        _current.reset(token)


def _organisation(settings: Settings) -> str | None:
    with contextlib.suppress(CallsheetError):
        return organisation_of(settings)
    return None


def _kept(options: RunOptions) -> Mapping[str, Any]:
    """Return what a run was asked for, without secrets and long lists."""
    found: dict[str, Any] = redacted(options.but(run_id=None).kept())
    if options.rows is not None and len(options.rows) > NAMED:
        found["rows"] = len(options.rows)
    return found
