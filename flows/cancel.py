"""Cancels rows as a Prefect flow, including videos that are rendering, and releases their credits.

The same steps as `callsheet cancel`. The flow does not ask: starting it is the confirmation.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from callsheet.flows.endings import ended, needs_person
from callsheet.flows.flow_runs import set_up_prefect_logs
from callsheet.tasks.aftercare.cancel import Ending, endings, execute, exit_status, needs_service
from callsheet.tasks.campaign.selection import choose_rows
from callsheet.tasks.campaign.shown_states import NAMES
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.runtime.suggest import suggest_for
from callsheet.tasks.values.amounts import as_number, in_credits

#: Maximum rows in the artifact.
SHOWN = 1000


@flow(
    name="cancel",
    description="Rows that are not made yet are cancelled; reserved credits are released.",
    flow_run_name="cancel {campaign}",
    retries=0,
    persist_result=False,
)
async def cancel_campaign(
    campaign: str, select: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Cancel a campaign or some of its rows, including videos that are rendering.

    Args:
        campaign: whose rows.
        select: only these rows, as `tag:launch,language:en|de`.
        profile: settings from a TOML profile.
    """
    return await ended(_cancel(campaign, select, profile))


async def _cancel(name: str, select: str | None, profile: str | None) -> State[Any]:
    set_up_prefect_logs()
    suggest_for(profile, flow=True)
    settings = load_settings(profile=profile)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        campaign = await ledger.read(find_campaign, name=name)
        if campaign is None:
            raise BadInput(f'there is no campaign "{name}" in the ledger')
        chosen = await _choose(ledger, campaign, select)
        before = await ledger.write(ask_to_cancel, campaign=campaign, only=chosen, at=time.time())
        names = {row.row for row in before}
        after = await _rows(ledger, campaign, names)
    if needs_service(after):
        async with connect(settings) as at:
            await execute(at, campaign, names)
            after = await _rows(at.ledger, campaign, names)
    return await _told(campaign, endings(before, after), exit_status(after, before), settings)


async def _choose(ledger: Ledger, campaign: Campaign, select: str | None) -> set[str] | None:
    """Return the ids of the selected rows; None for the whole campaign."""
    if select is None:
        return None
    rows = await ledger.read(rows_of, campaign_id=campaign.id)
    return {row.row for row in choose_rows(rows, None, select)}


async def _rows(ledger: Ledger, campaign: Campaign, names: Collection[str]) -> list[CampaignRow]:
    found = await ledger.read(rows_of, campaign_id=campaign.id)
    return [row for row in found if row.row in names]


async def _told(
    campaign: Campaign, found: Sequence[Ending], status: int, settings: Settings
) -> State[Any]:
    """Show the result of every row and return the final state."""
    touched = [one for one in found if one.old != one.new or one.released]
    lines = [
        {
            "row": one.row,
            "was": one.old,
            "is": one.new,
            "released": as_number(one.released),
            "why": one.words,
        }
        for one in touched[:SHOWN]
    ]
    await acreate_table_artifact(
        lines, key="callsheet-cancelled", description=f"Cancelled in {campaign.name}"
    )
    released = sum((one.released for one in found), Decimal(0))
    states = Counter(one.new for one in touched)
    words = ", ".join(f"{count} {state}" for state, count in states.items()) or "nothing to cancel"
    words = f"{words}; {in_credits(released)} released"
    get_run_logger().info(words)
    document = {"campaign": campaign.name, "released": as_number(released), "exit": status}
    if status == 3:
        return needs_person(words, document)
    return Completed(name=NAMES.get(status, "Completed"), message=words, data=document)
