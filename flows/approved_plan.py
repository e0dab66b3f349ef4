"""Executes a plan that was approved on the board, exactly as approved.

A process acquires the lease of the run in the ledger, renews it, and records how the run ended. If
the process dies, the next one continues. Knows neither what starts the run nor what monitors it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from callsheet.flows.perform import perform_approved
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.run import OpenRuns, Watch, unwatched
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
        run = await _claimed(ledger, run_id, place=place, settings=settings, at=clock())
        if run is None:
            return None
        plan = await ledger.read(find_plan, plan_id=run.plan_id)
        assert plan is not None, "a run has a plan"
        opened = OpenRuns()

        async def begins() -> None:
            crashpoint("run: its campaign is free")
            await ledger.write(note_begun, run_id=run_id, at=clock())

        going = partial(_process, plan, settings, begins=begins, clock=clock)
        with recorded_by_board(run, ledger, settings):
            async with _held(ledger, run_id, opened, place=place, lapse=settings.lease).kept():
                end = await going(watch=partial(opened.shown, watch=watch))
        crashpoint("run: before its end is noted")
        ended = partial(end_run, run_id=run_id, place=place, exit_status=end.exit_status)
        words = redact(end.words) if end.words else None
        await ledger.write(ended, words=words, at=clock(), due_at=end.due_at)
        return end


async def _claimed(
    ledger: Ledger, run_id: str, *, place: str, settings: Settings, at: float
) -> RunRow | None:
    """Return the run, whose lease `place` has from here on; None if it is over or another's."""
    run = await ledger.read(find_run, run_id=run_id)
    if run is None:
        raise BadInput(
            f"there is no run {run_id} in the ledger {ledger.address}; nothing was spent",
            remedy="give the worker that executes it the ledger of the board "
            "(CALLSHEET_LEDGER), then make the plan again",
        )
    claim = partial(claim_run, run_id=run_id, place=place, is_dead=is_dead)
    if await ledger.write(claim, at=at, seconds=settings.lease) is None:
        log.info("run %s is over, or %s has its lease", run_id, run.place)
        return None
    return run


def _held(ledger: Ledger, run_id: str, opened: OpenRuns, *, place: str, lapse: float) -> Held:
    """Return the lease of a run, which starts nothing more once another process has it."""

    async def renew() -> str | None:
        if await ledger.write(renew_run, run_id=run_id, place=place, seconds=lapse):
            return None
        return "another process took over this run: this one did not renew its lease"

    return Held(renew, what="the lease of the run", lapse=lapse, on_lost=opened.lose)


async def _process(
    kept: KeptPlan,
    settings: Settings,
    *,
    watch: Watch,
    begins: Callable[[], Awaitable[None]],
    clock: UnixClock,
) -> RunEnd:
    """Execute a run, once its lease is acquired, and return how it ended."""
    ask = RunOptions.of(kept.terms).but(campaign=kept.campaign)
    until: datetime | None = None
    outcome: RunOutcome | None = None
    try:
        # What another kind of service has priced stays: its videos are at that service.
        check_money(ask.sandbox, settings.sandbox, look=LOOK_HERE)
        check_stands(kept)
        going = partial(perform_approved, stored_plan(kept), ask, settings)
        outcome = await going(watch=watch, begins=begins)
        status, words, until = outcome.exit_status, outcome.words, outcome.parked_until
    except CallsheetError as error:
        # Of a run that stopped no one has to approve again: it goes on by itself.
        status = 5 if isinstance(error, RunStopped) else error.exit_status
        words = f"{error} ({error.remedy})" if error.remedy else str(error)
        until = error.until if isinstance(error, Parked) else None
    due_at = clock() + PAUSE if until is None else until.timestamp()
    end = RunEnd(exit_status=status, words=words, outcome=outcome)
    return replace(end, due_at=due_at) if status == 5 else end
