"""Rows that were begun: they are finished, and nothing else is begun or paid for."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from callsheet.tasks.campaign.approve import Verb
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import campaign_asked, line_of, plan_of_rows
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.values import UNDER_WAY, rows_of


def plan_under_way(
    connection: Connection,
    ask: RunOptions,
    *,
    make: bool = True,
    approved: bool = False,
    gone: Collection[str] = (),
) -> Plan:
    """Plan to finish the rows of a campaign that are under way.

    With `approved` also to begin what was approved before, but for rows that are `gone`.
    """
    campaign = campaign_asked(connection, ask)
    rows = (
        row
        for row in rows_of(connection, campaign.id)
        if row.state in UNDER_WAY or (approved and row.state == "approved" and row.row not in gone)
    )
    return plan_of_rows(connection, campaign, (line_of(row, "fetch") for row in rows), ask)


RESUME = Verb("run", plan_under_way, {})
