"""What a flow run has approved, so that it approves nothing more however often it begins anew.

Prefect begins a run anew after a crash, a pause, or a moment that was waited for, and its count of
that leaves out what was resumed. So the ledger notes with an approval which run it was.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.errors import SpendRefused
from callsheet.tasks.ledger import UNDER_WAY, Campaign, Ledger, rows_of
from callsheet.tasks.ledger.acts import has_acted, note_act

ACT = "approve"


async def has_approved(ledger: Ledger, campaign: Campaign, *, run: str) -> bool:
    """Whether a flow run, by its id, has approved what it was started for."""
    query = partial(has_acted, act=ACT, by=_name(run), campaign=campaign.name)
    return await ledger.read(query)


async def begun_rows(ledger: Ledger, campaign: Campaign) -> list[str]:
    """Return the rows of a campaign that are approved or under way, in sheet order."""
    found = await ledger.read(partial(rows_of, campaign_id=campaign.id))
    return [row.row for row in found if row.state in UNDER_WAY | {"approved"}]


def approve_once(
    connection: Connection, campaign: Campaign, *, run: str, rows: int, words: str, at: float
) -> None:
    """Note that a flow run approves so many rows; raise SpendRefused where it has approved before.

    In the transaction of the approval, once it has the campaign: another process of the same run
    waits for its end.
    """
    by = _name(run)
    if has_acted(connection, act=ACT, by=by, campaign=campaign.name):
        raise SpendRefused(f"{by} has approved what it was started for; nothing more was spent")
    note_act(connection, at=at, by=by, act=ACT, campaign=campaign.name, rows=rows, words=words)


def _name(run: str) -> str:
    return f"flow run {run}"
