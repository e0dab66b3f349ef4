"""`callsheet retake`: another take of rows, priced, asked about, and approved in the ledger."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_and_words, chosen_rows, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import (
    consent,
    console_for,
    plain,
    print_json,
    state_text,
    table,
)
from callsheet.deployments.terminal_run import RowsAtTerminal, show_outcome
from callsheet.flows.executor import PLAIN, run_rows
from callsheet.tasks.aftercare.explain import run_line, service_of
from callsheet.tasks.aftercare.retake import Offer, approve_offers, count_videos, offers, plan_of
from callsheet.tasks.campaign.match import is_other_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import check_budget
from callsheet.tasks.campaign.run import Run, open_run
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.reviews import kept_rows
from callsheet.tasks.ledger.takes import RETAKEABLE
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import CreditPrice, as_number, as_text, count, in_credits

#: State -> why a row is not taken again, and what `{run}` does instead.
_WHY_NOT = {
    "retired": "it has left the sheet: put it back, and `{run}` takes it up again",
    "planned": "its first take is not made yet: `{run}` makes it",
    "quoted": "its first take is not made yet: `{run}` makes it",
    "submitting": "it has started: `{run}` finishes it",
    "rendering": "it has started: `{run}` finishes it",
    "ready": "it has started: `{run}` finishes it",
}


#: What a retake sends: its reason changes nothing of it.
SAME_BRIEF = (
    "The service gets the same brief again. To change it, edit the row in the sheet and run that."
)

#: Rows that are named in a command to be pasted; more are chosen by their state.
SHOWN = 5


@dataclass(frozen=True)
class Choice:
    """The rows a person named: to be taken again, to be resumed as they are, or neither."""

    campaign: Campaign
    again: list[CampaignRow] = field(default_factory=list)
    as_is: list[CampaignRow] = field(default_factory=list)
    neither: list[CampaignRow] = field(default_factory=list)
    #: Of those that are taken neither way, the ones whose video someone keeps.
    kept: frozenset[int] = frozenset()


def main(args: Namespace) -> int:
    """Price, ask, approve, and with --run process; nothing changes before the answer."""
    with sandbox_for(args):
        told = run_command(_main(args))
    if args.json:
        print_json(told)
    return int(told["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    console = console_for(args)
    choice = await _choose(args)
    if not choice.again and not (args.run and choice.as_is):
        return _nothing(choice, console)
    settings = settings_of(args)
    sheet = choice.campaign.sheet or ""
    options = RunOptions(sheet=sheet, max_wait=args.max_wait, sandbox=settings.sandbox)
    if is_other_money(choice.campaign, sandbox=settings.sandbox):
        raise _other_service(choice.campaign)
    door = RowsAtTerminal(console)
    async with open_run(options, settings, door) as run:
        found = await offers(run.at, choice.campaign, choice.again)
        if found:
            _show_offers(choice.campaign, found, console, settings.credit_price)
        approved = [offer for offer in found if not offer.refusal]
        if approved:
            await _approve(args, run, choice.campaign, approved, console)
        names = [offer.row.row for offer in approved] + [row.row for row in choice.as_is]
        outcome = None
        if args.run and names:
            outcome = await run_rows(choice.campaign, names, options, settings, door, PLAIN)
        after = {row.row: row for row in await run.rows()} if outcome else {}
    _last_word(args, choice, approved, outcome, console)
    return _document(choice, found, after, outcome)


def _other_service(campaign: Campaign) -> BadInput:
    made = "with --sandbox" if campaign.sandbox else "with a real service"
    add = "say --sandbox" if campaign.sandbox else "leave --sandbox out"
    return BadInput(f"campaign {campaign.name} was made {made}; nothing was spent",
                    remedy=f"{add}, and run the same command again")  # fmt: skip


async def _choose(args: Namespace) -> Choice:
    """Sort the chosen rows; raise BadInput for a named one that cannot be taken again."""
    async with reading(args) as ledger:
        campaign, named = await campaign_and_words(args, ledger)
        if not named and not args.select:
            raise BadInput(
                "say which rows are to be taken again; nothing was spent",
                remedy="name them, or choose them: "
                f"`{suggest('retake', campaign.name, '--select', 'state:failed|stalled')}`",
            )
        rows = await chosen_rows(args, ledger, campaign, named)
        kept = await ledger.read(kept_rows, campaign_id=campaign.id)
    if args.even_kept:
        if not named:
            raise BadInput(
                "--even-kept takes rows that are named; nothing was spent",
                remedy="a kept video is retaken only if you name its row",
            )
        kept = frozenset()
    choice = Choice(campaign, kept=kept)
    for row in rows:
        if row.id in kept and row.state in RETAKEABLE:
            choice.neither.append(row)
        elif row.state in RETAKEABLE and row.enabled:
            choice.again.append(row)
        elif row.state == "approved" or (row.state in UNDER_WAY and args.run):
            choice.as_is.append(row)
        else:
            choice.neither.append(row)
    if named and choice.neither:
        row = choice.neither[0]
        why = "its video is kept" if row.id in kept else f"it is {row.state}"
        raise BadInput(f"{row.row} cannot be taken again, {why}; nothing was spent",
                       remedy=_why_not(choice, row))  # fmt: skip
    if args.run and choice.as_is:
        # The same command again after it broke off: what it has made is not paid for once more.
        choice.neither.extend(choice.again)
        choice.again.clear()
    return choice


def _nothing(choice: Choice, console: Console) -> dict[str, Any]:
    if choice.as_is:
        named = ", ".join(row.row for row in choice.as_is)
        console.print(f"approved already: {plain(named)}. {plain(_ways(choice, choice.as_is))}")
    else:
        console.print("nothing to take again, 0 credits")
    if choice.kept and (left := [row for row in choice.neither if row.id in choice.kept]):
        console.print(f"{count(len(left), 'video')} that are kept stay unchanged")
    return _document(choice, [], {}, None)


async def _approve(
    args: Namespace, run: Run, campaign: Campaign, approved: Sequence[Offer], console: Console
) -> None:
    budget = budget_of(args)
    plan = plan_of(campaign, approved, budget)
    check_budget(plan)
    if args.run:
        await run.at.store.check()
    total = in_credits(plan.total, run.at.settings.credit_price)
    if plan.unpriced:
        total += f" and {plan.unpriced} at an unknown price"
    videos = count_videos(len(approved))
    when = "made now" if args.run else "made by the next run"
    console.print(f"{videos} for {total}, {when}")
    console.print(SAME_BRIEF)
    question = f"Spend {total} on {videos}, {when}?"
    if not args.run:
        question = f"Approve {videos} for {total}, {when}?"
    by = await consent(args, question, what=f"{total} for {videos} are")
    because = args.because
    how = {"by": by, "because": because, "budget": budget, "even_kept": args.even_kept}
    await approve_offers(run.at, campaign, approved, **how)


def _last_word(
    args: Namespace,
    choice: Choice,
    approved: Sequence[Offer],
    outcome: RunOutcome | None,
    console: Console,
) -> None:
    if outcome is None and approved:
        ways = _ways(choice, [offer.row for offer in approved])
        console.print(f"{len(approved)} approved, nothing is made yet. {plain(ways)}")
    elif outcome is not None:
        show_outcome(outcome, run_line(choice.campaign), console)


def _ways(choice: Choice, approved: Sequence[CampaignRow]) -> str:
    """Say how rows that are approved are made: by the next run of the sheet, or alone."""
    campaign, rows = choice.campaign, [row.row for row in approved]
    chosen = rows if len(rows) <= SHOWN else ["--select", "state:approved"]
    alone = suggest("retake", campaign.name, *chosen, "--run", *service_of(campaign))
    return f"`{alone}` makes them now, `{run_line(campaign)}` with the rest of the sheet"


def _show_offers(
    campaign: Campaign,
    found: Sequence[Offer],
    console: Console,
    credit_price: CreditPrice | None,
) -> None:
    """Show a line for every row: its price, what it cost before, what becomes of that."""
    numbers = ("credits", "takes so far", "credits so far")
    columns = ("row", "state", *numbers, "video", "what becomes of the old one")
    made = table(f"Other takes for {plain(campaign.name)}", columns, numbers=numbers)
    for offer in found:
        row = offer.row
        price = "-" if offer.refusal else as_text(offer.price)
        if credit_price and offer.price and not offer.refusal:
            price += f" ({credit_price.words(offer.price)})"
        words = offer.words or _kept(row)
        so_far = (str(row.take.number if row.take else 0), as_text(offer.earlier))
        cells = (price, *so_far, plain(row.title), plain(words))
        made.add_row(plain(row.row), state_text(row.state), *cells)
    console.print(made)


def _kept(row: CampaignRow) -> str:
    return "stays in the store" if row.take and row.take.delivered_at else "-"


def _why_not(choice: Choice, row: CampaignRow) -> str:
    """Say why a row cannot be taken again, and what to do."""
    campaign = choice.campaign
    if row.id in choice.kept and row.state in RETAKEABLE:
        return "its video is kept: name the row and say --even-kept to make another all the same"
    if row.state in RETAKEABLE and row.enabled:
        return "not retaken while other rows are unfinished: they are finished first"
    if not row.enabled:
        return "it is switched off in the sheet: write yes into its cell of `enabled`, and run that"
    return _WHY_NOT[row.state].format(run=run_line(campaign))


def _document(
    choice: Choice,
    found: Sequence[Offer],
    after: Mapping[str, CampaignRow],
    outcome: RunOutcome | None,
) -> dict[str, Any]:
    """Return the one document of `--json`; `after` has the rows that were processed."""
    lines = []
    for offer in found:
        row, now = offer.row, after.get(offer.row.row)
        lines.append(
            {
                "row": row.row,
                "from": row.state,
                "to": row.state if offer.refusal else now.state if now else "approved",
                "credits": None if offer.refusal else as_number(offer.price),
                "words": offer.refusal or (now.reason if now else offer.words),
                "review": offer.review.verdict if offer.review else None,
                "review_reason": offer.review.reason if offer.review else None,
                "review_note": offer.review.note if offer.review else None,
            }
        )
    lines += [
        {
            "row": row.row,
            "from": row.state,
            "to": after[row.row].state if row.row in after else row.state,
            "credits": as_number(row.quoted),
            "words": "approved or under way before"
            if row in choice.as_is
            else _why_not(choice, row),
        }
        for row in [*choice.as_is, *choice.neither]
    ]
    refused = 3 if any(offer.refusal for offer in found) else 0
    status = max(refused, outcome.exit_status) if outcome else refused
    return {"campaign": choice.campaign.name, "rows": lines, "exit": status}
