"""Prefect task: write manifest and status sheet into the store.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only
ids pass through Prefect, and nothing is cached: doing it again is decided by the ledger.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from callsheet.tasks.campaign.steps import report_step
from callsheet.tasks.take_step import take_step


@task(
    name="report-campaign",
    task_run_name="report {campaign}",
    tags=["callsheet"],
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=0,
)
async def report_campaign(campaign: str) -> None:
    """Write manifest and status sheet into the store."""
    return await take_step(report_step, campaign)
