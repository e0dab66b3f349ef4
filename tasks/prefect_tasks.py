"""The steps of a run as Prefect tasks.

Thin on purpose: what is done is in `tasks.campaign`, what has happened is in the ledger. Only ids
pass through Prefect, and nothing is cached: the ledger decides what is left to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import CancelledRun

from callsheet.tasks.campaign.run import current_run
from callsheet.tasks.campaign.shown_states import (
    PRODUCE,
    ShownState,
    state_of_error,
    state_of_shard,
)
from callsheet.tasks.runtime.errors import CallsheetError


@cache
def as_task(key: str, step: Callable[..., Awaitable[Any]]) -> Task[..., Any]:
    """Return a step as a task, which is called with its name, the ids, and the rows' address.

    It ends as the run does: not with a crash where a person cancelled or paused the run, and
    without a traceback where an error says what is wrong. Whoever calls it gets that error.
    Prefect keeps nothing of it and does nothing again.
    """

    # It finds the run by itself, because Prefect looks through every argument.
    @task(
        name=key,
        task_run_name="{label}",
        tags=["callsheet"],
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=0,
    )
    async def take(label: str, ids: tuple[str | int, ...], table: str | None = None) -> Any:
        run = current_run()
        try:
            result = await step(run, *ids)
        except CallsheetError as error:
            return _as_prefect(state_of_error(error, run), error)
        except asyncio.CancelledError as error:
            if run.interrupted is None:
                raise
            # Nothing may follow.
            return _as_prefect(state_of_error(error, run), CancelledRun(run.interrupted))
        if key != PRODUCE:
            return result
        return _as_prefect(await state_of_shard(run, result, label, table), dict(result))

    return take


def _as_prefect(shown: ShownState, data: Any) -> State[Any]:
    return State(type=StateType[shown.type], name=shown.name, message=shown.message, data=data)
