"""`callsheet retake`: another take of rows, priced, asked about, and approved in the ledger."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Console

from deployments.commands.ledger import reading
from deployments.commands.named_rows import campaign_and_words, chosen_rows
from deployments.commands.options import budget_of, settings_of
from deployments.commands.rows import show_rows
from deployments.progress_view import ProgressView
from deployments.retake_view import Choice, document, show_offers, why_not
from deployments.signals import run_command, stopping
from deployments.terminal import consent, console_for, plain, print_json
from flows.pipeline import PLAIN, carry
from tasks.aftercare.retake import Offer, approve_offers, count_films, offers, plan_of
from tasks.campaign.quote import check_budget
from tasks.campaign.run import Run, no_approval, open_run
from tasks.campaign.steps import carry_only
from tasks.campaign.values import RunOptions, RunOutcome
from tasks.credits import as_text
from tasks.duration import parse_duration
from tasks.errors import BadInput
from tasks.ledger import RETAKEABLE, UNDER_WAY, Campaign, deliveries_of


def main(args: Namespace) -> int:
    """Price, ask, approve, and with --run carry; nothing changes before the answer."""
    told = run_command(_main(args))
    if args.json:
        print_json(told)
    return int(told["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    console = console_for(args)
    choice = await _choose(args)
    if not choice.again and not (args.run and choice.as_is):
        return _nothing(choice, console)
    max_wait = None if args.max_wait is None else parse_duration(args.max_wait)
    options = RunOptions(sheet=choice.campaign.sheet or "", max_wait=max_wait)
    async with open_run(options, settings_of(args), no_approval) as run:
        found = await offers(run.at, choice.campaign, choice.again)
        if found:
            show_offers(choice.campaign, found, console)
        approved = [offer for offer in found if not offer.refusal]
        if approved:
            await _approve(args, run, choice.campaign, approved, console)
        names = [offer.row.row for offer in approved] + [row.row for row in choice.as_is]
        outcome = None
        if args.run and names:
            outcome = await _carry(run, choice.campaign, names, console)
        after = {row.row: row for row in await run.rows()} if outcome else {}
    _last_word(args, choice, approved, outcome, console)
    return document(choice, found, after, outcome)


async def _choose(args: Namespace) -> Choice:
    """Sort the chosen rows; raise BadInput for a named one that cannot be taken again."""
    async with reading(args) as ledger:
        campaign, named = await campaign_and_words(args, ledger)
        if not named and not args.select:
            raise BadInput(
                "say which rows are to be taken again; nothing was spent",
                remedy="name them, or choose with --select, as in --select 'state:failed|stalled'",
            )
        rows = await chosen_rows(args, ledger, campaign, named)
    choice = Choice(campaign)
    for row in rows:
        if row.state in RETAKEABLE and row.enabled:
            choice.again.append(row)
        elif row.state == "approved" or (row.state in UNDER_WAY and args.run):
            choice.as_is.append(row)
        else:
            choice.neither.append(row)
    if named and choice.neither:
        row = choice.neither[0]
        raise BadInput(f"{row.row} cannot be taken again, it is {row.state}; nothing was spent",
                       remedy=why_not(row))  # fmt: skip
    if args.run and choice.as_is:
        # The same command again after it broke off: what it has made is not paid for once more.
        choice.neither.extend(choice.again)
        choice.again.clear()
    return choice


def _nothing(choice: Choice, console: Console) -> dict[str, Any]:
    if choice.as_is:
        named = ", ".join(row.row for row in choice.as_is)
        console.print(f"approved already: {plain(named)}; run the sheet, or add --run")
    else:
        console.print("nothing to take again, 0 credits")
    return document(choice, [], {}, None)


async def _approve(
    args: Namespace, run: Run, campaign: Campaign, approved: Sequence[Offer], console: Console
) -> None:
    budget = budget_of(args)
    plan = plan_of(campaign, approved, budget)
    check_budget(plan)
    if args.run:
        await run.at.store.check()
    total = f"{as_text(plan.total)} credits"
    if plan.unpriced:
        total += f" and {plan.unpriced} at a price the service did not say"
    films = count_films(len(approved))
    console.print(f"{films} for {total}")
    by = await consent(args, f"Spend {total} on {films}?", what=f"{total} for {films} are")
    because = args.because
    await approve_offers(run.at, campaign, approved, by=by, because=because, budget=budget)


async def _carry(
    run: Run, campaign: Campaign, names: Sequence[str], console: Console
) -> RunOutcome:
    await carry_only(run, campaign, names)
    with stopping(run) as hear, ProgressView(console) as view:
        run.listeners += [hear, view.hear]
        outcome = await carry(run, PLAIN, campaign.name)
    files = await run.at.ledger.read(partial(deliveries_of, campaign_id=campaign.id))
    show_rows(campaign.name, await run.rows(), files, console)
    return outcome


def _last_word(
    args: Namespace,
    choice: Choice,
    approved: Sequence[Offer],
    outcome: RunOutcome | None,
    console: Console,
) -> None:
    if outcome is None and approved:
        name = plain(choice.campaign.name)
        console.print(
            f"{len(approved)} approved: run the sheet, or `callsheet retake {name} ... --run`"
        )
    elif outcome is not None and outcome.exit_status == 5:
        console.print(f"parked: {plain(outcome.words or 'still under way')}; run the sheet again")
