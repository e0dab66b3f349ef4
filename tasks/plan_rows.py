"""Prefect task: take the sheet's rows into the ledger.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only
ids pass through Prefect, and nothing is cached: doing it again is decided by the ledger.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from callsheet.tasks.campaign.steps import plan_step
from callsheet.tasks.take_step import take_step


@task(
    name="plan-rows",
    task_run_name="plan {campaign}",
    tags=["callsheet"],
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=0,
)
async def plan_rows(campaign: str) -> None:
    """Take the sheet's rows into the ledger."""
    return await take_step(plan_step, campaign)
