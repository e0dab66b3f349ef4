"""Prefect task: carry one shard of the rows until each rests; return how many rest in each state.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only
ids pass through Prefect, and nothing is cached: doing it again is decided by the ledger.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.campaign.run import take_or_follow
from tasks.campaign.steps import produce_step
from tasks.ledger import State


@task(
    name="produce-rows",
    task_run_name="{label}",
    tags=["callsheet"],
    cache_policy=NO_CACHE,
    persist_result=False,
)
async def produce_rows(campaign: str, shard: int, label: str) -> dict[State, int]:
    """Carry one shard of the rows until each rests; return how many rest in each state."""
    return await take_or_follow(produce_step, campaign, shard, label)
