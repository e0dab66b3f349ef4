"""Executes a plan that was approved on the board, exactly as approved.

A process acquires the lease of the run in the ledger, renews it, and records how the run ended. If
the process dies, the next one continues. Knows neither what starts the run nor what monitors it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from callsheet.flows.executor import Steps
from callsheet.flows.perform import perform_approved
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.run import Run, Watch, unwatched
from callsheet.tasks.campaign.run_record import recorded_by_board
from callsheet.tasks.campaign.stored_plans import check_stands
from callsheet.tasks.campaign.validity import check_money
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.engine.owner import is_dead
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.plans import KeptPlan, find_plan
from callsheet.tasks.ledger.runs import (
    RunRow,
    claim_run,
    end_run,
    find_run,
    note_begun,
    renew_run,
)
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    Parked,
    RunStopped,
    SpendRefused,
)
from callsheet.tasks.runtime.held import Held
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.redact import redact

log = logging.getLogger("callsheet.run")

#: A run that parks without a time is resumed after this many seconds.
PAUSE = 60.0
LOOK_HERE = "make a new plan with the service that makes its videos, and approve it"


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """How a run ended: its exit status, a message, and when it resumes."""

    exit_status: int
    words: str | None = None
    due_at: float | None = None
    outcome: RunOutcome | None = None


async def execute(
    run_id: str,
    settings: Settings,
    steps: Steps,
    *,
    place: str,
    watch: Watch = unwatched,
    clock: UnixClock = time.time,
) -> RunEnd | None:
    """Execute a run and record how it ended; None if it is over or leased by another process.

    `place` is the owner of the lease, as `owner.this_process` names it. Raise BadInput if there is
    no such run.
    """
    async with await open_ledger(settings.ledger, create=False) as ledger:
        run = await ledger.read(find_run, run_id=run_id)
        if run is None:
            raise BadInput(
                f"there is no run {run_id} in the ledger {ledger.address}; nothing was spent",
                remedy="give the worker that executes it the ledger of the board "
                "(CALLSHEET_LEDGER), then make the plan again",
            )
        claim = partial(claim_run, run_id=run_id, place=place, is_dead=is_dead)
        if await ledger.write(claim, at=clock(), seconds=settings.lease) is None:
            log.info("run %s is over, or %s has its lease", run_id, run.place)
            return None
        plan = await ledger.read(find_plan, plan_id=run.plan_id)
        assert plan is not None, "a run has a plan"
        # Its rows stay unchanged too: their videos are at the other service.
        end = _other_money(plan, settings)
        if end is None:
            plan_run = _PlanRun(ledger, settings, steps, run, plan, watch, clock)
            with recorded_by_board(run, ledger, settings):
                async with _held(ledger, plan_run, place=place, lapse=settings.lease).kept():
                    end = await plan_run.process()
        crashpoint("run: before its end is noted")
        ended = partial(end_run, run_id=run_id, place=place, exit_status=end.exit_status)
        words = redact(end.words) if end.words else None
        await ledger.write(ended, words=words, at=clock(), due_at=end.due_at)
        return end


def _held(ledger: Ledger, plan_run: _PlanRun, *, place: str, lapse: float) -> Held:
    """Return the lease of a run, which starts nothing more once another process has it."""

    async def renew() -> str | None:
        renewing = partial(renew_run, run_id=plan_run.run.id, place=place, seconds=lapse)
        if await ledger.write(renewing):
            return None
        return "another process took over this run: this one did not renew its lease"

    return Held(renew, what="the lease of the run", lapse=lapse, on_lost=plan_run.lose)


def _other_money(plan: KeptPlan, settings: Settings) -> RunEnd | None:
    """Return the end of a run whose plan was priced by the other kind of service."""
    try:
        check_money(RunOptions.of(plan.terms).sandbox, settings.sandbox, look=LOOK_HERE)
    except SpendRefused as error:
        return RunEnd(exit_status=4, words=_say(error))
    return None


class _PlanRun:
    """Executes one run of one plan, once its lease is acquired."""

    def __init__(
        self,
        ledger: Ledger,
        settings: Settings,
        steps: Steps,
        run: RunRow,
        plan: KeptPlan,
        watch: Watch,
        clock: UnixClock,
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._steps = steps
        self.run = run
        #: Why nothing more is started: another process has the lease.
        self.lost: str | None = None
        self._open: Run | None = None
        self._plan = plan
        self._watch = watch
        self._clock = clock

    def lose(self, because: str) -> None:
        """Start nothing more: another process executes the run."""
        self.lost = because
        if self._open is not None:
            self._open.lose(because)

    @asynccontextmanager
    async def _watched(self, run: Run) -> AsyncIterator[None]:
        """Attach signals and progress to an open run, and stop it if its lease is lost."""
        self._open = run
        if self.lost is not None:
            run.lose(self.lost)
        try:
            async with self._watch(run):
                yield
        finally:
            self._open = None

    async def _begins(self) -> None:
        """Record that the run has its campaign, and begins."""
        crashpoint("run: its campaign is free")
        await self._ledger.write(note_begun, run_id=self.run.id, at=self._clock())

    async def process(self) -> RunEnd:
        """Execute the run and return how it ended."""
        ask = RunOptions.of(self._plan.terms).but(campaign=self._plan.campaign)
        plan = stored_plan(self._plan)
        going = partial(perform_approved, plan, ask, self._settings, self._steps)
        try:
            check_stands(self._plan)
            outcome = await going(watch=self._watched, begins=self._begins)
        except Parked as error:
            return RunEnd(exit_status=5, words=_say(error), due_at=error.until.timestamp())
        except RunStopped as error:
            # No one has to approve again: rows that are paid for continue by themselves.
            due_at = self._clock() + PAUSE
            return RunEnd(exit_status=5, words=_say(error), due_at=due_at)
        except CallsheetError as error:
            return RunEnd(exit_status=error.exit_status, words=_say(error))
        return self._end_of(outcome)

    def _end_of(self, outcome: RunOutcome) -> RunEnd:
        due_at: float | None = None
        if outcome.exit_status == 5:
            until = outcome.parked_until
            due_at = self._clock() + PAUSE if until is None else until.timestamp()
        return RunEnd(
            exit_status=outcome.exit_status, words=outcome.words, due_at=due_at, outcome=outcome
        )


def _say(error: CallsheetError) -> str:
    return f"{error} ({error.remedy})" if error.remedy else str(error)
