"""`callsheet rows`: a line for every row of a campaign."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from deployments.commands.ledger import campaign_of, reading
from deployments.signals import run_command
from deployments.terminal import console_for, plain, print_json_lines, state_text, table
from tasks.campaign.report import row_document
from tasks.campaign.selection import parse_selection
from tasks.credits import as_text
from tasks.ledger import CampaignRow, Delivered, deliveries_of, rows_of

Files = Mapping[int, Sequence[Delivered]]


def main(args: Namespace) -> int:
    """Show rows, or print them as JSON lines."""
    name, rows, files = run_command(_read(args))
    console = console_for(args)
    if args.json:
        print_json_lines(row_document(row, files) for row in rows)
    else:
        show_rows(f"Rows of {name}", rows, files, console)
    return 0


async def _read(args: Namespace) -> tuple[str, list[CampaignRow], Files]:
    chosen = parse_selection(args.select)
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        rows = await ledger.read(partial(rows_of, campaign_id=campaign.id))
        files = await ledger.read(partial(deliveries_of, campaign_id=campaign.id))
    rows = [row for row in rows if chosen(row, row.asked(), row.state)]
    return campaign.name, rows, files


def show_rows(title: str, rows: Sequence[CampaignRow], files: Files, console: Console) -> None:
    """Show the one table of a run: row, state, credits, seconds, where the film is or why not."""
    columns = ("row", "state", "credits", "seconds", "film, or why there is none")
    made = table(title, columns, numbers=("credits", "seconds"))
    for row in rows:
        last = _film(row, files) if row.state == "delivered" else row.reason or "-"
        made.add_row(
            plain(row.row), state_text(row.state), _credits(row), _seconds(row), plain(last)
        )
    console.print(made)


def _film(row: CampaignRow, files: Files) -> str:
    """Return where the film is; below the current folder, as people would type it."""
    found = files.get(row.take.id, ()) if row.take else ()
    uri = next((file.uri for file in found if file.kind == "mp4"), "-")
    here = f"{Path.cwd()}/"
    return uri.removeprefix(here)


def _credits(row: CampaignRow) -> str:
    take = row.take
    if take is None:
        return "-"
    if take.charged is not None:
        return as_text(take.charged)
    return f"({as_text(take.reserved)})" if take.reserved else "-"


def _seconds(row: CampaignRow) -> str:
    """Return how long the take took, from intent to delivery."""
    take = row.take
    if take is None or take.delivered_at is None:
        return "-"
    return f"{take.delivered_at - take.intended_at:.1f}"
