"""The steps of a run as Prefect's tasks."""

from __future__ import annotations

from typing import Any

from prefect.client.schemas.objects import State

from flows.pipeline import Steps
from flows.shown import link_rows
from tasks.plan_rows import plan_rows
from tasks.produce_rows import produce_rows
from tasks.quote_rows import quote_rows
from tasks.read_sheet import read_sheet
from tasks.report_campaign import report_campaign


async def produce(campaign: str, shard: int, label: str) -> Any:
    """Carry a shard as a task run that ends as its rows did; return how many are in each state.

    What became of rows is no failure of the step; what broke it is raised.
    """
    # Prefect's own types take it for a plain function here.
    state: State[Any] = await produce_rows(campaign, shard, label, return_state=True)  # type: ignore[misc]
    link_rows(state, campaign, label)
    found = await state.aresult(raise_on_failure=False)
    if isinstance(found, BaseException):
        raise found
    return found


AS_TASKS = Steps(read_sheet, plan_rows, quote_rows, produce, report_campaign)
