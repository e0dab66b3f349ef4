"""`callsheet cancel`: rows, or a whole campaign, are not to be made any more."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
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
from callsheet.tasks.aftercare.cancel import (
    LIVE,
    Ending,
    endings,
    execute,
    exit_status,
    needs_service,
)
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.values.amounts import as_number, as_text, in_credits


def main(args: Namespace) -> int:
    """Ask, cancel, and say for every row what was released, or why it could not be."""
    with sandbox_for(args):
        document = run_command(_main(args))
    if args.json:
        print_json(document)
    return int(document["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    console = console_for(args)
    async with reading(args) as ledger:
        campaign, named = await campaign_and_words(args, ledger)
        before = await chosen_rows(args, ledger, campaign, named)
        whole = not named and not args.select
        # A run that is at work may be about to approve what is not in the ledger yet.
        if any(row.state in LIVE for row in before) or (whole and campaign.lease):
            await _ask(args, campaign, before, whole=whole)
            # What someone else did while the question stood is seen by asking the ledger.
            only = None if whole else {row.row for row in before}
            before = await ledger.write(ask_to_cancel, campaign=campaign, only=only, at=time.time())
        names = {row.row for row in before}
        after = await _rows(ledger, campaign, names)
    if needs_service(after):
        async with connect(settings_of(args)) as at:
            await execute(at, campaign, names)
            after = await _rows(at.ledger, campaign, names)
    found = endings(before, after)
    _show(campaign, found, console)
    return _document(campaign, found, exit_status(after, before))


async def _ask(
    args: Namespace, campaign: Campaign, rows: Sequence[CampaignRow], *, whole: bool
) -> None:
    counts = Counter(row.state for row in rows if row.state in LIVE)
    states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no rows yet"
    what = f"campaign {campaign.name}" if whole else f"rows of {campaign.name}"
    await consent(args, f"Cancel {what}: {states}?", what=f"to cancel {what} is")


async def _rows(ledger: Ledger, campaign: Campaign, names: Collection[str]) -> list[CampaignRow]:
    found = await ledger.read(rows_of, campaign_id=campaign.id)
    return [row for row in found if row.row in names]


def _show(campaign: Campaign, found: Sequence[Ending], console: Console) -> None:
    told = LIVE | {"ready", "uncertain"}
    touched = [one for one in found if one.old != one.new or one.old in told]
    if not touched:
        console.print("nothing to cancel")
        return
    columns = ("row", "was", "is", "released", "why")
    made = table(f"Cancelled in {plain(campaign.name)}", columns, numbers=("released",))
    for one in touched:
        cells = (state_text(one.old), state_text(one.new), as_text(one.released))
        made.add_row(plain(one.row), *cells, plain(one.words))
    console.print(made)
    counts = Counter(one.new for one in touched)
    states = ", ".join(f"{count} {state}" for state, count in counts.items())
    console.print(f"{states}; {in_credits(_released(found))} released")


def _released(found: Sequence[Ending]) -> Decimal:
    return sum((one.released for one in found), Decimal(0))


def _document(campaign: Campaign, found: Sequence[Ending], status: int) -> dict[str, Any]:
    return {
        "campaign": campaign.name,
        "rows": [
            {
                "row": one.row,
                "from": one.old,
                "to": one.new,
                "credits": as_number(one.released),
                "words": one.words,
            }
            for one in found
        ],
        "credits": {"released": as_number(_released(found))},
        "exit": status,
    }
