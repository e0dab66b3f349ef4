"""`callsheet plan`: what would happen to each row now, and its price. Spends and writes nothing."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from deployments.commands.check import show_findings
from deployments.commands.options import (
    budget_of,
    settings_for,
    sheet_options,
    typed_in,
    words_of,
)
from deployments.signals import run_command
from deployments.terminal import console_for, plain, print_json, table
from tasks.campaign.catalogue import compared
from tasks.campaign.match import Match, match_sheet, name_campaign
from tasks.campaign.plan import plan_document, plan_sheet, priced, save_plan
from tasks.campaign.quote import ask_prices, check_budget
from tasks.campaign.values import Plan, PlanLine, RunOptions
from tasks.credits import as_text
from tasks.engine.context import open_service
from tasks.errors import CallsheetError, SpendRefused
from tasks.ledger import ACTIONS, open_ledger
from tasks.ledger.database import ledger_file, ledger_url
from tasks.redact import unsigned
from tasks.settings import Settings
from tasks.sheet import Sheet, read_sheet
from tasks.suggest import suggest_run

#: Rows of a plan that are shown one by one; the rest is counted.
SHOWN = 40


def main(args: Namespace) -> int:
    """Show the plan; with --detailed-exitcode 0 is nothing to do, 1 an error, 2 changes."""
    try:
        return _main(args)
    except CallsheetError as error:
        if args.detailed_exitcode:
            error.exit_status = 1
        raise


def _main(args: Namespace) -> int:
    console = console_for(args)
    with settings_for(args) as settings:
        sheet, plan, match = run_command(_plan(args, settings))
    show_findings(sheet, console)
    # A refusal says more of the same.
    show_plan(replace(plan, elsewhere=()) if match.refusal else plan, console)
    advice, notes = ([str(one) for one in found] for found in (sheet.advice, sheet.notes))
    document = {**plan_document(plan), "advice": advice, "notes": notes, "exit": 0}
    try:
        if match.refusal is not None:
            raise match.refusal
        if args.output:
            save_plan(plan, Path(args.output))
            carry = _run_of(args, plan, "--plan", args.output)
            print(f"saved; `{carry}` does what it says, or nothing", file=sys.stderr)
        check_budget(plan, part=f"`{_run_of(args, plan, '--at-limit', 'fit')}`")
    except SpendRefused as refusal:
        refusal.document = document
        raise
    if args.json:
        print_json(document)
    return 2 if args.detailed_exitcode and plan.moves_anything else 0


def _run_of(args: Namespace, plan: Plan, *words: str) -> str:
    """Return the command that runs what was planned, on the same terms."""
    return suggest_run(unsigned(args.sheet), plan.campaign, *typed_in(args), *words)


async def _plan(args: Namespace, settings: Settings) -> tuple[Sheet, Plan, Match]:
    sheet = await read_sheet(args.sheet, sheet_options(args, settings))
    options = RunOptions(
        sheet=args.sheet, budget=budget_of(args), select=args.select, **words_of(args)
    )
    file = ledger_file(ledger_url(settings.ledger))
    async with AsyncExitStack() as stack:
        ledger, match = None, Match()
        # A plan makes nothing, not even an empty ledger.
        if file is None or file.exists():
            opened = await open_ledger(settings.ledger, create=False)
            ledger = await stack.enter_async_context(opened)
            sheet = await name_campaign(ledger, sheet, options)
            match = await match_sheet(ledger, sheet, options)
        plan = await plan_sheet(ledger, sheet, options)
        if not plan.spending:
            return sheet, plan, match
        service = await open_service(settings, ledger, time.time)
        await stack.enter_async_context(service)
        wanted = {line.row for line in plan.spending}
        sheet = await compared(
            sheet, wanted, settings, ledger=ledger, service=service, clock=time.time
        )
        briefs = [brief for brief in sheet.briefs if brief.row in wanted]
        quotes = settings.quotes
        prices = await ask_prices(service, briefs, at_once=quotes, clock=time.time)
        return sheet, priced(plan, prices), match


def show_plan(plan: Plan, console: Console) -> None:
    """Show a plan: a line for every row that is touched, the rest as a count, and the total."""
    touched = [line for line in plan.lines if line.action != "nothing"]
    if touched:
        reasons = [line.why or _because(line) for line in touched[:SHOWN]]
        columns = ["row", "action", "credits", "film"] + ["why"] * any(reasons)
        made = table(f"Plan for {plan.campaign}", columns, numbers=("credits",))
        for line, why in zip(touched[:SHOWN], reasons, strict=True):
            price = as_text(line.priced) if line.spends else "-"
            cells = [line.row, line.action, price, line.title] + [why] * any(reasons)
            made.add_row(*(plain(cell) for cell in cells))
        console.print(made)
    if len(touched) > SHOWN:
        console.print(f"... and {len(touched) - SHOWN} more rows (all of them with --json)")
    for words in warnings_of(plan):
        console.print(f"[yellow]warning[/] {plain(words)}")
    console.print(_sum(plan))


def warnings_of(plan: Plan) -> list[str]:
    """Return what a person may not have meant, a sentence each."""
    found = [
        f"{len(one.costs)} of these rows {'is' if len(one.costs) == 1 else 'are'} campaign "
        f"{one.campaign}'s, already paid for there ({as_text(one.credits)} credits): a run makes "
        "them again"
        for one in plan.elsewhere
    ]
    if plan.needs_word:
        found.append(
            f"{len(plan.retiring)} of the campaign's {plan.live} rows are not in the sheet any "
            "more: is it whole? A run asks, and without a terminal takes --retire or a saved plan"
        )
    return found


def _because(line: PlanLine) -> str:
    """Explain what is not plain from the word itself."""
    return "" if line.action == "make" else ACTIONS[line.action]


def _sum(plan: Plan) -> str:
    if not plan.moves_anything:
        person = sum(line.action == "person" for line in plan.lines)
        more = f"; {person} rows need a person" if person else ""
        return f"nothing to do, 0 credits{more}"
    count = dict.fromkeys(ACTIONS, 0)
    for line in plan.lines:
        count[line.action] += 1
    words = f"{len(plan.spending)} films for {as_text(plan.total)} credits"
    if plan.unpriced:
        words += f" and {plan.unpriced} at a price the service did not say"
    if count["continue"]:
        words += f"; {count['continue']} paid for before are carried on, 0 credits"
    if count["nothing"]:
        words += f"; {count['nothing']} delivered before, 0 credits"
    if plan.budget is not None:
        left = plan.budget - plan.committed
        words += f"; {as_text(left)} of the budget of {as_text(plan.budget)} are left"
    return words
