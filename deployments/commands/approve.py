"""`callsheet approve`: approves the rows of a campaign that wait, and keeps their first videos."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.tables import show_plan
from callsheet.deployments.terminal import consent, console_for, plain, print_json
from callsheet.deployments.terminal_run import rows_shown, say_if_edited, show_outcome
from callsheet.flows.perform import perform
from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.aftercare.first_videos import say_waiting
from callsheet.tasks.aftercare.waiting import WAITING_AND_REST, rows_in_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import check_budget
from callsheet.tasks.campaign.report import exit_status, say_elsewhere
from callsheet.tasks.campaign.values import PAID, Plan
from callsheet.tasks.campaign.waits import first_videos
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.values.amounts import count, in_credits


def main(args: Namespace) -> int:
    """Show the waiting rows and their price, ask, approve; with --run make their videos."""
    with sandbox_for(args):
        told = run_command(_main(args))
    if args.json:
        print_json(told)
    return int(told["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    console, settings = console_for(args), settings_of(args)
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign)
    given = {"campaign": campaign.name, "budget": budget_of(args), "max_wait": args.max_wait}
    ask = RunOptions.of(given, sheet=campaign.sheet or "", sandbox=settings.sandbox)
    approve = partial(_approve, args, campaign, console)
    watch = partial(rows_shown, console=console)
    done = await perform(WAITING_AND_REST, ask, settings, approve, watch=watch, make=args.run)
    names = done.plan.named(*PAID)
    status = done.exit_status
    if done.plan.named("person") and not names:
        show_plan(done.plan, console)
    elif not names:
        console.print(f"nothing of {plain(campaign.name)} waits for approval, 0 credits")
    elif not args.run:
        console.print(f"{len(names)} approved: `{plain(run_line(campaign))}` makes them")
    if done.outcome is not None:
        show_outcome(done.outcome, run_line(campaign), console)
    async with reading(args) as at:
        for words in await at.read(say_waiting, campaign=campaign):
            console.print(plain(words))
        if args.run and done.outcome is None:
            rows = await at.read(rows_in_sheet, campaign=campaign)
            status = max(status, exit_status({row.state for row in rows}))
    told: dict[str, Any] = {"campaign": campaign.name, "approved": names}
    return {**told, **(done.outcome.as_json() if done.outcome else {}), "exit": status}


async def _approve(args: Namespace, campaign: Campaign, console: Console, plan: Plan) -> Plan:
    """Show the rows that wait and ask; return them as approved. Raise SpendRefused for a no."""
    lines = [line for line in plan.lines if line.action != "fetch"]
    show_plan(replace(plan, lines=tuple(lines)), console)
    await say_if_edited(campaign, console)
    check_budget(plan)
    first = first_videos(line.why for line in plan.spending if line.state == "held")
    kept = f", and keep {first}" if first else ""
    credits = in_credits(plan.total, plan.credit_price)
    though = f", though {' and '.join(say_elsewhere(plan))}" if plan.elsewhere else ""
    videos = count(len(plan.spending), "video")
    question = f"Approve {videos} for {credits}{kept}{though}?"
    return plan.approved(await consent(args, question, what=f"{credits} are"))
