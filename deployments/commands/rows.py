"""`callsheet rows`: a line for every row of a campaign."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from deployments.commands.ledger import campaign_of, reading
from deployments.row_table import Document, show_rows
from deployments.signals import run_command
from deployments.terminal import console_for, print_json_lines
from tasks.campaign.report import row_documents
from tasks.campaign.selection import parse_selection
from tasks.ledger import CampaignRow, rows_of


def main(args: Namespace) -> int:
    """Show rows, or print them as JSON lines."""
    name, rows, document = run_command(_read(args))
    console = console_for(args)
    if args.json:
        print_json_lines(document(row) for row in rows)
    else:
        show_rows(f"Rows of {name}", rows, document, console)
    return 0


async def _read(args: Namespace) -> tuple[str, list[CampaignRow], Document]:
    chosen = parse_selection(args.select)
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        rows = await ledger.read(partial(rows_of, campaign_id=campaign.id))
        document = await ledger.read(partial(row_documents, campaign_id=campaign.id))
    rows = [row for row in rows if chosen(row, row.asked(), row.state)]
    return campaign.name, rows, document
