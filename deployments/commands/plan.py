"""`callsheet plan`: what would happen to each row now, and its price. Spends and writes nothing."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from callsheet.deployments.commands.check import show_findings
from callsheet.deployments.commands.options import ledger_note, options_of, settings_for, typed_in
from callsheet.deployments.process import run_command
from callsheet.deployments.progress import ProgressView
from callsheet.deployments.tables import show_drift, show_plan
from callsheet.deployments.terminal import console_for, print_json
from callsheet.tasks.aftercare.drift import Refreshed, refresh_for_plan
from callsheet.tasks.campaign.plan import plan_document, save_plan
from callsheet.tasks.campaign.quotes import Tell, check_budget
from callsheet.tasks.campaign.stored_plans import PricedPlan, plan_from
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.errors import CallsheetError, SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say, unsigned
from callsheet.tasks.runtime.suggest import suggest_run


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
        if note := ledger_note(settings, args.sheet):
            say(str(note))
        with ProgressView(console) as view:
            (sheet, plan, match), seen = run_command(_plan(args, settings, view.quoting))
    show_findings(sheet, console)
    # A refusal says more of the same.
    show_plan(replace(plan, elsewhere=()) if match.refusal else plan, console)
    if seen is not None:
        show_drift(seen, console)
    advice, notes = ([str(one) for one in found] for found in (sheet.advice, sheet.notes))
    document = {**plan_document(plan), "advice": advice, "notes": notes, "exit": 0}
    if seen is not None:
        document["drift"] = [one.as_json() for one in seen.drift]
    try:
        if match.refusal is not None:
            raise match.refusal
        if args.output:
            save_plan(plan, Path(args.output))
            carry = _run_of(args, plan, "--plan", args.output)
            say(f"saved; `{carry}` runs exactly this plan, or stops without spending")
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
) -> tuple[PricedPlan, Refreshed | None]:
    options = options_of(args).but(sandbox=settings.sandbox)
    found = await plan_from(options, settings, tell=tell)
    if found.match.refusal is not None:
        return found, None
    return found, await refresh_for_plan(found.plan.campaign, options, settings)
