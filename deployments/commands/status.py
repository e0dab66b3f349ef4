"""`callsheet status`: campaigns, or one of them: rows by state, and credits."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from datetime import UTC, datetime
from functools import partial

from deployments.commands.ledger import campaign_of, reading
from deployments.terminal import console_for, plain, print_json, table
from tasks.credits import as_number, as_text
from tasks.ledger import Campaign, Tally, all_campaigns, tally_of


def main(args: Namespace) -> int:
    """Show counts and account of one campaign or of all."""
    found = asyncio.run(_read(args))
    console = console_for(args)
    columns = ("campaign", "rows", "states", "quoted", "reserved", "charged", "budget")
    made = table("Campaigns", columns, numbers=("rows", *columns[3:]))
    for campaign, tally in found:
        states = ", ".join(f"{count} {state}" for state, count in tally.rows.items())
        budget = "-" if tally.budget is None else as_text(tally.budget)
        amounts = (as_text(tally.quoted), as_text(tally.reserved), as_text(tally.charged))
        cells = (campaign.name, tally.total, states, *amounts, budget)
        made.add_row(*(plain(cell) for cell in cells))
    console.print(made)
    for campaign, _ in found:
        if campaign.owner:
            since = datetime.fromtimestamp(campaign.owner_since or 0, UTC)
            who = " process ".join(campaign.owner.split(":")[:2])
            console.print(f"{plain(campaign.name)} is being run by {who} since {since:%H:%M} UTC")
    if args.json:
        documents = [_document(campaign, tally) for campaign, tally in found]
        print_json(documents[0] if args.campaign else {"campaigns": documents})
    return 0


async def _read(args: Namespace) -> list[tuple[Campaign, Tally]]:
    async with reading(args) as ledger:
        if args.campaign:
            campaigns = [await campaign_of(ledger, args.campaign)]
        else:
            campaigns = await ledger.read(all_campaigns)
        return [(c, await ledger.read(partial(tally_of, campaign=c))) for c in campaigns]


def _document(campaign: Campaign, tally: Tally) -> dict[str, object]:
    return {
        "campaign": campaign.name,
        "sheet": campaign.sheet,
        "rows": tally.as_json(),
        "credits": {
            "quoted": as_number(tally.quoted),
            "reserved": as_number(tally.reserved),
            "charged": as_number(tally.charged),
            "budget": as_number(tally.budget),
        },
        "owner": campaign.owner,
    }
