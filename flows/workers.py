"""Distributed runs as Prefect flows: one worker, and the start of several.

A worker gets the number of the distributed run and finds everything else in the ledger. If it
dies, another worker processes its rows: nothing depends on Prefect noticing.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect import get_client, get_run_logger
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import State, StateType
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Completed, Scheduled

from callsheet.flows.endings import callsheet_flow, park
from callsheet.flows.flow_runs import set_up_flow
from callsheet.flows.interruption import WORDS
from callsheet.flows.watch import TROUBLE, FlowWatch
from callsheet.tasks.campaign.worker import Worker, WorkerReport
from callsheet.tasks.campaign.workers import WorkersAtWork
from callsheet.tasks.engine.context import connect
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError


@callsheet_flow(
    "worker",
    "One of several workers of a distributed run; the run starts it.",
    "worker {worker} of {production}",
)
async def carry_batches(
    production: str, worker: int, profile: str | None = None
) -> State[dict[str, Any]]:
    """Process batches of a campaign's rows until none are left.

    Args:
        production: the number of the distributed run.
        worker: which of them this is, from 1.
        profile: settings from a TOML profile.
    """
    async with connect(set_up_flow(profile, door="worker")) as at:
        work = Worker(at, production, worker)
        watch = FlowWatch(lambda kind: work.leave(WORDS[kind]))
        with watch.listening():
            report = await work.process()
    words = _words(report)
    if report.left_because:
        get_run_logger().warning(words)
    if watch.kind == "stopped":
        # Another Prefect worker takes over if rows are left.
        return await park(words, datetime.now(UTC), at_once=True)
    if watch.kind is not None:
        return Cancelled(message=words)
    return Completed(message=words, data=report.as_json())


def _words(report: WorkerReport) -> str:
    rows = ", ".join(f"{count} {state}" for state, count in report.rows.items())
    words = f"{report.batches} batches: {rows or 'no rows'}"
    return f"{words}; stopped early: {report.left_because}" if report.left_because else words


# Starts the workers of a run as flow runs of a deployment, on the machines of its work pool.
#
# Each has an idempotency key, so that none is started twice. The ledger has their progress; Prefect
# is asked only whether any are left.


log = logging.getLogger("callsheet.run")

#: The flow and the deployment in `prefect.yaml`.
DEPLOYMENT = "worker/worker"
_WAITING = {StateType.SCHEDULED, StateType.PENDING}
#: Seconds until a worker runs after a Prefect worker accepted it: an image is pulled, a machine
#: starts. After that the Prefect worker is considered gone.
TAKEN_UP = 900.0


async def worker_runs(profile: str | None) -> WorkerRuns:
    """Return what starts workers; raise ConfigurationError if it cannot."""
    try:
        async with get_client() as client:
            if (await client.read_deployment_by_name(DEPLOYMENT)).work_pool_name is not None:
                return WorkerRuns(profile)
        lacks = f"Prefect's deployment {DEPLOYMENT} has no work pool"
    except ObjectNotFound:
        lacks = f"the Prefect server has no deployment {DEPLOYMENT}"
    except TROUBLE as error:
        raise ConfigurationError(
            f"--workers needs a Prefect server, and none answers ({error!r}); nothing was spent",
            remedy="set PREFECT_API_URL, or start `callsheet up`",
        ) from None
    raise ConfigurationError(f"{lacks}; nothing was spent", remedy=_DEPLOY)


class WorkerRuns:
    """The workers of one run; `profile` has their settings.

    `taken_up` is the time limit of a Prefect worker to start one, in seconds.
    """

    def __init__(self, profile: str | None, *, taken_up: float = TAKEN_UP) -> None:
        self._profile = profile
        self._taken_up = taken_up
        self._runs: set[UUID] = set()

    async def start(self, production: str, number: int, turn: int) -> None:
        """Start a worker; raise CallsheetError if Prefect refuses it."""
        try:
            made = await arun_deployment(
                DEPLOYMENT,
                parameters={"production": production, "worker": number, "profile": self._profile},
                timeout=0,
                idempotency_key=f"callsheet {production} {number} {turn}",
                tags=["callsheet"],
            )
        except TROUBLE as error:
            raise CallsheetError(
                f"worker {number} could not be started: {error!r}",
                remedy="run the same command again: it continues what is approved",
            ) from error
        self._runs.add(made.id)

    async def at_work(self) -> WorkersAtWork | None:
        """Return how many workers wait for a Prefect worker, and how many run according to Prefect.

        A Prefect worker may have accepted one without starting it, because the server was
        unavailable: then another one is asked.
        """
        waits = list[bool]()
        with suppress(*TROUBLE):
            async with get_client() as client:
                async for run, state in self._states(client):
                    if self._is_stuck(state):
                        again: State[None] = Scheduled(name="AwaitingRetry", message=_STUCK)
                        await client.set_flow_run_state(run, again, force=True)
                    waits.append(state.type in _WAITING)
            return WorkersAtWork(waiting=sum(waits), running=len(waits) - sum(waits))
        return None

    async def end(self) -> None:
        """Cancel workers that no Prefect worker has accepted: no rows are left for them."""
        with suppress(*TROUBLE):
            async with get_client() as client:
                async for run, state in self._states(client):
                    if state.type in _WAITING:
                        over: State[None] = Cancelled(message="its run is over")
                        await client.set_flow_run_state(run, over, force=True)

    async def _states(self, client: PrefectClient) -> AsyncIterator[tuple[UUID, State[Any]]]:
        """Yield the workers that are not over, with their states."""
        for run in self._runs:
            state = (await client.read_flow_run(run)).state
            if state is not None and not state.is_final():
                yield run, state

    def _is_stuck(self, state: State[Any]) -> bool:
        since = (datetime.now(UTC) - state.timestamp).total_seconds()
        return state.type == StateType.PENDING and since >= self._taken_up


_STUCK = "a Prefect worker accepted it and did not start it; it waits again"
_DEPLOY = "deploy what is in `prefect.yaml` (docs/deployments.md); `callsheet up` does so by itself"
