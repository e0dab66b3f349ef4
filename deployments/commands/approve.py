"""`callsheet approve`: approves the rows of a campaign that wait, and keeps their first videos."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.tables import show_plan
from callsheet.deployments.terminal import consent, console_for, plain, print_json
from callsheet.deployments.terminal_run import RowsAtTerminal, show_outcome
from callsheet.flows.executor import PLAIN, run_rows
from callsheet.tasks.aftercare.approval import approve_waiting, plan_of_waiting, waiting_rows
from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.aftercare.first_videos import say_waiting
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import check_budget, quote_rows
from callsheet.tasks.campaign.report import exit_status, say_elsewhere
from callsheet.tasks.campaign.run import Run, open_run
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.campaign.waits import first_videos
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.values.amounts import count, in_credits


def main(args: Namespace) -> int:
    """Show the waiting rows and their price, ask, approve; with --run make their videos."""
    with sandbox_for(args):
        told = run_command(_main(args))
    if args.json:
        print_json(told)
    return int(told["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    console = console_for(args)
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
    settings = settings_of(args)
    # Before asking: a sandbox price must not be approved.
    check_same_money(campaign, sandbox=settings.sandbox)
    options = RunOptions(
        sheet=campaign.sheet or "", max_wait=args.max_wait, sandbox=settings.sandbox
    )
    door = RowsAtTerminal(console)
    outcome: RunOutcome | None = None
    status = 0
    async with open_run(options, settings, door) as run:
        plan = await _ask(args, run, campaign, console)
        names = [line.row for line in plan.lines] if plan else []
        if plan is not None:
            approve = partial(approve_waiting, campaign=campaign, plan=plan, run=None)
            if args.run:
                await run.at.store.check()
            await run.at.ledger.write(approve, owner=None, at=run.at.clock())
        if args.run:
            # All of them, as a run of the sheet: first videos may be under way still.
            rows = await _rows_of(run, campaign)
            status = exit_status({row.state for row in rows})
            if plan is not None or status == 5:
                wanted = [row.row for row in rows]
                outcome = await run_rows(campaign, wanted, options, settings, door, PLAIN)
                show_outcome(outcome, run_line(campaign), console)
        elif plan is not None:
            console.print(f"{len(names)} approved: `{plain(run_line(campaign))}` makes them")
        for words in await run.at.ledger.read(say_waiting, campaign=campaign):
            console.print(plain(words))
    told: dict[str, Any] = {"campaign": campaign.name, "approved": names, "exit": status}
    return told if outcome is None else {**told, **outcome.as_json()}


async def _rows_of(run: Run, campaign: Campaign) -> list[CampaignRow]:
    """Return the rows of a campaign that a run of its sheet is about."""
    rows = await run.at.ledger.read(rows_of, campaign_id=campaign.id)
    return [row for row in rows if row.enabled and row.state != "retired"]


async def _ask(args: Namespace, run: Run, campaign: Campaign, console: Console) -> Plan | None:
    """Return the approved plan of the waiting rows; None if no row waits."""
    rows = await waiting_rows(run.at.ledger, campaign)
    if unpriced := [row for row in rows if row.quoted is None]:
        await quote_rows(run.at, unpriced)
        rows = await waiting_rows(run.at.ledger, campaign)
    if not rows:
        console.print(f"nothing of {plain(campaign.name)} waits for approval, 0 credits")
        return None
    plan = await plan_of_waiting(run.at.ledger, campaign, rows, budget_of(args))
    plan = replace(plan, credit_price=run.at.settings.credit_price)
    show_plan(plan, console)
    check_budget(plan)
    first = first_videos(row.reason for row in rows if row.state == "held")
    kept = f", and keep {first}" if first else ""
    credits = in_credits(plan.total, plan.credit_price)
    though = f", though {' and '.join(say_elsewhere(plan))}" if plan.elsewhere else ""
    question = f"Approve {count(len(rows), 'video')} for {credits}{kept}{though}?"
    return plan.approved(await consent(args, question, what=f"{credits} are"))
