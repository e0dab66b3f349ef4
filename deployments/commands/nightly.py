"""`callsheet nightly` and `nights`: scan an inbox now, or manage nightly runs."""

from __future__ import annotations

import asyncio
import importlib
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import STOPPED, on_signal, run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.flows.nightly_run import hold_night
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import OpenRuns, Run
from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.nights.inboxes import Inbox, find_inboxes, with_terms
from callsheet.tasks.nights.reports import BY_GRAVITY, NightReport, SheetReport, names_of
from callsheet.tasks.notices.action_items import needing_of
from callsheet.tasks.runtime.errors import BadInput, CallsheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redact, say
from callsheet.tasks.runtime.suggest import again_with, suggest
from callsheet.tasks.values.amounts import CreditPrice, count, in_credits, in_table


def main(args: Namespace) -> int:
    """Sweep the inbox; the exit status is the worst of its sheets'."""
    settings = settings_of(args)
    file = args.nights or settings.nights
    found = find_inboxes(args.inbox, folder=Path.cwd(), file=file)
    inboxes = [_typed(args, inbox) for inbox in found]
    prepare_ledger(settings, sandbox=args.sandbox)
    with sandbox_for(args):
        settings = settings_of(args)
        settings.service()
        return run_command(_sweep(args, settings, inboxes))


def _typed(args: Namespace, inbox: Inbox) -> Inbox:
    """Return an inbox with what was typed in place of what is written of it."""
    limit = budget_of(args, "approve_up_to")
    is_off = args.plan_only or inbox.approval == "plan-only"
    if args.per_sheet and limit is None and is_off:
        raise BadInput(
            "--per-sheet limits automatic approval, which is off; nothing was spent",
            remedy=again_with("--approve-up-to", "N"),
        )
    return with_terms(
        inbox,
        approve_up_to=limit,
        plan_only=args.plan_only,
        per_sheet=budget_of(args, "per_sheet"),
        budget=budget_of(args),
        canary=args.canary,
        waves=RunOptions.of({"waves": args.waves}).waves,
        max_wait=args.max_wait,
    )


async def _sweep(args: Namespace, settings: Settings, inboxes: Sequence[Inbox]) -> int:
    console = console_for(args)
    signals = _Signals()
    reports: list[NightReport] = []
    faults: dict[str, CallsheetError] = {}
    async with await open_ledger(settings.ledger) as ledger:
        settings = await ledger.read(in_force, settings=settings)
    with on_signal(signals.stop):
        for inbox in inboxes:
            if signals.stopped:
                break
            signals.runs = runs = OpenRuns()
            how = {"watch": _heard, "tell": _tell, "runs": runs, "sandbox": args.sandbox}
            try:
                report = await hold_night(inbox, settings, **how)
            except CallsheetError as error:
                if len(inboxes) == 1:
                    raise
                # The sheets of the other inboxes have nothing to do with it.
                faults[inbox.name] = error
                say(f"callsheet: {inbox.name}: {redact(str(error))}")
                continue
            reports.append(report)
            _show(report, console, settings.credit_price)
    if args.json:
        print_json(_document(reports, faults) if len(inboxes) > 1 else reports[0].as_json())
    return _worst([5] * signals.stopped + _statuses(reports, faults))


class _Signals:
    """First signal: begin nothing more, and end in order. Second: at once."""

    def __init__(self) -> None:
        self.stopped = False
        #: The runs of the inbox that is scanned.
        self.runs = OpenRuns()
        self._main = asyncio.current_task()

    def stop(self) -> None:
        if self.stopped and self._main is not None:
            self._main.cancel()
        say("stopping: finishing what has started, a few seconds; once more ends it at once")
        self.stopped = True
        self.runs.lose(STOPPED)


@asynccontextmanager
async def _heard(run: Run) -> AsyncIterator[None]:
    """Say what a person should know of a run."""
    run.on_note = say
    yield


def _tell(report: SheetReport) -> None:
    """Say at once what became of a sheet, unless that is nothing."""
    if report.outcome == "unchanged" and not report.unanswered:
        return
    charged = f", charged {in_credits(report.charged)}" if report.charged else ""
    said = f"{report.name}: {report.outcome}{charged}"
    if report.unanswered:
        say(report.unanswered)
    if report.again and report.problems:
        several = count(len(report.problems), "problem")
        say(f"{said}, unchanged: {several}, as {names_of(report.sheet)[1]} says")
        return
    say(f"{said}: {report.words}" if report.words else said)
    for problem in report.problems:
        if problem != report.words:
            say(f"  {problem}")
    for reason in report.reasons:
        say(f"  {reason}")
    if (more := needing_of(report) - len(report.reasons)) > 0 and report.campaign:
        more_rows = f"{count(more, 'more row')} {'needs' if more == 1 else 'need'} attention"
        say(f"  {more_rows}: `{suggest('rows', report.campaign)}` shows all")
    if report.link:
        say(f"  {report.link}")


def _show(report: NightReport, console: Console, price: CreditPrice | None) -> None:
    """Show the night's table, and the last word."""
    if report.skipped is not None:
        say(f"nothing was scanned: {report.skipped}")
        return
    shown = table(
        f"{report.inbox}, night of {report.night}",
        ["sheet", "campaign", "outcome", "delivered", "rows", "charged"],
        numbers=["delivered", "rows", "charged"],
    )
    for one in report.sheets:
        done, total = one.rows.get("delivered", 0), one.rows.get("total", 0)
        charged = in_table(one.charged, price) if one.charged else ""
        cells = [one.sheet, one.campaign or "", one.outcome, str(done), str(total), charged]
        shown.add_row(*map(plain, cells))
    if report.sheets:
        console.print(shown)
    for name in report.waiting:
        say(f"{name} is still being written or was not reached; the next nightly run picks it up")
    several = count(len(report.sheets), "sheet")
    console.print(plain(f"{several}, charged {in_credits(report.charged, price)}"))


def _document(
    reports: Sequence[NightReport], faults: Mapping[str, CallsheetError]
) -> dict[str, object]:
    """Return what `--json` tells of several inboxes; of some there is only why not."""
    told = [{"inbox": report.inbox, **report.as_json()} for report in reports]
    failed = [
        {"inbox": name, "error": redact(str(error)), "exit": error.exit_status}
        for name, error in faults.items()
    ]
    return {
        "night": max((report.night for report in reports), default=None),
        "sheets": [{"inbox": one["inbox"], **sheet} for one in told for sheet in one["sheets"]],
        "charged": sum(one["charged"] for one in told),
        "exit": _worst(_statuses(reports, faults)),
        "inboxes": [*told, *failed],
    }


def _statuses(reports: Sequence[NightReport], faults: Mapping[str, CallsheetError]) -> list[int]:
    swept = [report.exit_status for report in reports]
    return swept + [error.exit_status for error in faults.values()]


def _worst(found: Sequence[int]) -> int:
    return max(found, key=BY_GRAVITY.index, default=0)


# `callsheet nights`: list, pause, resume, install and test nightly runs.


#: Where a verb is: a pause pays for no mail, a list for no schedule of others.
VERBS = {
    "list": ("overview", "show"),
    "pause": ("overview", "pause_nights"),
    "resume": ("overview", "resume_nights"),
    "install": ("install", "install"),
    "test": ("overview", "send_samples"),
    "digest": ("overview", "send_digests"),
}


def nights(args: Namespace) -> int:
    """Execute a verb."""
    file, name = VERBS[args.verb]
    verb = getattr(importlib.import_module(f"callsheet.deployments.nights.{file}"), name)
    status: int = run_command(verb(args))
    return status
