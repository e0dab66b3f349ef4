"""The run monitor: gets prices for plans and watches runs while the board is open.

All that is to be done stands in the ledger, so that a board that is killed and opened again, or
several boards on one ledger, do it once: the process that works on a run has its lease. A run
whose lease has lapsed is started again. Runs are processes of their own that outlive the board,
or flow runs of Prefect's where a deployment is there for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.reminders import remind
from callsheet.deployments.board.services.plans import proposed
from callsheet.deployments.board.services.sheets import kept_sheet, parsed
from callsheet.deployments.prefect_deployment import FlowRuns
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import plan_document
from callsheet.tasks.campaign.stored_plans import plan_with_prices, run_document
from callsheet.tasks.engine.owner import is_dead
from callsheet.tasks.ledger.plans import KeptPlan, find_plan, finish_plan, plans_quoting, void_plan
from callsheet.tasks.ledger.runs import RunRow, claim_run, end_run, find_run, open_runs
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import CallsheetError, SheetError
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.values.amounts import parse_credits

log = logging.getLogger("callsheet.board")

#: How often is looked whether there is anything to do, in seconds; acts of this board are at once.
TICK = 1.0
#: Plans that are priced at once, and runs that are processed at once, at most.
PLANS, RUNS = 2, 8
#: How often is looked whether a client is to be reminded of, in seconds.
REMIND = 600.0
#: A run whose process dies so often before its end is left to a person.
DEATHS = 5
#: After a death a run is started again after a second, twice that after the next, at most this.
LONGEST = 60.0
#: How long runs have to end in order when their sandbox goes with the board, in seconds.
GRACE = 5.0


@asynccontextmanager
async def monitoring(board: Board) -> AsyncIterator[None]:
    """Look after plans and runs as long as this lasts; runs go on without."""
    monitor = RunMonitor(board)
    task = asyncio.create_task(monitor.work(), name="attendant")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await monitor.leave()


class RunMonitor:
    """Looks again and again at what there is to do."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._quoting: dict[str, asyncio.Task[None]] = {}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._deaths: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}
        self._others: set[str] = set()
        #: When clients who are due are looked for next.
        self._remind_at = 0.0
        self._flow_runs = None if board.brings_sandbox else FlowRuns(board.profile)

    async def work(self) -> None:
        """Do what there is to do until cancelled."""
        while True:
            self._board.attention.clear()
            try:
                await self._look()
            except CallsheetError as error:
                log.warning("plans and runs are not looked after for now: %s", redact(str(error)))
            except Exception:
                log.exception("plans and runs are not looked after for now")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._board.attention.wait()

    async def leave(self) -> None:
        """Leave runs to themselves; those of a sandbox that ends with the board are stopped."""
        for task in self._quoting.values():
            task.cancel()
        await asyncio.gather(*self._quoting.values(), return_exceptions=True)
        if self._board.brings_sandbox:
            await asyncio.to_thread(self._stop_children)

    async def _look(self) -> None:
        await self._board.refresh()
        self._quoting = {one: task for one, task in self._quoting.items() if not task.done()}
        for plan_id in await self._board.read(plans_quoting):
            if plan_id not in self._quoting and len(self._quoting) < PLANS:
                quoting = quote_plan(self._board, plan_id)
                self._quoting[plan_id] = asyncio.create_task(quoting, name=f"plan {plan_id}")
        if (now := self._board.clock()) >= self._remind_at:
            self._remind_at = now + REMIND
            self._board.beside.start(remind(self._board))
        await self._reap()
        for run in await self._board.read(open_runs):
            if len(self._children) < RUNS and await self.is_to_start(run):
                await self._start(run)
        for name in sorted(self._board.asked):
            if name not in self._children and len(self._children) < RUNS:
                child = await asyncio.to_thread(start_process, self._board, name)
                self._children[name] = child

    async def is_to_start(self, run: RunRow) -> bool:
        """Whether a run is due that no process works on."""
        now = self._board.clock()
        if run.id in self._children or run.id in self._others:
            return False
        if now < max(run.due_at or 0.0, self._not_before.get(run.id, 0.0)):
            return False
        if run.place is not None and not await self._is_gone(run, run.place):
            return False
        plan = await self._board.read(find_plan, plan_id=run.plan_id)
        if plan is None or RunOptions.of(plan.terms).sandbox != self._board.sandbox:
            # Approved with other money: it waits for a board that has that.
            self._others.add(run.id)
            return False
        return True

    async def _is_gone(self, run: RunRow, place: str) -> bool:
        """Whether the place that had a run's lease last is known to be gone, or let it lapse."""
        lapsed = run.leased_until is None
        if not FlowRuns.is_one(place) or self._flow_runs is None:
            return lapsed or is_dead(place)
        state = await self._flow_runs.state_of(place)
        if state is None:
            return False
        if state.ended is not None:
            end = partial(end_run, run_id=run.id, place=place, exit_status=1, words=state.ended)
            await self._board.write(end, at=self._board.clock())
            return False
        if state.waits:
            await self._claim(run, place)
            return False
        # Prefect has deleted it, does not answer, or takes a process for running that is gone.
        return lapsed

    async def _claim(self, run: RunRow, place: str) -> None:
        """Keep a run's lease for a flow run that has not started: it renews the lease itself."""
        board = self._board
        claim = partial(claim_run, run_id=run.id, place=place, seconds=board.settings.lease)
        await board.write(claim, at=board.clock())

    async def _start(self, run: RunRow) -> None:
        flow_run = None
        if self._flow_runs is not None:
            flow_run = await self._flow_runs.start(run)
        if flow_run is not None:
            await self._claim(run, flow_run)
            return
        crashpoint("board: before a run is started")
        child = await asyncio.to_thread(start_process, self._board, run.id)
        self._children[run.id] = child
        crashpoint("board: after a run is started")

    async def _reap(self) -> None:
        """Take leave of processes that have ended; one that died before its end is counted."""
        for run_id, child in list(self._children.items()):
            if child.poll() is None:
                continue
            del self._children[run_id]
            if run_id in self._board.asked:
                # The page of the campaign, or of inboxes, says so if rows are left again.
                self._board.asked.discard(run_id)
                continue
            run = await self._board.read(find_run, run_id=run_id)
            if run is None or run.ended_at is not None:
                self._deaths.pop(run_id, None)
                continue
            # Another board's process may have been first: this one left it to that.
            at_work = run.leased_until is not None and not is_dead(run.place or "")
            if child.returncode == 0 or at_work:
                continue
            self._deaths[run_id] += 1
            deaths = self._deaths[run_id]
            pause = min(LONGEST, 2.0 ** (deaths - 1))
            self._not_before[run_id] = self._board.clock() + pause
            if deaths >= DEATHS:
                words = f"its process died {deaths} times; {log_of(self._board, run_id)} says more"
                end = partial(end_run, run_id=run_id, place=run.place, exit_status=1, words=words)
                await self._board.write(end, at=self._board.clock())

    def _stop_children(self) -> None:
        for child in self._children.values():
            child.terminate()
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE)


def log_of(board: Board, run_id: str) -> Path:
    """Return where a run's process writes what it does."""
    return board.folder / "runs" / f"{run_id}.log"


def start_process(board: Board, run_id: str) -> subprocess.Popen[bytes]:
    """Start the process of a run, in a session of its own, with the settings of the board."""
    file = log_of(board, run_id)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A log may hold what the service or a database said: only its owner reads it.
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as written:
        child = (board.begin or _begin)(run_id, written)
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError), child.stdin:
        pickle.dump(board.settings, child.stdin)
    return child


def _begin(run_id: str, written: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "callsheet.deployments.board.run_process", run_id],
        stdin=subprocess.PIPE,
        stdout=written,
        stderr=written,
        start_new_session=True,
    )


# Plans get their prices in the background: whichever board is open asks for those that lack them.
#
# A board that ends meanwhile leaves a plan that is still `quoting`; the next one asks again.


#: Problems of a sheet that are named where a plan cannot be priced for them.
NAMED = 10


async def quote_plan(board: Board, plan_id: str) -> None:
    """Ask for a plan's prices and make it ready; void it, with the words why, where that fails."""
    plan = await board.read(find_plan, plan_id=plan_id)
    if plan is None or plan.state != "quoting":
        return
    try:
        document = await (_run(board, plan) if plan.kind == "run" else _rows(board, plan))
    except (CallsheetError, ProblemDetails) as error:
        await board.write(void_plan, plan_id=plan.id, old="quoting", words=_words(error))
        return
    except Exception:
        # Not left as it is: it would be asked for again and again.
        log.exception("a plan has no prices")
        words = "a fault in Callsheet; nothing was spent"
        await board.write(void_plan, plan_id=plan.id, old="quoting", words=words)
        return
    crashpoint("board: the prices of a plan are known")
    credits = document["credits"]
    # The most that it may cost: an allowance covers new takes of failed rows and risen prices, too.
    total = parse_credits(credits.get("most", credits["total"]))
    assert total is not None
    ready = partial(finish_plan, plan_id=plan.id, campaign=document["campaign"], total=total)
    expires_at = board.clock() + board.settings.quote_age
    await board.write(ready, document=document, expires_at=expires_at)


async def _run(board: Board, plan: KeptPlan) -> dict[str, Any]:
    assert plan.sheet_id is not None
    options = RunOptions.of(plan.terms)
    kept = await kept_sheet(board, plan.sheet_id)
    sheet = await parsed(board, kept, options)
    price = partial(plan_with_prices, settings=board.settings, clock=board.clock)
    return run_document(await price(board.ledger, sheet, options.of_sheet(kept.place)))


async def _rows(board: Board, plan: KeptPlan) -> dict[str, Any]:
    made = await proposed(board, plan, RunOptions.of(plan.terms))
    if not made.named("retake", "person"):
        raise CallsheetError("none of these rows can be taken again any more")
    return plan_document(made)


def _words(error: CallsheetError | ProblemDetails) -> str:
    if isinstance(error, SheetError):
        return redact("; ".join(str(one) for one in error.problems[:NAMED]))
    words = error.detail if isinstance(error, ProblemDetails) else str(error)
    return redact(f"{words} ({error.remedy})" if error.remedy else words)
