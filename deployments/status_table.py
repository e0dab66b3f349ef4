"""What `callsheet status` shows people: a line for each campaign, and the accounts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from rich.console import Console

from callsheet.deployments.campaign_status import CampaignStatus
from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.moments import say_moment
from callsheet.deployments.terminal import plain, table
from callsheet.tasks.credits import as_text
from callsheet.tasks.engine.owner import name_of
from callsheet.tasks.ledger import Account, Tally


def show_status(
    found: Sequence[CampaignStatus], accounts: Sequence[Account], console: Console
) -> None:
    """Show campaigns and who is at work on them, then the accounts, if there are any."""
    _show_campaigns(found, console)
    if accounts:
        _show_accounts(accounts, console)


def _show_campaigns(found: Sequence[CampaignStatus], console: Console) -> None:
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
        console.print("(a budget covers every run of its campaign)")
    console.print()
    for one in found:
        if one.owner and one.campaign.lease:
            since = say_moment(one.campaign.lease.since)
            who = name_of(one.owner)
            words = f"{one.campaign.name} is being run by {who} since {since}"
            console.print(plain(words))


def _show_accounts(accounts: Sequence[Account], console: Console) -> None:
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
