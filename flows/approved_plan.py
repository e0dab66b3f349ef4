"""Executes a plan that was approved on the board, exactly as approved.

A process acquires the lease of the run in the ledger, renews it, and records how the run ended. If
the process dies, the next one continues. Knows neither what starts the run nor what monitors it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from callsheet.flows.executor import Steps, run_rows, run_sheet
from callsheet.flows.perform import perform
from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.run import Door, Run
from callsheet.tasks.campaign.run_record import recorded_by_board
from callsheet.tasks.campaign.stored_plans import (
    check_stands,
    check_still_stands,
    replace_plan,
)
from callsheet.tasks.campaign.uploads import parse_kept
from callsheet.tasks.campaign.validity import check_money, check_valid
from callsheet.tasks.campaign.values import PAID, Plan, RunOutcome
from callsheet.tasks.engine.owner import is_dead
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.plans import KeptPlan, find_plan, find_sheet
from callsheet.tasks.ledger.runs import (
    RunRow,
    claim_run,
    end_run,
    find_run,
    note_begun,
    renew_run,
)
from callsheet.tasks.ledger.values import UNDER_WAY, rows_of
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    MovedOn,
    Parked,
    RunStopped,
    SpendRefused,
)
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.retry import renewing

log = logging.getLogger("callsheet.run")

#: A run that parks without a time is resumed after this many seconds.
PAUSE = 60.0
LOOK = "check the new plan and approve it"
LOOK_HERE = "make a new plan with the service that makes its videos, and approve it"
OVERTAKEN = "another sheet of the campaign has run since; this run starts nothing more"

#: What is attached to a run while it lasts: signals, progress.
Watch = Callable[[Run], AbstractAsyncContextManager[object]]


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
    watch: Watch = lambda _: nullcontext(),
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
                async with _renewing(ledger, plan_run, place=place, lapse=settings.lease):
                    end = await plan_run.process()
        crashpoint("run: before its end is noted")
        ended = partial(end_run, run_id=run_id, place=place, exit_status=end.exit_status)
        words = redact(end.words) if end.words else None
        await ledger.write(ended, words=words, at=clock(), due_at=end.due_at)
        return end


def _renewing(
    ledger: Ledger, plan_run: _PlanRun, *, place: str, lapse: float
) -> AbstractAsyncContextManager[None]:
    """Renew the lease of the run; start nothing more once another process has it."""
    renew = partial(renew_run, run_id=plan_run.run.id, place=place, seconds=lapse)

    async def beat() -> None:
        if not await ledger.write(renew):
            plan_run.lose("another process took over this run: this one did not renew its lease")

    return renewing(
        beat,
        lapse=lapse,
        is_lost=lambda: plan_run.lost is not None,
        on_trouble=partial(log.warning, "could not renew the lease of the run: %s"),
    )


def _other_money(plan: KeptPlan, settings: Settings) -> RunEnd | None:
    """Return the end of a run whose plan was priced by the other kind of service."""
    try:
        check_money(RunOptions.of(plan.terms).sandbox, settings.sandbox, look=LOOK_HERE)
    except SpendRefused as error:
        return RunEnd(exit_status=4, words=_say(error))
    return None


class _PlanRun(Door):
    """Executes one run of one plan, once its lease is acquired."""

    leaves_refused = True

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
        self._shown = stored_plan(plan)
        self.also_approves = partial(check_still_stands, plan_id=plan.id)
        self._options = RunOptions.of(plan.terms)
        self._watch = watch
        self._clock = clock

    def lose(self, because: str) -> None:
        """Start nothing more: another process executes the run."""
        self.lost = because
        log.warning("%s", because)
        if self._open is not None:
            self._open.lose(because)

    @asynccontextmanager
    async def watch(self, run: Run) -> AsyncIterator[None]:
        """Attach signals and progress to an open run, and stop it if its lease is lost."""
        self._open = run
        if self.lost is not None:
            run.lose(self.lost)
        try:
            async with self._watch(run):
                yield
        finally:
            self._open = None

    async def wants_hidden(self, rows: Sequence[str]) -> bool:
        """Ask nothing: the answers are in the plan."""
        return True

    async def approve(self, run: Run, plan: Plan) -> Plan:
        """Return the plan as approved; raise MovedOn if it has changed since it was shown."""
        tolerance = self._settings.quote_tolerance
        check_valid(self._shown, plan, tolerance=tolerance, look=LOOK)
        return plan.approved(self._plan.on_board, plan_id=self._plan.id)

    async def begin(self, run: Run) -> None:
        """Record that the rows are approved."""
        crashpoint("run: what was approved is in the rows")
        await self._ledger.write(note_begun, run_id=self.run.id, at=self._clock())

    async def process(self) -> RunEnd:
        """Execute the run and return how it ended."""
        try:
            check_stands(self._plan)
            if self._plan.kind == "retake":
                return self._end_of(await self._perform())
            if await self._is_overtaken():
                return await self._bring_home(OVERTAKEN)
            return self._end_of(await self._run_sheet())
        except Parked as error:
            return RunEnd(exit_status=5, words=_say(error), due_at=error.until.timestamp())
        except RunStopped as error:
            # No one has to approve again: rows that are paid for continue by themselves.
            due_at = self._clock() + PAUSE
            return RunEnd(exit_status=5, words=_say(error), due_at=due_at)
        except SpendRefused as error:
            return await self._refused(error)
        except CallsheetError as error:
            return RunEnd(exit_status=error.exit_status, words=_say(error))

    async def _perform(self) -> RunOutcome:
        """Make what is approved; a plan that is not any more is approved by no one here."""
        ask = RunOptions(campaign=self._plan.campaign)
        go = partial(perform, RETAKE, ask, self._settings, self, self._nobody, steps=self._steps)
        done = await go(plan_id=self._plan.id, wait=None)
        assert done.outcome is not None, "a run makes what is approved"
        return done.outcome

    async def _nobody(self, plan: Plan) -> str:
        raise SpendRefused("the plan is no longer valid; nothing was spent")

    async def _run_sheet(self) -> RunOutcome:
        """Run the sheet as it was uploaded."""
        assert self._plan.sheet_id is not None
        kept = await self._ledger.read(find_sheet, sheet_id=self._plan.sheet_id)
        assert kept is not None, "a plan of a sheet has one"
        read = partial(parse_kept, self._settings, kept, self._options.reading(self._settings))
        options, sheet = self._options.of_sheet(kept.place), await asyncio.to_thread(read)
        return await run_sheet(options, self._settings, self, self._steps, sheet=sheet)

    async def _run_rows(self, names: Collection[str]) -> RunOutcome:
        """Process rows of the ledger that are approved or in progress; pay for no others."""
        found = await self._campaign()
        options = RunOptions(sheet=found.sheet or found.name)
        go = partial(run_rows, found, names, options, self._settings, self, self._steps)
        return await go(wait=None)

    async def _refused(self, error: SpendRefused) -> RunEnd:
        """End a run that may not spend; still download the videos that it started."""
        # Rows that have started were paid for on this plan, which stays approved by its approver.
        if isinstance(error, MovedOn) and self.run.begun_at is None:
            error.remedy = LOOK
            await self._plan_again(error)
        return await self._bring_home(_say(error))

    async def _is_overtaken(self) -> bool:
        """Return whether another sheet of the campaign was run after this one was uploaded.

        Running this one would undo the newer sheet and pay for videos that are no longer wanted.
        """
        if self.run.begun_at is None:
            return False
        return (await self._campaign()).sheet_digest != self._shown.sheet_digest

    async def _bring_home(self, words: str) -> RunEnd:
        """Pay only for approved rows; `words` say why the run goes no further."""
        try:
            if names := await self._begun():
                rest = self._end_of(await self._run_rows(names))
                return RunEnd(exit_status=4, words=words, due_at=rest.due_at, outcome=rest.outcome)
        except Parked as other:
            return RunEnd(exit_status=5, words=words, due_at=other.until.timestamp())
        except RunStopped as error:
            words = f"{words}; {_say(error)}"
            return RunEnd(exit_status=5, words=words, due_at=self._clock() + PAUSE)
        except CallsheetError as error:
            # Both are reported: the problem with the videos must be fixed before the run resumes.
            words = f"{words}; what it started was not downloaded: {_say(error)}"
            return RunEnd(exit_status=error.exit_status, words=words)
        return RunEnd(exit_status=4, words=words)

    async def _plan_again(self, error: MovedOn) -> None:
        """Make a new plan to replace one that has changed, for the same person."""
        plan = self._plan
        renewed = partial(replace_plan, old=plan, plan_id=uuid4().hex, terms=plan.terms)
        by = plan.approved_by or plan.made_by
        await self._ledger.write(renewed, words=str(error), by=by, at=self._clock())

    async def _begun(self) -> list[str]:
        """Return the rows of the plan that are approved or in progress."""
        found = await self._ledger.read(find_campaign, name=self._plan.campaign)
        if found is None:
            return []
        wanted = frozenset(self._shown.named(*PAID, "adopt"))
        rows = await self._ledger.read(rows_of, campaign_id=found.id)
        states = UNDER_WAY | {"approved"}
        return [row.row for row in rows if row.row in wanted and row.state in states]

    async def _campaign(self) -> Campaign:
        found = await self._ledger.read(find_campaign, name=self._plan.campaign)
        if found is None:
            raise BadInput(f"there is no campaign {self._plan.campaign}; nothing was spent")
        return found

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
