"""`callsheet cancel`: rows, or a whole campaign, are not to be made any more."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_and_words, reading
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
    cancel,
    exit_status,
    finish,
    plan_cancel,
    released,
    say_ended,
)
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.values.amounts import as_number, as_text


def main(args: Namespace) -> int:
    """Ask, cancel, and say for every row what was released, or why it could not be."""
    with sandbox_for(args):
        document = run_command(_main(args))
    if args.json:
        print_json(document)
    return int(document["exit"])


async def _main(args: Namespace) -> dict[str, Any]:
    async with reading(args) as ledger:
        campaign, named = await campaign_and_words(args, ledger)
        ask = RunOptions(campaign=campaign.name, rows=tuple(named) or None, select=args.select)
        plan = await ledger.read(plan_cancel, ask=ask)
        # A run that is at work may be about to approve what is not in the ledger yet.
        if plan.named("cancel") or (ask.is_whole and campaign.lease):
            await _ask(args, plan, whole=ask.is_whole)
            # The rows that were shown, whatever a selection would choose by now.
            if not ask.is_whole:
                ask = ask.but(rows=tuple(plan.named("cancel", "none")), select=None)
            plan = await ledger.write(cancel, ask=ask, at=time.time())
        found = await finish(ledger, settings_of(args), plan)
    _show(plan.campaign, found, console_for(args))
    return _document(plan.campaign, found)


async def _ask(args: Namespace, plan: Plan, *, whole: bool) -> None:
    counts = Counter(str(line.state) for line in plan.lines if line.action == "cancel")
    states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no rows yet"
    what = f"campaign {plan.campaign}" if whole else f"rows of {plan.campaign}"
    await consent(args, f"Cancel {what}: {states}?", what=f"to cancel {what} is")


def _show(campaign: str, found: Sequence[Ending], console: Console) -> None:
    told = LIVE | {"ready", "uncertain"}
    touched = [one for one in found if one.was != one.now or one.was in told]
    if not touched:
        console.print("nothing to cancel")
        return
    columns = ("row", "was", "is", "released", "why")
    made = table(f"Cancelled in {plain(campaign)}", columns, numbers=("released",))
    for one in touched:
        cells = (state_text(one.was), state_text(one.now), as_text(one.released))
        made.add_row(plain(one.row), *cells, plain(one.why))
    console.print(made)
    console.print(say_ended(touched))


def _document(campaign: str, found: Sequence[Ending]) -> dict[str, Any]:
    lines = [(one.row, one.was, one.now, as_number(one.released), one.why) for one in found]
    members = ("row", "from", "to", "credits", "words")
    return {
        "campaign": campaign,
        "rows": [dict(zip(members, line, strict=True)) for line in lines],
        "credits": {"released": as_number(released(found))},
        "exit": exit_status(found),
    }
