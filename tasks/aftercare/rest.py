"""The rest of a run that somebody stopped before its end: cancelled where that was asked for, and
said in words where it goes on without the run.
"""

from __future__ import annotations

from functools import partial

from tasks.campaign.run import Run
from tasks.credits import in_credits
from tasks.ledger import UNDER_WAY, State, ask_to_cancel, tally_of
from tasks.plural import count
from tasks.suggest import suggest

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


async def words_of_rest(run: Run, cancelled: int | None = None) -> str:
    """Say what goes on of a run's campaign though the run does not, and what ends that.

    `cancelled` is how many rows were, where somebody asked for it.
    """
    if run.campaign is None:
        return "nothing was begun"
    tally = await run.at.ledger.read(partial(tally_of, campaign=run.campaign))
    films = sum(tally.rows.get(state, 0) for state in UNDER_WAY)
    said = [] if cancelled is None else [f"{count(cancelled, 'row')} not begun will not be made"]
    if not films:
        return "; ".join([*said, "no film is under way"])
    keep = f"{count(films, 'film')} {'keeps' if films == 1 else 'keep'} rendering"
    release = suggest("cancel", run.campaign.name)
    them = "it" if films == 1 else "them"
    said.append(f"{keep}, {in_credits(tally.reserved)} set aside: `{release}` releases {them}")
    return "; ".join(said)
