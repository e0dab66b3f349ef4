"""How far a run is, on its page in Prefect while it lasts."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from uuid import UUID

from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact

from callsheet.flows.shown.artifacts import out_of_the_way
from callsheet.tasks.engine.progress import Snapshot

#: Seconds between two updates of the progress artifact, at least.
PACE = 1.0


class ProgressArtifact:
    """Follows snapshots, at most one update a second, never holding up the run."""

    def __init__(self) -> None:
        # It is heard by tasks that are not the flow's.
        self._flow = copy_context()
        self._id: UUID | None = None
        self._latest: Snapshot | None = None
        self._task: asyncio.Task[None] | None = None

    def hear(self, snapshot: Snapshot) -> None:
        """Take a snapshot; the newest one is sent when the last sending is done."""
        self._latest = snapshot
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send(pause=PACE), context=self._flow)

    async def settle(self) -> None:
        """Send the last snapshot."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._latest is not None:
            await self._send(pause=0)

    async def _send(self, *, pause: float) -> None:
        await self._put()
        await asyncio.sleep(pause)

    @out_of_the_way
    async def _put(self) -> None:
        snapshot = self._latest
        assert snapshot is not None
        done = percent_delivered(snapshot)
        words = ", ".join(f"{count} {state}" for state, count in snapshot.rows.items())
        if self._id is None:
            made = await acreate_progress_artifact(progress=done, description=words)
            self._id = made if isinstance(made, UUID) else None
        else:
            await aupdate_progress_artifact(self._id, progress=done, description=words)


def percent_delivered(snapshot: Snapshot) -> float:
    """Return how much of a campaign is delivered, of what is wanted: rows that failed are not."""
    unwanted = snapshot.rows.get("retired", 0) + snapshot.rows.get("cancelled", 0)
    wanted = snapshot.total - unwanted
    return 100.0 * snapshot.rows.get("delivered", 0) / wanted if wanted > 0 else 0.0
