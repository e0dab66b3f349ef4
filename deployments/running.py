"""One run from the command line: the question, the picture, the signals, the last word."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from types import TracebackType

from rich.console import Console

from deployments.commands.check import show_sheet
from deployments.commands.options import budget_of
from deployments.commands.plan import show_plan
from deployments.commands.rows import show_rows
from deployments.prefect_server import SERVER, PrefectServer
from deployments.progress_view import ProgressView
from deployments.terminal import console_for, print_json
from flows.road import PLAIN, prepare, travel
from tasks.credits import as_text
from tasks.errors import SpendRefused
from tasks.ledger import deliveries_of
from tasks.production.engine import Engine
from tasks.production.order import Order, Outcome, Plan
from tasks.production.plan import check_saved_plan
from tasks.production.progress import Snapshot
from tasks.production.run import Run, open_run, report_step
from tasks.settings import Settings


async def run_here(
    args: Namespace, settings: Settings, server: PrefectServer | None, *, max_wait: float | None
) -> int:
    """Carry a campaign from its sheet to its report; return the exit status."""
    console = console_for(args)
    order = Order(
        sheet=args.sheet,
        campaign=args.campaign,
        budget=budget_of(args),
        select=args.select,
        max_wait=max_wait,
        delimiter=args.delimiter,
        worksheet=args.worksheet,
    )
    approval = partial(_approve, args, console)
    async with open_run(order, settings, approval) as run:
        run.on_plan = partial(_show, run, console)
        with _Signals(run) as signals, ProgressView(console) as view:
            run.listeners += [signals.hear, view.hear]
            outcome = await _travel(run, server, args, console)
        await _tell(run, outcome, console)
    if args.json:
        print_json(outcome.as_json())
    return outcome.exit_status


async def _travel(
    run: Run, server: PrefectServer | None, args: Namespace, console: Console
) -> Outcome:
    if server is None:
        return await travel(run, PLAIN)
    campaign = await prepare(run, PLAIN)
    assert run.plan is not None
    if not run.plan.moves_anything:
        # Nothing for Prefect to show: say so at once instead of waiting for it.
        await report_step(campaign)
        assert run.outcome is not None
        return run.outcome
    # Prefect takes seconds to import and its server to start; both go on beside each other.
    _point_at(server, verbose=args.verbose)
    with console.status("starting Prefect (--without-prefect needs none)"):
        flow = await asyncio.to_thread(importlib.import_module, "flows.campaign")
        await asyncio.to_thread(server.wait)
    await flow.run_campaign(
        sheet=run.order.sheet,
        campaign=campaign,
        budget=None if run.order.budget is None else float(run.order.budget),
        select=run.order.select,
        profile=args.profile,
    )
    assert run.outcome is not None
    return run.outcome


def _point_at(server: PrefectServer, *, verbose: bool) -> None:
    """Set Prefect up before it is imported: its address, and no talk of its own."""
    os.environ["PREFECT_API_URL"] = server.url
    os.environ["PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED"] = "false"
    os.environ["PREFECT_LOGGING_TO_API_ENABLED"] = "false"
    os.environ["DO_NOT_TRACK"] = SERVER["DO_NOT_TRACK"]
    if not verbose:
        os.environ["PREFECT_LOGGING_LEVEL"] = "CRITICAL"


def _show(run: Run, console: Console, plan: Plan) -> None:
    """Show what was checked, then the plan."""
    if run.sheet is not None:
        show_sheet(run.sheet, console)
    show_plan(plan, console)


async def _approve(args: Namespace, console: Console, plan: Plan) -> str:
    """Ask once, unless the answer was given beforehand; raise SpendRefused for a no."""
    if args.plan:
        check_saved_plan(plan, Path(args.plan))
        return f"approved with the plan {args.plan}"
    if args.yes:
        return "approved with --yes"
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise SpendRefused(
            f"{as_text(plan.total)} credits are not approved and there is nobody to ask; "
            "nothing was spent",
            remedy="look at the plan above, then run again with --yes",
        )
    print(f"Spend {as_text(plan.total)} credits? [y/N] ", end="", file=sys.stderr, flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    if answer.strip().casefold() not in ("y", "yes"):
        raise SpendRefused("the plan was not approved; nothing was spent")
    return "approved at the terminal"


class _Signals:
    """First signal: end in order. Second: at once. What is under way is in the ledger."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._armed_for: Engine | None = None

    def __enter__(self) -> _Signals:
        self._arm()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)
        if isinstance(error, asyncio.CancelledError):
            raise KeyboardInterrupt from None

    def hear(self, _: Snapshot) -> None:
        """Take the signals back: at the start of a flow Prefect hangs its own handler on SIGTERM,
        which cuts off calls that are under way."""
        if self._run.engine is not self._armed_for:
            self._armed_for = self._run.engine
            self._arm()

    def _arm(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._stop)

    def _stop(self) -> None:
        engine = self._run.engine
        if engine is None or engine.parked_because:
            assert self._main is not None
            self._main.cancel()
        else:
            print("stopping: what is under way is let finish, a few seconds", file=sys.stderr)
            self._run.stop("stopped by a signal")


async def _tell(run: Run, outcome: Outcome, console: Console) -> None:
    """Show the one table at the end, and what comes next."""
    assert run.campaign is not None
    assert run.plan is not None
    if run.plan.moves_anything:
        files = await run.at.ledger.read(partial(deliveries_of, campaign_id=run.campaign.id))
        show_rows(outcome.campaign, await run.rows(), files, console)
        counts = ", ".join(f"{n} {state}" for state, n in outcome.rows.items())
        console.print(f"{counts}; {as_text(outcome.charged)} credits charged")
    console.print(f"films: {run.at.store.address}")
    if outcome.exit_status == 5:
        moment = outcome.parked_until
        when = f" not before {moment:%Y-%m-%d %H:%M:%S} UTC" if moment else ""
        print(
            f"parked: {outcome.words or 'some rows are still under way'}; "
            f"run the same command again{when}",
            file=sys.stderr,
        )
    elif outcome.exit_status == 3:
        name = outcome.campaign
        print(
            f"some rows need a person: `callsheet rows {name}` says which and why, "
            f"`callsheet explain {name} ROW` says everything of one",
            file=sys.stderr,
        )
