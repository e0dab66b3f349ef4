"""Videos that are under way, carried on as a Prefect flow: for when nobody else does.

Begins nothing and pays for nothing, so that it needs neither the sheet nor an approval.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from callsheet.flows.as_tasks import AS_TASKS
from callsheet.flows.campaign import run_of
from callsheet.flows.endings import attended, end, ended
from callsheet.flows.interruption import interruptible
from callsheet.flows.pipeline import carry
from callsheet.flows.shown import publish_report, showing
from callsheet.tasks.campaign.hold import carry_only
from callsheet.tasks.errors import Parked
from callsheet.tasks.ledger import UNDER_WAY, rows_of


@flow(
    name="carry on",
    description="Delivers videos that have started; starts nothing new.",
    flow_run_name="carry on {campaign}",
    retries=0,
    persist_result=False,
)
async def carry_on(
    campaign: str, max_wait: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Carry a campaign's videos that are under way, unless a run is at work on it.

    Args:
        campaign: whose videos.
        max_wait: park the run after this long, as `2h`.
        profile: settings from a TOML profile.
    """
    return await ended(_carry_on(campaign, max_wait, profile))


async def _carry_on(campaign: str, max_wait: str | None, profile: str | None) -> State[Any]:
    async with run_of(campaign, max_wait=max_wait, profile=profile) as (run, found):
        rows = await run.at.ledger.read(partial(rows_of, campaign_id=found.id))
        await run.at.store.check()
        try:
            await carry_only(run, found, [row.row for row in rows if row.state in UNDER_WAY])
        except Parked as other:
            return attended(str(other), {"campaign": campaign})
        async with showing(run), interruptible(run):
            outcome = await carry(run, AS_TASKS, campaign)
        await publish_report(run)
    return await end(outcome, run.at.settings)
