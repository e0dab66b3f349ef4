"""`callsheet rows`: a line for every row of a campaign."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Generator, Mapping
from contextlib import closing

from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.tables import show_rows
from callsheet.deployments.terminal import console_for, print_json_lines
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.ledger.row_filter import ReviewFilter, RowFilter
from callsheet.tasks.ledger.row_views import ShownRow, stream

#: What is said of the row's newest video; of a row without one nothing is to be decided.
_REVIEWS: Mapping[str, ReviewFilter] = {"kept": "keep", "rejected": "reject", "none": "none"}


def main(args: Namespace) -> int:
    """Show rows, or print them as JSON lines."""
    run_command(_tell(args))
    return 0


async def _tell(args: Namespace) -> None:
    which = RowFilter.parse(args.select)
    which &= RowFilter.of(state=args.state, review=_REVIEWS.get(args.review))
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign)
        await at.read(check_chosen, campaign=campaign, which=which)
        await at.read(lambda found: _show(campaign.name, stream(found, campaign.id, which), args))


def _show(name: str, found: Generator[ShownRow, None, None], args: Namespace) -> None:
    # Whoever reads may leave before the end.
    with closing(found) as rows:
        if args.json:
            # As they are read: there may be a hundred thousand.
            print_json_lines(row.document for row in rows)
        else:
            show_rows(f"Rows of {name}", list(rows), console_for(args))
