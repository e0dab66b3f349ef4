"""Which campaign and rows `[CAMPAIGN] [ROW ...]` and `--select` mean."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from callsheet.deployments.commands.reading import NotHere, campaign_of
from callsheet.tasks.campaign.selection import check_selection, choose_rows, parse_selection
from callsheet.tasks.errors import BadInput
from callsheet.tasks.ledger import Campaign, CampaignRow, Ledger, all_campaigns, rows_of
from callsheet.tasks.suggest import suggest


async def campaign_and_words(args: Namespace, ledger: Ledger) -> tuple[Campaign, list[str]]:
    """Return the campaign, the newest unless the first word names one, and the rows named.

    Raises BadInput for one word that could be either.
    """
    first, *others = args.words or [None]
    known = await ledger.read(all_campaigns)
    named = next((campaign for campaign in known if campaign.name == first), None)
    newest = await campaign_of(ledger, None)
    if named is None:
        return newest, list(args.words)
    rows = await ledger.read(partial(rows_of, campaign_id=newest.id, row=first))
    if rows and named.id != newest.id and not others and not args.select:
        raise BadInput(
            f'"{first}" is a campaign, and a row of {newest.name}',
            remedy=f"`{suggest(args.command, newest.name, first)}` means the row, "
            f"`{suggest(args.command, first, '--select', '*')}` the campaign",
        )
    return named, others


async def chosen_rows(
    args: Namespace, ledger: Ledger, campaign: Campaign, named: Sequence[str]
) -> list[CampaignRow]:
    """Return the rows that are named and chosen by `--select`; raise BadInput for no such row."""
    parse_selection(args.select)
    rows = await ledger.read(partial(rows_of, campaign_id=campaign.id))
    missing = [word for word in named if word not in {row.row for row in rows}]
    if missing:
        # The first word may be a campaign of another ledger.
        raise NotHere(
            f"campaign {campaign.name} has no row " + ", ".join(f'"{word}"' for word in missing),
            remedy=f"`{suggest('rows', campaign.name)}` lists them",
        )
    return choose_rows(rows, named, args.select)


async def check_select(args: Namespace, ledger: Ledger, campaign: Campaign) -> None:
    """Raise BadInput when `--select` names a row that is not there, or matches none."""
    if args.select is not None:
        rows = await ledger.read(partial(rows_of, campaign_id=campaign.id))
        check_selection(args.select, ((row, row.asked(), row.state) for row in rows))
