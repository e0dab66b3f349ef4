"""`callsheet cancel`: rows, or a whole campaign, are not to be made any more."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from callsheet.deployments.at import At
from callsheet.deployments.commands.options import sandbox_for
from callsheet.deployments.commands.reading import campaign_and_words, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import consent, plain, state_text, table, tell
from callsheet.tasks.aftercare.cancel import (
    LIVE,
    Ending,
    cancel,
    endings,
    exit_status,
    finish,
    plan_cancel,
    released,
    say_states,
)
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import CreditPrice, in_table
from callsheet.tasks.values.answers import Credits

RowId = Annotated[str, Field(min_length=1, max_length=200)]
Rows = Annotated[
    list[RowId] | None, Field(min_length=1, max_length=100_000, description="these rows")
]
Select = Annotated[
    str | None,
    Field(min_length=1, max_length=4000, description="rows by `tag:x`, `language:en` or ids"),
]


class CancelledRow(BaseModel):
    """A row, its state before (`from`) and now, the credits that it let go of, and why."""

    model_config = ConfigDict(serialize_by_alias=True)

    row: str
    before: str = Field(alias="from")
    to: str
    credits: Credits
    words: str


class ReleasedCredits(BaseModel):
    """The credits that were let go of."""

    released: Credits


class Cancelled(BaseModel):
    """What came of the rows: how many were to be cancelled, and how many are already."""

    campaign: str
    rows: list[CancelledRow]
    credits: ReleasedCredits
    asked: int
    cancelled: int
    released: Credits
    exit: int


async def cancel_rows(
    at: At, campaign: str | None = None, rows: Rows = None, select: Select = None
) -> Cancelled:
    """Cancel rows: those that have not started at once, those in progress as soon as possible.

    Neither names nor a selection: all that is left of the campaign.
    """
    known = await at.campaign(campaign)
    ask = RunOptions.of({"campaign": known.name, "rows": rows, "select": select})
    plan = await at.write(cancel, ask=ask, by=at.by, at=at.clock())
    found = await at.read(endings, plan=plan)
    if not found and not ask.is_whole:
        raise BadInput("no row of the campaign is chosen; nothing was cancelled")
    if any(one.waits for one in found):
        await at.finish(finish(at.ledger, at.settings, plan, clock=at.clock))
        found = await at.read(endings, plan=plan)
    freed = released(found)
    return Cancelled(
        campaign=known.name,
        rows=[_row(one) for one in found],
        credits=ReleasedCredits(released=freed),
        asked=sum(one.was in LIVE for one in found),
        cancelled=sum(one.was != one.now for one in found),
        released=freed,
        exit=exit_status(found),
    )


def _row(one: Ending) -> CancelledRow:
    said = {"row": one.row, "from": one.was, "to": one.now, "credits": one.released}
    return CancelledRow.model_validate({**said, "words": one.why})


def main(args: Namespace) -> int:
    """Ask, cancel, and say for every row what was released, or why it could not be."""
    with sandbox_for(args):
        found, price = run_command(_main(args))
        return tell(args, found, partial(_show, price=price))


async def _main(args: Namespace) -> tuple[Cancelled, CreditPrice | None]:
    async with reading(args) as at:
        campaign, named = await campaign_and_words(args, at)
        rows, select = named or None, args.select
        ask = RunOptions.of({"campaign": campaign.name, "rows": rows, "select": select})
        plan = await at.read(plan_cancel, ask=ask)
        # A run that is at work may be about to approve what is not in the ledger yet.
        if plan.named("cancel") or (ask.is_whole and campaign.lease):
            await _ask(args, plan, whole=ask.is_whole)
        if not ask.is_whole:
            # The rows that were shown, whatever a selection would choose by now.
            rows, select = plan.named("cancel", "none"), None
        found = await cancel_rows(at, campaign.name, rows, select)
        return found, at.settings.credit_price


async def _ask(args: Namespace, plan: Plan, *, whole: bool) -> None:
    counts = Counter(str(line.state) for line in plan.lines if line.action == "cancel")
    states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no rows yet"
    what = f"campaign {plan.campaign}" if whole else f"rows of {plan.campaign}"
    await consent(args, f"Cancel {what}: {states}?", what=f"to cancel {what} is")


def _show(found: Cancelled, console: Console, *, price: CreditPrice | None) -> None:
    told = LIVE | {"ready", "uncertain"}
    touched = [one for one in found.rows if one.before != one.to or one.before in told]
    if not touched:
        console.print("nothing to cancel")
        return
    columns = ("row", "was", "is", "released", "why")
    made = table(f"Cancelled in {plain(found.campaign)}", columns, numbers=("released",))
    for one in touched:
        cells = (state_text(one.before), state_text(one.to), in_table(one.credits, price))
        made.add_row(plain(one.row), *cells, plain(one.words))
    console.print(made)
    console.print(say_states([one.to for one in touched], found.released))
