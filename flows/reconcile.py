"""Compares the ledger with the service on a schedule, and only reports.

The comparison is `plan_repairs`. To change anything, use
`callsheet reconcile --apply`.
"""

from __future__ import annotations

import time
from typing import Any

from prefect import flow
from prefect.artifacts import acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from callsheet.flows.endings import ended, needs_person
from callsheet.flows.flow_runs import set_up_flow
from callsheet.tasks.aftercare.findings import DIFFERENCE, Repairs
from callsheet.tasks.aftercare.repairs import plan_repairs
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import Settings

#: Maximum differences in the artifact.
SHOWN = 1000


@flow(
    name="reconcile",
    retries=0,
    description="Compares the service with the ledger.",
    persist_result=False,
)
async def reconcile_ledger(
    campaign: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Compare the ledger with the service.

    Args:
        campaign: only this one; the default is every campaign of the ledger.
        profile: settings from a TOML profile.
    """
    return await ended(_reconcile(campaign, profile))


async def _reconcile(campaign: str | None, profile: str | None) -> State[Any]:
    settings = set_up_flow(profile)
    found = await _compare(campaign, settings)
    shown = [one.as_json(DIFFERENCE) for one in found.findings[:SHOWN]]
    await acreate_table_artifact(
        shown, key="callsheet-differences", description="Ledger and service differ here"
    )
    if found.exit_status:
        return needs_person(found.kinds, found.as_differences())
    return Completed(message=found.kinds or "nothing differs", data=found.as_differences())


async def _compare(campaign: str | None, settings: Settings) -> Repairs:
    async with await open_ledger(settings.ledger, create=False) as ledger:
        only = None
        if campaign is not None:
            only = await ledger.read(find_campaign, name=campaign)
            if only is None:
                raise BadInput(f'there is no campaign "{campaign}" in the ledger')
        async with await open_service(settings, ledger, time.time) as service:
            return await plan_repairs(ledger, settings, only, service=service)
