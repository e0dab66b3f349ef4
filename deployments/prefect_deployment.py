"""Runs of approved plans as flow runs of Prefect's, where its server has a deployment for them.

Speaks to the server's own interface; imports nothing of Prefect.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from urllib.error import HTTPError
from urllib.parse import quote

from callsheet.deployments.prefect_address import REFUSALS, TROUBLE, prefect_address
from callsheet.tasks.ledger.runs import RunRow
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.runtime.redact import redact

log = logging.getLogger("callsheet.board")

#: The flow and the deployment in `prefect.yaml`.
FLOW, DEPLOYMENT = "approved plan", "approved-plan"
_PLACE = "prefect:"
#: How long is gone by what was found of a deployment, or of a flow run, in seconds.
AGE = 15.0
#: States of a flow run that is over.
OVER = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
#: States of a flow run that has not started: no process renews the run's lease yet.
WAITING = ("SCHEDULED", "PENDING")


@dataclass(frozen=True, kw_only=True)
class FlowRunState:
    """What Prefect says of a flow run: how it ended, for people, or whether it has not started."""

    ended: str | None = None
    waits: bool = False


class FlowRuns:
    """Starts flow runs where a server, a deployment and its work pool are there, and asks of them.

    `profile` is the one whose settings the flow runs read.
    """

    def __init__(self, profile: str | None) -> None:
        self._profile = profile
        self._asked: dict[str, float] = {}

    @staticmethod
    def is_one(place: str) -> bool:
        """Whether a run's place is a flow run."""
        return place.startswith(_PLACE)

    async def start(self, run: RunRow) -> str | None:
        """Start a flow run and return its place; None where there is nothing for that.

        Asked again for the same turn of a run, Prefect returns the same flow run.
        """
        at = prefect_address()
        if at is None:
            return None
        turn = run.asked_at if run.due_at is None else run.due_at
        # Once more for each place that had the run: one that is gone is not returned again.
        turn_key = f"{turn} {run.token}" if run.token else f"{turn}"
        asked = {
            "parameters": {"run": run.id, "profile": self._profile},
            "idempotency_key": f"callsheet {run.id} {turn_key}",
            "tags": ["callsheet"],
        }
        try:
            named = f"deployments/name/{quote(FLOW)}/{DEPLOYMENT}"
            found = await asyncio.to_thread(at.ask, named)
            if not found.get("work_pool_name"):
                return None
            path = f"deployments/{found['id']}/create_flow_run"
            made = await asyncio.to_thread(at.ask, path, asked)
            return f"{_PLACE}{made['id']}"
        except (*TROUBLE, KeyError) as error:
            status = error.code if isinstance(error, HTTPError) else None
            if status in REFUSALS:
                log.warning("%s: a run starts without it", at.refusal())
            elif status != 404:
                log.warning("Prefect does not take a run, which starts without it: %s", error)
            return None

    async def state_of(self, place: str) -> FlowRunState | None:
        """Return what Prefect says of a flow run; None where it was asked a moment ago.

        A server that does not answer says nothing of it (`FlowRunState()`).
        """
        now = time.monotonic()
        if now - self._asked.get(place, -AGE) < AGE:
            return None
        self._asked[place] = now
        at = prefect_address()
        if at is None:
            return FlowRunState()
        try:
            found = await asyncio.to_thread(at.ask, f"flow_runs/{place.removeprefix(_PLACE)}")
        except TROUBLE:
            return FlowRunState()
        told = found.get("state") or {}
        kind = told.get("type")
        if kind in OVER:
            words = f"Prefect says of its flow run: {told.get('name') or kind}"
            why = redact(shorten(str(told.get("message") or ""), 600))
            return FlowRunState(ended=f"{words}: {why}" if why else words)
        return FlowRunState(waits=kind in WAITING)
