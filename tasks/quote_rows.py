"""Prefect task: ask what the rows would cost.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only
ids pass through Prefect, and nothing is cached: doing it again is decided by the ledger.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from callsheet.tasks.campaign.steps import quote_step
from callsheet.tasks.take_step import take_step


@task(
    name="quote-rows",
    task_run_name="quote {campaign}",
    tags=["callsheet"],
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=0,
)
async def quote_rows(campaign: str) -> None:
    """Ask what the rows would cost."""
    return await take_step(quote_step, campaign)
