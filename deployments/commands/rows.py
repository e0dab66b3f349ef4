"""`callsheet rows`: a line for every row of a campaign."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.tables import Document, show_rows
from callsheet.deployments.terminal import console_for, print_json_lines
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.selection import choose_rows, parse_selection
from callsheet.tasks.ledger.values import STATES, CampaignRow, State, rows_of
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
    states = _states(args.state)
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        # A selection is checked against all rows.
        read = None if args.select else states
        known = await ledger.read(rows_of, campaign_id=campaign.id, states=read)
        document = await ledger.read(row_documents, campaign_id=campaign.id, states=states)
    rows = [
        row for row in choose_rows(known, None, args.select) if not states or row.state in states
    ]
    if args.review:
        wanted = _REVIEWS[args.review]
        rows = [row for row in rows if wanted(document(row))]
    return campaign.name, rows, document


#: What is said of the row's newest video; of a row without one nothing is to be decided.
_REVIEWS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "kept": lambda line: line["review"] == "keep",
    "rejected": lambda line: line["review"] == "reject",
    "none": lambda line: line["video_take"] is not None and line["review"] is None,
}


#: What is said of a state that is none.
_STATES = f"it is one of {', '.join(STATES)}; to explain them: `callsheet help states`"


def _states(words: list[str] | None) -> list[State] | None:
    """Return the states that were named, None for all; raise BadInput for what is none."""
    for word in words or ():
        if word not in STATES:
            hint = did_you_mean(word, STATES)
            raise BadInput(f"--state {word} is no state{hint}", remedy=_STATES)
    return [state for state in STATES if state in words] if words else None
