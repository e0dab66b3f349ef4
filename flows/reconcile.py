"""Compares the ledger with the service on a schedule, and only reports.

The comparison is `plan_repairs`. To change anything, use
`callsheet reconcile --apply`.
"""

from __future__ import annotations

import time
from typing import Any

from prefect.client.schemas.objects import State

from callsheet.flows.endings import callsheet_flow, ending
from callsheet.flows.flow_runs import set_up_flow
from callsheet.flows.shown.artifacts import LINES, put_table
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.aftercare.findings import DIFFERENCE
from callsheet.tasks.aftercare.repairs import plan_repairs
from callsheet.tasks.campaign.propose import campaign_named
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger.ledger import open_ledger


@callsheet_flow("reconcile", "Compares the service with the ledger.")
async def reconcile_ledger(
    campaign: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Compare the ledger with the service.

    Args:
        campaign: only this one; the default is every campaign of the ledger.
        profile: settings from a TOML profile.
    """
    settings = set_up_flow(profile)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        only = None
        if campaign is not None:
            only = await ledger.read(campaign_named, name=campaign)
        async with await open_service(settings, ledger, time.time) as service:
            found = await plan_repairs(ledger, settings, only, service=service)
    shown = [one.as_json(DIFFERENCE) for one in found.findings[:LINES]]
    words = "Ledger and service differ here"
    await put_table(PAGE, "callsheet-differences", shown, words=words)
    told = found.kinds or "nothing differs"
    return ending(found.exit_status, told, found.as_differences())
