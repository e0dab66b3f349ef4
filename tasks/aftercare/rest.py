"""The rest of a run that somebody stopped before its end: cancelled where that was asked for, and
said in words where it goes on without the run.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.run import Run
from callsheet.tasks.credits import in_credits
from callsheet.tasks.ledger import UNDER_WAY, Campaign, State, ask_to_cancel, rows_of, tally_of
from callsheet.tasks.plural import count
from callsheet.tasks.suggest import suggest

#: What a run would begin by itself, and what it has begun that can still be cancelled.
UNBEGUN: frozenset[State] = frozenset({"approved", "held"})
BEGUN: frozenset[State] = frozenset({"submitting", "rendering", "stalled"})


async def cancel_rest(run: Run, *, begun: bool) -> int:
    """Cancel what a run was to make and has not begun; return how many rows that was.

    With `begun` the takes that are under way are marked to be cancelled, too.
    """
    assert run.campaign is not None
    states = UNBEGUN | (BEGUN if begun else frozenset())
    names = {row.row for row in await run.rows() if row.state in states}
    ask = partial(ask_to_cancel, campaign=run.campaign, only=names, begun=begun)
    await run.at.ledger.write(partial(ask, at=run.at.clock()))
    return sum(row.state == "cancelled" for row in await run.named([*names]))


async def cancel_approved(run: Run) -> int | None:
    """Cancel what a run had approved before it began anything; None where that is nothing.

    What was approved before it, by another run, stays so.
    """
    if run.campaign is None:
        return None
    own = run.only or {row for row, state in run.before.items() if state != "approved"}
    change = partial(_cancel_approved, campaign=run.campaign, own=own, at=run.at.clock())
    return await run.at.ledger.write(change) or None


def _cancel_approved(
    connection: Connection, campaign: Campaign, own: Collection[str], *, at: float
) -> int:
    # Read in its turn of the writer: an approval that was under way is in the ledger by then.
    found = rows_of(connection, campaign.id)
    names = {row.row for row in found if row.state == "approved" and row.row in own}
    ask_to_cancel(connection, campaign, only=names, at=at, begun=False)
    return len(names)


async def words_of_rest(run: Run, cancelled: int | None = None) -> str:
    """Say what goes on of a run's campaign though the run does not, and what ends that.

    `cancelled` is how many rows were, where somebody asked for it.
    """
    if run.campaign is None:
        return "nothing was started"
    tally = await run.at.ledger.read(partial(tally_of, campaign=run.campaign))
    videos = sum(tally.rows.get(state, 0) for state in UNDER_WAY)
    said = [] if cancelled is None else [f"{count(cancelled, 'row')} not started will not be made"]
    if not videos:
        return "; ".join([*said, "no video is under way"])
    keep = f"{count(videos, 'video')} {'keeps' if videos == 1 else 'keep'} rendering"
    release = suggest("cancel", run.campaign.name)
    them = "it" if videos == 1 else "them"
    said.append(f"{keep}, {in_credits(tally.reserved)} reserved: `{release}` releases {them}")
    return "; ".join(said)
