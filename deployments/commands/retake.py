"""`callsheet retake`: another take of rows, each at a price that was approved."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_and_words, reading, telling_where
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import (
    consent,
    console_for,
    plain,
    print_json,
    state_text,
    table,
)
from callsheet.deployments.terminal_run import rows_shown, say_if_edited, show_outcome
from callsheet.flows.perform import Performed, perform
from callsheet.tasks.aftercare.explain import run_line, service_of
from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import check_budget
from callsheet.tasks.campaign.report import say_limits
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import again_with, suggest
from callsheet.tasks.values.amounts import CreditPrice, as_number, count, in_credits, in_table

#: What a retake sends: its reason changes nothing of it.
SAME_BRIEF = (
    "The service gets the same brief again. To change it, edit the row in the sheet and run that."
)
#: Rows that are named in a command to be pasted; more are chosen by their state.
SHOWN = 5


def main(args: Namespace) -> int:
    """Price, ask, approve, and with --run process; nothing changes before the answer."""
    with sandbox_for(args):
        told = run_command(_main(args))
    if args.json:
        print_json(told)
    return int(told["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    console, settings = console_for(args), settings_of(args)
    async with reading(args) as at:
        campaign, named = await campaign_and_words(args, at)
    if is_other_money(campaign, sandbox=settings.sandbox):
        raise _other_service(campaign)
    given = {"campaign": campaign.name, "rows": tuple(named) or None, "budget": budget_of(args)}
    sheet, sandbox = campaign.sheet or "", settings.sandbox
    ask = RunOptions.of({**vars(args), **given}, sheet=sheet, sandbox=sandbox)
    approve = partial(_approve, args, campaign, console)
    watch = partial(rows_shown, console=console)
    with telling_where(args):
        done = await perform(RETAKE, ask, settings, approve, watch=watch, make=args.run)
    _last_word(campaign, done, console, made=args.run)
    lines = [_line(line, done.rows.get(line.row), made=args.run) for line in done.plan.lines]
    return {"campaign": campaign.name, "rows": lines, "exit": done.exit_status}


def _other_service(campaign: Campaign) -> BadInput:
    made = "with --sandbox" if campaign.sandbox else "with a real service"
    add = f"say --sandbox: {again_with('--sandbox')}" if campaign.sandbox else "leave --sandbox out"
    return BadInput(f"campaign {campaign.name} was made {made}; nothing was spent", remedy=add)


async def _approve(args: Namespace, campaign: Campaign, console: Console, plan: Plan) -> Plan:
    """Show a plan and ask; return it as approved. Raise SpendRefused for a no."""
    price = plan.credit_price
    _show(plan, console)
    check_budget(plan)
    total = in_credits(plan.total, price)
    if plan.unpriced:
        total += f" and {plan.unpriced} at an unknown price"
    videos = count(len(plan.spending), "more video")
    when = "made now" if args.run else "made by the next run"
    console.print(f"{videos} for {total}, {when}")
    console.print(SAME_BRIEF)
    await say_if_edited(campaign, console)
    question = f"Spend {total} on {videos}, {when}?"
    if not args.run:
        question = f"Approve {videos} for {total}, {when}?"
    return plan.approved(await consent(args, question, what=f"{total} for {videos} are"))


def _show(plan: Plan, console: Console) -> None:
    """Show a line for every row: its price, what it cost before, what becomes of that."""
    numbers = ("credits", "take", "credits so far")
    columns = ("row", "state", *numbers, "video", "what becomes of the old one")
    made = table(f"Other takes for {plain(plan.campaign)}", columns, numbers=numbers)
    for line in plan.lines:
        if line.spends or line.action == "person":
            state = state_text(line.state or "planned")
            made.add_row(plain(line.row), state, *map(plain, _cells(line, plan.credit_price)))
    console.print(made)
    for words in say_limits(plan):
        console.print(plain(words))


def _cells(line: PlanLine, credit_price: CreditPrice | None) -> tuple[str, ...]:
    price = in_table(line.priced, credit_price) if line.spends else "-"
    charged = in_table(line.charged, credit_price)
    words = line.why or ("stays in the store" if line.state == "delivered" else "-")
    return price, str(line.take), charged, line.title, words


def _last_word(campaign: Campaign, done: Performed, console: Console, *, made: bool) -> None:
    """Say what was approved, what is not touched, and how what is approved is made."""
    plan = done.plan
    before, kept = plan.named("fetch"), sum(line.kept for line in plan.lines)
    if done.outcome is not None:
        show_outcome(done.outcome, run_line(campaign), console)
    elif plan.spending:
        ways = plain(_ways(campaign, plan.named("retake")))
        console.print(f"{len(plan.spending)} approved, nothing is made yet. {ways}")
    elif before:
        ways = _ways(campaign, before)
        console.print(plain(f"approved already: {', '.join(before)}. {ways}"))
    elif plan.named("person"):
        _show(plan, console)
    else:
        console.print("nothing to take again, 0 credits")
    if done.outcome is None and not plan.spending and kept:
        console.print(f"{count(kept, 'video')} that are kept stay unchanged")


def _ways(campaign: Campaign, rows: list[str]) -> str:
    """Say how rows that are approved are made: by the next run of the sheet, or alone."""
    chosen = rows if len(rows) <= SHOWN else ["--select", "state:approved"]
    alone = suggest("retake", campaign.name, *chosen, "--run", *service_of(campaign))
    return f"`{alone}` makes them now, `{run_line(campaign)}` with the rest of the sheet"


def _line(line: PlanLine, now: CampaignRow | None, *, made: bool) -> dict[str, Any]:
    """Return what `--json` says of a row; `now` is what it is, where it was approved."""
    review = line.review
    return {
        "row": line.row,
        "from": line.state,
        "to": now.state if now else line.state,
        "credits": None if line.action == "person" else as_number(line.priced),
        "words": (now.reason if now and made and line.spends else line.why),
        "review": review and review.verdict,
        "review_reason": review and review.reason,
        "review_note": review and review.note,
    }
