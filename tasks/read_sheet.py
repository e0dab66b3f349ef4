"""Prefect task: read the campaign's sheet and return the campaign's name.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only
ids pass through Prefect, and nothing is cached: doing it again is decided by the ledger.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from callsheet.tasks.campaign.steps import read_step
from callsheet.tasks.take_step import take_step


@task(
    name="read-sheet",
    task_run_name="read the sheet",
    tags=["callsheet"],
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=0,
)
async def read_sheet(sheet: str) -> str:
    """Read the campaign's sheet and return the campaign's name."""
    return await take_step(read_step, sheet)
