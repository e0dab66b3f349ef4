"""`callsheet plan` and `show-plan`: what would happen to each row, and its price. Spend nothing."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from callsheet.deployments.commands.check import show_findings
from callsheet.deployments.commands.options import (
    ledger_note,
    options_of,
    settings_for,
    settings_of,
    typed_in,
)
from callsheet.deployments.process import run_command
from callsheet.deployments.progress import ProgressView
from callsheet.deployments.tables import show_drift
from callsheet.deployments.tables import show_plan as show_table
from callsheet.deployments.terminal import console_for, plain, print_json, user_name
from callsheet.tasks.aftercare.findings import DRIFT, Repairs
from callsheet.tasks.aftercare.repairs import refresh_for_plan
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import (
    PAGES,
    TERMS,
    SavedPlan,
    plan_document,
    read_plan,
    save_plan,
)
from callsheet.tasks.campaign.quotes import Tell, check_budget
from callsheet.tasks.campaign.stored_plans import (
    PricedPlan,
    plan_from,
    plan_unpriced,
    plan_with_prices,
    with_known_prices,
)
from callsheet.tasks.campaign.validity import moved_since
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.errors import BadInput, CallsheetError, SpendRefused
from callsheet.tasks.runtime.files import check_not_sheet
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say, unsigned
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.values.amounts import CreditPrice


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
    check_not_sheet(args.output or "", args.sheet)
    with settings_for(args) as settings:
        if note := ledger_note(settings, args.sheet):
            say(str(note))
        with ProgressView(console) as view:
            (sheet, plan, match), seen = run_command(_plan(args, settings, view.quoting))
    show_findings(sheet, console)
    # A refusal says more of the same.
    shown = replace(plan, elsewhere=()) if match.refusal else plan
    show_table(shown, console, whole=args.all)
    if seen is not None:
        show_drift(seen, console, plan.credit_price)
    advice, notes = ([str(one) for one in found] for found in (sheet.advice, sheet.notes))
    document = {**plan_document(plan), "advice": advice, "notes": notes, "exit": 0}
    if seen is not None:
        document["drift"] = [one.as_json(DRIFT) for one in seen.drift]
    try:
        if match.refusal is not None:
            raise match.refusal
        if args.output:
            _save(args, plan)
        check_budget(plan, part=f"`{_run_of(args, plan, '--at-limit', 'fit')}`")
    except SpendRefused as refusal:
        refusal.document = document
        raise
    if args.json:
        print_json(document)
    changes = plan.moves_anything or (seen is not None and seen.needs_action)
    return 2 if args.detailed_exitcode and changes else 0


def _run_of(args: Namespace, plan: Plan, *words: str) -> str:
    """Return the command that runs what was planned, on the same terms."""
    return suggest_run(unsigned(args.sheet), plan.campaign, *typed_in(args), *words)


async def _plan(
    args: Namespace, settings: Settings, tell: Tell
) -> tuple[PricedPlan, Repairs | None]:
    options = options_of(args).but(sandbox=settings.sandbox)
    found = await plan_from(options, settings, partial(plan_with_prices, tell=tell))
    if found.match.refusal is not None:
        return found, None
    return found, await refresh_for_plan(found.plan.campaign, options, settings)


def _save(args: Namespace, plan: Plan) -> None:
    """Save the plan with what a run of it needs, and say how to run it."""
    sheet = "" if args.sheet == "-" else unsigned(args.sheet)
    terms = options_of(args).but(sheet=sheet).kept()
    saved = {
        **plan_document(plan),
        "terms": {name: value for name, value in terms.items() if name in TERMS},
        "made_by": user_name(),
        "made_at": f"{datetime.fromtimestamp(time.time(), UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    command = _command(args)
    page = None
    if Path(args.output).suffix.lower() in PAGES:
        from callsheet.deployments.plan_page import plan_page

        page = partial(plan_page, command=command, price=plan.credit_price)
    save_plan(saved, Path(args.output), page)
    say(f"saved; `{command}` runs exactly this plan, or stops without spending")


def _command(args: Namespace) -> str:
    """Return the command that runs a saved plan: it knows its sheet, unless that is no address."""
    sheet = unsigned(args.sheet)
    named = [] if sheet == args.sheet != "-" else [sheet]
    scale = ["--time-scale", args.time_scale] if args.time_scale else []
    return suggest("run", *named, "--plan", args.output, *scale)


# `callsheet show-plan`: a plan that was saved, and whether it still holds.


def show_plan(args: Namespace) -> int:
    """Show a saved plan as `plan` does, and what is no longer as it says.

    Prices are not asked for: a run compares them.
    """
    saved, console = read_plan(Path(args.file)), console_for(args)
    args.sheet = saved.terms.get("sheet")
    settings = settings_of(args)
    moved: list[str] | None = None
    price, trouble = settings.credit_price, ""
    try:
        moved, price = run_command(_moved(saved, settings))
    except CallsheetError as error:
        trouble = f"Callsheet cannot compare it with its sheet: {error}"
    show_table(replace(saved.plan, credit_price=price), console, whole=args.all)
    if by := saved.document.get("made_by"):
        console.print(plain(f"made by {by}, {saved.document.get('made_at')}"))
    if trouble:
        console.print(plain(trouble))
    elif moved:
        console.print(plain("\n  ".join(["it no longer holds:", *moved])))
    elif moved is not None:
        console.print("it still holds for the rows of the sheet; `run` asks for the prices again")
    if args.json:
        holds = None if moved is None else not moved
        print_json({**saved.document, "holds": holds, "moved": moved, "exit": 0})
    return 0


async def _moved(saved: SavedPlan, settings: Settings) -> tuple[list[str], CreditPrice | None]:
    """Return what is no longer as a saved plan says, at the prices that it has.

    And what a credit costs in money.
    """
    if "sheet" not in saved.terms:
        raise BadInput("the plan names no sheet")
    options = RunOptions.of(saved.terms, sandbox=saved.plan.sandbox, saved_plan=True)
    _, now, match = await plan_from(options, settings, plan_unpriced)
    moved = moved_since(saved.plan, with_known_prices(saved.plan, now, {}), costlier=True)
    moved = moved if match.refusal is None else [str(match.refusal), *moved]
    return moved, now.credit_price
