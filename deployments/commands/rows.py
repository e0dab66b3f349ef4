"""`callsheet rows`: a line for every row of a campaign."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial

from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.tables import Document, show_rows
from callsheet.deployments.terminal import console_for, print_json_lines
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.selection import parse_selection, rows_shown
from callsheet.tasks.ledger.row_selection import ReviewFilter, RowFilter
from callsheet.tasks.ledger.values import STATES, CampaignRow, State
from callsheet.tasks.runtime.errors import BadInput, did_you_mean


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
    parse_selection(args.select)
    states, review = _states(args.state), _REVIEWS[args.review] if args.review else None
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign)
        which = RowFilter(states=states, review=review)
        shown = partial(rows_shown, campaign=campaign, which=which, select=args.select)
        rows = await at.read(shown)
        known = partial(row_documents, campaign_id=campaign.id, states=states or None)
        return campaign.name, rows, await at.read(known)


#: What is said of the row's newest video; of a row without one nothing is to be decided.
_REVIEWS: Mapping[str, ReviewFilter] = {"kept": "keep", "rejected": "reject", "none": "none"}


#: What is said of a state that is none.
_STATES = f"it is one of {', '.join(STATES)}; to explain them: `callsheet help states`"


def _states(words: list[str] | None) -> list[State]:
    """Return the states that were named; raise BadInput for what is none."""
    for word in words or ():
        if word not in STATES:
            hint = did_you_mean(word, STATES)
            raise BadInput(f"--state {word} is no state{hint}", remedy=_STATES)
    return [state for state in STATES if state in (words or ())]
