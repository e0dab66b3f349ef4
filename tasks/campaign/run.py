"""One run of a campaign: what its steps share while it lasts, and who is asked about it.

The steps (`steps`) are given it. Prefect's tasks find it by `current_run()`, since Prefect gets
ids and nothing else.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import Connection

from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import rows_named
from callsheet.tasks.campaign.run_record import recorded
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.campaign.workers import Workers, WorkerStarter
from callsheet.tasks.engine.context import Context, connect
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.pages import Shard
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.ledger.campaigns import Campaign, Tally, tally_of
from callsheet.tasks.ledger.figures import count_wanted
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_selection import urgent_rows
from callsheet.tasks.ledger.runs import RunKind
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, rows_of
from callsheet.tasks.runtime.errors import (
    NOTHING_SPENT,
    CallsheetError,
    RunStopped,
)
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.logs import about, facts_now
from callsheet.tasks.runtime.process import search_of_new
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.runtime.telemetry import span
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import in_credits

T = TypeVar("T")
log = logging.getLogger("callsheet.run")

Listener = Callable[[Snapshot], None]


#: Shows a run while it lasts, and stops it if someone asks for that.
Watch = Callable[["Run"], AbstractAsyncContextManager[object]]
#: Takes a step of a run: its key (`shown_states.STEPS`), what it does, and its ids.
TakeStep = Callable[["Run", str, Callable[..., Awaitable[Any]], tuple[Any, ...]], Awaitable[Any]]
#: Finds what starts the workers of a run. It is asked once the run has its campaign and something
#: to do: until then another run may need the server.
FindStarter = Callable[[], Awaitable[WorkerStarter]]


def unwatched(_: Run) -> AbstractAsyncContextManager[object]:
    """Show nothing of a run, and leave it to itself."""
    return nullcontext()


@dataclass(kw_only=True)
class Run:
    """What the steps of one run share. Everything in it can be lost: the ledger has the truth."""

    options: RunOptions
    at: Context
    #: Who is asked about its plan.
    approver: Approver = field(default_factory=Approver)
    #: None for a run without workers.
    find_starter: FindStarter | None = None
    on_plan: Callable[[Plan], None] | None = None
    on_wait: Callable[[str], None] | None = None
    on_note: Callable[[str], None] | None = None
    #: Is called with both of them, for a log; `said` has what was said before there was one.
    on_said: Callable[[str], None] | None = None
    said: list[str] = field(default_factory=list)
    #: Is told of how many rows the price is known, and how many are asked for.
    on_quotes: Callable[[int, int], None] | None = None
    listeners: list[Listener] = field(default_factory=list)
    #: How its steps are taken where they are shown one by one; None: as they are.
    takes: TakeStep | None = None
    #: Its row in the ledger's `runs`.
    record_id: str = ""
    sheet: Sheet | None = None
    campaign: Campaign | None = None
    plan: Plan | None = None
    #: What moves its rows: an engine here, or workers elsewhere.
    engine: Engine | Workers | None = None
    starter: WorkerStarter | None = None
    #: What its workers process.
    production_id: str = ""
    #: The rows that are processed, in as many parts as Prefect sees.
    shards: list[Shard] = field(default_factory=list)
    outcome: RunOutcome | None = None
    #: The rows that it is about, by id; None for all.
    only: frozenset[str] | None = None
    #: Whether all is delivered and reported: nothing is written any more.
    settled: bool = False
    #: What its campaign had been charged when this run began.
    charged_before: Decimal = Decimal(0)
    #: What was set aside for its campaign then.
    reserved_before: Decimal = Decimal(0)
    #: Whether its rows may be paid for by now: an error from here on says what was spent.
    pays: bool = False
    #: Whether its plan was refused while the price of a row is not known.
    lacks_price: bool = False
    #: Why this run may not begin anything any more.
    lost: str | None = None
    #: Who stopped it from outside and how, for people: where it is shown, or its machine.
    interrupted: str | None = None
    #: When the time given with --max-wait is up, on the loop's clock.
    until: float | None = None
    holding: AsyncExitStack = field(default_factory=AsyncExitStack)

    def facts(self) -> dict[str, object]:
        """Return what a line of the log says of the run."""
        known = self.campaign.name if self.campaign else self.sheet.campaign if self.sheet else None
        return {"campaign": known or self.options.campaign}

    def end(self) -> dict[str, object]:
        """Return what its span says of it."""
        found = {**facts_now(), **self.facts()}
        if self.outcome is None:
            return found
        states = {f"rows.{state}": count for state, count in self.outcome.tally.rows.items()}
        charged = float(self.outcome.charged_this_run)
        return {**found, **states, "exit": self.outcome.exit_status, "credits.charged": charged}

    @property
    def time_left(self) -> float | None:
        """Seconds until the time given with --max-wait is up."""
        if self.until is None:
            return None
        return max(0.0, self.until - asyncio.get_running_loop().time())

    def go_by(self, plan: Plan) -> None:
        """Take a plan for what is to be done; a selection is of the rows that it names."""
        self.plan = plan
        if self.options.select or self.options.first is not None or plan.adopt:
            # Of a plan that makes nothing, rows that wait for a person are left alone.
            lines = (line for line in plan.lines if not (plan.adopt and line.action == "person"))
            self.only = frozenset(line.row for line in lines)

    def show(self, plan: Plan) -> None:
        """Show a plan to anyone who wants to see it: once."""
        self.plan = plan
        if self.on_plan is not None:
            self.on_plan(plan)
            self.on_plan = None

    async def meet_starter(self) -> WorkerStarter | None:
        """Return what starts its workers, None for a run without any.

        Raises ConfigurationError where no worker could be started.
        """
        if self.starter is None and self.find_starter is not None:
            self.starter = await self.find_starter()
        return self.starter

    async def take(self, key: str, step: Callable[..., Awaitable[T]], *ids: Any) -> T:
        """Take a step, which is a function of the run and ids."""
        if self.takes is None:
            return await step(self, *ids)
        found: T = await self.takes(self, key, step, ids)
        return found

    def say_wait(self, words: str) -> None:
        """Say who has the campaign, which this run waits for."""
        self._say(words, self.on_wait)

    def say(self, words: str) -> None:
        """Say what a person should know of the run; without a listener, in the log."""
        self._say(words, self.on_note or (None if self.on_said else log.warning))

    def _say(self, words: str, hear: Callable[[str], None] | None) -> None:
        self.said.append(words)
        for tell in filter(None, (hear, self.on_said)):
            tell(words)

    def lose(self, because: str) -> None:
        """Begin nothing more, now or later in this run: another one has its campaign."""
        self.lost = because
        self.stop(because)

    def stop(self, because: str) -> None:
        """Begin nothing more; let what is under way finish."""
        if self.engine is not None:
            self.engine.stop(because)

    async def rows(self) -> list[CampaignRow]:
        """Return the campaign's chosen rows as the ledger has them, none that are skipped."""
        assert self.campaign is not None
        found = await self.at.ledger.read(rows_of, campaign_id=self.campaign.id)
        found = [row for row in found if self.has(row.row)]
        if not self.options.select or self.plan is not None:
            return found
        which = RowFilter.parse(self.options.select)
        return [row for row in found if which.matches(row, row.state)]

    async def urgent(self, limit: int) -> tuple[list[CampaignRow], int]:
        """Return at most so many of the run's rows, those that matter most, and how many it has."""
        assert self.campaign is not None
        campaign_id = self.campaign.id
        wanted = None if self.is_about_all else self.has

        def read(connection: Connection) -> tuple[list[CampaignRow], int]:
            found = urgent_rows(connection, campaign_id, limit=limit, wanted=wanted)
            return found, count_wanted(connection, campaign_id, wanted)

        return await self.at.ledger.read(read)

    async def named(self, names: Iterable[str]) -> list[CampaignRow]:
        """Return rows of the campaign by their ids."""
        assert self.campaign is not None
        return await self.at.ledger.read(rows_named, campaign=self.campaign.name, names=names)

    def has(self, row: str) -> bool:
        """Whether a row is among those that the run is about: chosen, and not skipped."""
        return row not in self.skipped and (self.only is None or row in self.only)

    @property
    def is_about_all(self) -> bool:
        """Whether it is about all rows of its campaign."""
        return self.only is None and not self.skipped

    @property
    def skipped(self) -> Collection[str]:
        """The ids of rows of the sheet that it leaves out."""
        return () if self.sheet is None else self.sheet.skipped

    @property
    def is_stopped(self) -> bool:
        """Whether the run was stopped or lost its campaign, and starts nothing more."""
        parked = self.engine is not None and self.engine.parked_because is not None
        return parked or self.lost is not None or self.interrupted is not None

    @property
    def has_begun(self) -> bool:
        """Whether something moves its rows by now."""
        return self.engine is not None


class OpenRuns:
    """Runs that are told together to begin nothing more, and those that open after that."""

    def __init__(self) -> None:
        #: Why nothing more is begun.
        self.lost: str | None = None
        self._open: list[Run] = []

    def lose(self, because: str) -> None:
        """Begin nothing more in any of them."""
        self.lost = because
        for run in self._open:
            run.lose(because)

    @asynccontextmanager
    async def shown(self, run: Run, watch: Watch) -> AsyncIterator[None]:
        """Have a run among them while it is watched."""
        self._open.append(run)
        if self.lost is not None:
            run.lose(self.lost)
        try:
            async with watch(run):
                yield
        finally:
            self._open.remove(run)


_current: ContextVar[Run | None] = ContextVar("callsheet_run", default=None)


def current_run() -> Run:
    """Return the run at hand; raise CallsheetError outside of one."""
    run = _current.get()
    if run is None:
        raise CallsheetError("a step started outside of a run")
    return run


@contextmanager
def _at_hand(run: Run) -> Iterator[None]:
    """Have the steps find this run."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)


@asynccontextmanager
async def open_run(
    options: RunOptions,
    settings: Settings,
    *,
    approver: Approver | None = None,
    find_starter: FindStarter | None = None,
    kind: RunKind = "run",
) -> AsyncIterator[Run]:
    """Open a run, which its steps find while it lasts; without an `approver` it approves nothing.

    What is raised ends the run: SpendRefused for a plan that may not be paid for.
    """
    opened: list[Run] = []
    async with (
        recorded(kind, settings, options=options) as record,
        telling_what_was_spent(lambda: next(iter(opened), None)),
        connect(settings) as at,
        AsyncExitStack() as holding,
    ):
        # Whatever was approved with: what is spent is what the settings lead to.
        options = options.but(sandbox=settings.sandbox)
        # A hundred thousand briefs and lines of a plan are no garbage, and looked through for long.
        holding.enter_context(search_of_new())
        run = Run(
            options=options,
            at=at,
            approver=approver or Approver(),
            find_starter=find_starter,
            holding=holding,
            record_id=record.row.id,
        )
        opened.append(run)
        if options.max_wait is not None:
            run.until = asyncio.get_running_loop().time() + options.max_wait
        with _at_hand(run), about(run.facts), span("callsheet.run", run.end):
            try:
                yield run
            finally:
                record.hears(run.outcome, run.interrupted)
                await record.settle()
                await _publish(at)


async def _publish(at: Context) -> None:
    """Write the ledger's metrics to a file, where someone wants them at the end of a run."""
    if file := at.settings.metrics_file:
        from callsheet.tasks.metrics import publish

        await publish(at.ledger, file)


# What a run has spent when an error stops it: read from the ledger, never guessed from the error.
#
# An error that is raised before a run begins to pay keeps its own words and exit status.


_AGAIN = "run the same command again: nothing is paid for twice"


@asynccontextmanager
async def telling_what_was_spent(find: Callable[[], Run | None]) -> AsyncIterator[None]:
    """Have an error that leaves a run say what the run spent; `find` returns the run.

    Raises RunStopped instead of an error that stops a run after it began to pay.
    """
    try:
        yield
    except (CallsheetError, OSError) as error:
        run = find()
        if run is None or not run.pays or _is_refusal_in_order(error):
            raise
        stopped = _stopped_by(error)
        if stopped is None:
            raise
        tally = await _tally_of(run)
        if tally is not None and _is_untouched(run, tally):
            if not isinstance(error, RunStopped):
                raise
            raise stopped.saying(NOTHING_SPENT, spent=Decimal(0)) from error
        raise stopped.saying(_words_of(run, tally), spent=_spent(run, tally)) from error


def _is_refusal_in_order(error: BaseException) -> bool:
    """Whether an error is an orderly end of a run, which has words and figures of its own."""
    return isinstance(error, CallsheetError) and error.exit_status in (3, 5)


def _stopped_by(error: BaseException) -> RunStopped | None:
    """Return an error as what stopped a run; None for a fault that is to be reported as one."""
    if isinstance(error, RunStopped):
        return error
    if isinstance(error, CallsheetError):
        return RunStopped.by(error, remedy=error.remedy or _AGAIN)
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        remedy = f"make room, then {_AGAIN}"
        return RunStopped("the run stopped: the disk is full", remedy=remedy)
    return None


async def _tally_of(run: Run) -> Tally | None:
    """Return the campaign's figures, read with a connection of its own; None where that fails."""
    assert run.campaign is not None, "a run that pays has a campaign"
    try:
        async with await open_ledger(run.at.settings.ledger, create=False, lock_wait=1.0) as ledger:
            return await ledger.read(tally_of, campaign=run.campaign)
    except (CallsheetError, OSError):
        return None


def _is_untouched(run: Run, tally: Tally) -> bool:
    """Whether it is certain that the run spent nothing: nothing moved, and no row is under way."""
    moved = tally.paid_here != run.charged_before or tally.reserved != run.reserved_before
    return not moved and not any(tally.rows.get(state) for state in UNDER_WAY)


def _words_of(run: Run, tally: Tally | None) -> str:
    assert run.campaign is not None
    if tally is None:
        status = suggest("status", run.campaign.name)
        return f"what it was charged is in the ledger: `{status}`"
    price = run.at.settings.credit_price
    charged = in_credits(tally.paid_here - run.charged_before, price)
    return f"this run was charged {charged}, and {in_credits(tally.reserved, price)} are reserved"


def _spent(run: Run, tally: Tally | None) -> Decimal | None:
    return None if tally is None else tally.paid_here - run.charged_before + tally.reserved
