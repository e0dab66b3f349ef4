"""What Prefect's pages show of a run: progress while it lasts, then rows, links and a summary.

A handful of artifacts however many rows there are, and no secret in any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from functools import partial
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)

from tasks.campaign.report import row_documents
from tasks.campaign.run import Run
from tasks.credits import as_text, in_credits
from tasks.engine.progress import Snapshot
from tasks.ledger import pages_of

#: Rows in the table artifact at most: what needs a person first, then the delivered ones.
TABLE_ROWS = 1000
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
        snapshot = self._latest
        assert snapshot is not None
        done = 100.0 * snapshot.done / snapshot.to_do if snapshot.to_do else 100.0
        words = ", ".join(f"{count} {state}" for state, count in snapshot.rows.items())
        if self._id is None:
            made = await acreate_progress_artifact(progress=done, description=words)
            self._id = made if isinstance(made, UUID) else None
        else:
            await aupdate_progress_artifact(self._id, progress=done, description=words)
        await asyncio.sleep(pause)


async def publish_report(run: Run) -> None:
    """Publish the table of rows and the summary of a finished run."""
    assert run.campaign is not None
    assert run.outcome is not None
    urgent, _ = await run.urgent(TABLE_ROWS)
    rows = sorted(urgent, key=lambda row: (row.state == "delivered", row.position))
    table: list[dict[str, Any]] = []
    for page in pages_of(rows):
        numbers = [row.id for row in page]
        stand = partial(row_documents, campaign_id=run.campaign.id, numbers=numbers)
        table += map(_line, map(await run.at.ledger.read(stand), page))
    key = f"callsheet-{_slug(run.campaign.name)}"
    await acreate_table_artifact(table, key=f"{key}-rows", description="Rows and where they are")
    await acreate_markdown_artifact(_summary(run), key=f"{key}-summary")


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    film = next((file["uri"] for file in row["deliveries"] if file["kind"] == "mp4"), "")
    reason = None if row["state"] == "delivered" else row["reason"]
    return {
        "row": row["row"],
        "state": row["state"],
        "credits": "-" if row["charged"] is None else row["charged"],
        "film or reason": "; ".join(filter(None, (reason, film))),
    }


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-") or "campaign"


def _summary(run: Run) -> str:
    outcome = run.outcome
    assert outcome is not None
    lines = [f"# {outcome.campaign}", "", "| state | rows |", "|---|---:|"]
    tally = outcome.tally
    lines += [f"| {state} | {count} |" for state, count in tally.rows.items()]
    budget = "none" if tally.budget is None else as_text(tally.budget)
    cost = f"the campaign has cost {in_credits(tally.charged)}, its budget for all runs is {budget}"
    lines += ["", f"This run was charged {in_credits(outcome.charged_this_run)}; {cost}."]
    if outcome.words:
        lines += ["", outcome.words]
    return "\n".join(lines)
