"""The steps of a run as Prefect's tasks."""

from __future__ import annotations

from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State
from prefect.exceptions import CancelledRun

from callsheet.flows.pipeline import Steps
from callsheet.flows.shown import table_of_rows
from callsheet.tasks.plan_rows import plan_rows
from callsheet.tasks.produce_rows import produce_rows
from callsheet.tasks.quote_rows import quote_rows
from callsheet.tasks.read_sheet import read_sheet
from callsheet.tasks.report_campaign import report_campaign


async def produce(campaign: str, shard: int, label: str) -> Any:
    """Carry a shard as a task run that ends as its rows did; return how many are in each state."""
    state = await _taken(produce_rows, campaign, shard, label, table_of_rows(campaign))
    return await _result(state)


def step_of(task: Task[..., Any]) -> Any:
    """Return a step that is taken as a task run, which may end in a state of its own."""

    async def step(*ids: str | int) -> Any:
        return await _result(await _taken(task, *ids))

    return step


async def _taken(task: Task[..., Any], *ids: str | int | None) -> State[Any]:
    state: State[Any] = await task(*ids, return_state=True)
    return state


async def _result(state: State[Any]) -> Any:
    """Return what a step came to, whatever became of rows; raise what kept it from being taken."""
    found = await state.aresult(raise_on_failure=False)
    if isinstance(found, BaseException):
        raise found
    if state.is_cancelled() and found is None:
        # It was left in the middle: nothing may follow.
        raise CancelledRun(state.message)
    return found


AS_TASKS = Steps(
    step_of(read_sheet),
    step_of(plan_rows),
    step_of(quote_rows),
    produce,
    step_of(report_campaign),
)
