"""`callsheet status`: campaigns, or one of them: rows by state, credits, and what limits them."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from rich.console import Console

from deployments.commands.options import settings_of
from deployments.commands.reading import campaign_of, reading
from deployments.listing import ListedLine, show_lines
from deployments.moments import say_moment
from deployments.signals import run_command
from deployments.terminal import console_for, plain, print_json, table
from tasks.credits import as_number, as_text
from tasks.engine.owner import is_at_work, name_of
from tasks.ledger import (
    Account,
    Campaign,
    Ledger,
    Tally,
    all_accounts,
    all_campaigns,
    day_of,
    find_account,
    tally_of,
)
from tasks.settings import Settings


@dataclass(frozen=True)
class CampaignStatus:
    """A campaign with its counts and figures."""

    campaign: Campaign
    tally: Tally
    #: Who is at work on it. The ledger also has processes that are gone.
    owner: str | None = None


def main(args: Namespace) -> int:
    """Show counts and account of one campaign or of all, and the accounts of days and others."""
    found, accounts = run_command(_read(args))
    console = console_for(args)
    _show_campaigns(found, console)
    if accounts:
        _show_accounts(accounts, console)
    if args.json:
        documents = [status_document(one) for one in found]
        document: dict[str, object] = documents[0] if args.campaign else {"campaigns": documents}
        print_json({**document, "accounts": [_account_document(account) for account in accounts]})
    return 0


async def _read(args: Namespace) -> tuple[list[CampaignStatus], list[Account]]:
    settings = settings_of(args)
    async with reading(args) as ledger:
        if args.campaign:
            campaigns = [await campaign_of(ledger, args.campaign)]
        else:
            campaigns = await ledger.read(all_campaigns)
        found = await asyncio.gather(*(_read_campaign(ledger, one) for one in campaigns))
        limits = _limits(settings, time.time())
        limited = [await ledger.read(partial(find_account, account=one)) for one in limits]
        if not args.accounts:
            return found, limited
        named = {(account.kind, account.name) for account in limited}
        others = await ledger.read(all_accounts)
        return found, limited + [a for a in others if (a.kind, a.name) not in named]


async def _read_campaign(ledger: Ledger, campaign: Campaign) -> CampaignStatus:
    tally = await ledger.read(partial(tally_of, campaign=campaign))
    at_work = is_at_work(campaign.owner, campaign.owner_until, at=time.time())
    return CampaignStatus(campaign, tally, campaign.owner if at_work else None)


def _limits(settings: Settings, at: float) -> list[Account]:
    """Return the accounts that the settings limit, empty."""
    today = Account(kind="day", name=day_of(at), budget=settings.day_budget)
    centers = [
        Account(kind="cost_center", name=name, budget=budget)
        for name, budget in settings.cost_center_budgets.items()
    ]
    return ([today] if settings.day_budget is not None else []) + centers


def _show_campaigns(found: list[CampaignStatus], console: Console) -> None:
    amounts = ("quoted", "reserved", "charged", "variance", "budget", "left")
    lines = [
        ListedLine(
            (one.campaign.name, f"{one.tally.total:,}", *_amounts(one.tally)),
            ", ".join(f"{n:,} {state}" for state, n in one.tally.rows.items()),
        )
        for one in found
    ]
    show_lines(
        console,
        ("campaign", "rows", *amounts, "states"),
        lines,
        numbers=("rows", *amounts),
    )
    if any(one.tally.budget is not None for one in found):
        console.print("(budgets are for a campaign's whole life, over every run)")
    console.print()
    for one in found:
        if one.owner:
            since = say_moment(one.campaign.owner_since)
            who = name_of(one.owner)
            words = f"{one.campaign.name} is being run by {who} since {since}"
            console.print(plain(words))


def _show_accounts(accounts: list[Account], console: Console) -> None:
    columns = ("account", "name", "reserved", "charged", "budget", "left")
    made = table("Accounts", columns, numbers=columns[2:])
    for account in accounts:
        amounts = [as_text(account.reserved), as_text(account.charged)]
        amounts += ["-" if a is None else as_text(a) for a in (account.budget, account.left)]
        cells = (account.kind.replace("_", " "), account.name, *amounts)
        made.add_row(*(plain(cell) for cell in cells))
    console.print(made)


def _amounts(tally: Tally) -> list[str]:
    limits = ["-" if a is None else as_text(a) for a in (tally.budget, tally.left)]
    spent = [as_text(tally.quoted), as_text(tally.reserved), as_text(tally.charged)]
    return [*spent, _signed(tally.variance), *limits]


def _signed(amount: Decimal) -> str:
    """Return what was paid beyond the quotes as `+3`, what was saved as `-3`."""
    return f"+{as_text(amount)}" if amount > 0 else as_text(amount)


def status_document(found: CampaignStatus) -> dict[str, Any]:
    """Return a campaign as JSON."""
    campaign, tally = found.campaign, found.tally
    return {
        "campaign": campaign.name,
        "sheet": campaign.sheet,
        "rows": tally.as_json(),
        "credits": tally.credits_as_json(),
        "owner": found.owner,
    }


def _account_document(account: Account) -> dict[str, object]:
    return {
        "kind": account.kind,
        "name": account.name,
        "reserved": as_number(account.reserved),
        "charged": as_number(account.charged),
        "budget": as_number(account.budget),
        "left": as_number(account.left),
    }
