"""A run in Prefect's log, and the tags that find it.

The number of lines depends on time, not on rows. The levels are Prefect's own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any

from callsheet.flows.shown.artifacts import ProgressArtifact, out_of_the_way
from callsheet.flows.shown.page import Page
from callsheet.tasks.aftercare.explain import commands_for
from callsheet.tasks.campaign.report import say_outcome, sums_of, warnings_of
from callsheet.tasks.campaign.run import Run, current_run
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.engine.progress import LinePace, Snapshot, log_line
from callsheet.tasks.ledger.row_pages import tags_of
from callsheet.tasks.ledger.row_selection import rows_for_a_person
from callsheet.tasks.ledger.values import NEEDS_PERSON, CampaignRow
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import one_line, redact
from callsheet.tasks.runtime.suggest import suggest

#: Maximum rows that need attention to name in the log.
NAMED = 200
#: Maximum tags of a sheet on a flow run: the most frequent ones.
MOST = 20
#: Loggers whose warnings belong to the run.
OURS = "callsheet"


class Showing:
    """One run on a page: its progress, and what its log says."""

    def __init__(self, run: Run, page: Page) -> None:
        self._run = run
        self._page = page
        self._progress = ProgressArtifact(page)
        # It is called from tasks that do not belong to the flow.
        self._flow = copy_context()
        self._pace = LinePace(time.monotonic)
        self._counts: object = None
        self._needing = 0
        self._named: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._handler = _handler_for(run, page)

    def begin(self) -> None:
        """Show what is known of the run until now, and listen to it."""
        logging.getLogger(OURS).addHandler(self._handler)
        run = self._run
        run.listeners.append(self.on_snapshot)
        for words in run.said:
            self._say(words)
        run.on_said = self._say
        if run.plan is not None:
            self._tell_plan(run.plan)
        else:
            run.on_plan = self._tell_plan
        if run.campaign is not None:
            self._do(self._tag())

    async def end(self) -> None:
        """Listen no more, and show the end."""
        self._run.listeners.remove(self.on_snapshot)
        try:
            await self._progress.settle()
            await self._settle()
        finally:
            logging.getLogger(OURS).removeHandler(self._handler)
            self._run.on_said = None

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Show the progress; log it if it has changed and the last line is not too recent."""
        self._progress.on_snapshot(snapshot)
        if not snapshot.to_do:
            return
        counts = (dict(snapshot.rows), snapshot.done, snapshot.waits_for)
        if counts == self._counts or not self._pace.allows(snapshot):
            return
        self._counts = counts
        self._say(log_line(snapshot))
        needing = sum(snapshot.rows.get(state, 0) for state in NEEDS_PERSON)
        if needing != self._needing:
            self._needing = needing
            self._do(self._name_rows())

    async def _settle(self) -> None:
        """Log the rows that need attention, and how the run ended."""
        await asyncio.gather(*self._tasks)
        if self._run.campaign is None:
            return
        await self._name_rows(last=True)
        if self._run.outcome is not None:
            self._say(say_outcome(self._run.outcome))
            if self._run.outcome.words:
                self._say(self._run.outcome.words, logging.WARNING)

    def _say(self, words: str, level: int = logging.INFO) -> None:
        # Prefect finds the run of a log line by the context.
        self._flow.copy().run(self._page.log, one_line(redact(words)), level)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, context=self._flow.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell_plan(self, plan: Plan) -> None:
        self._say(f"plan for {plan.campaign}: {'; '.join(sums_of(plan))}")
        for words in warnings_of(plan):
            self._say(words, logging.WARNING)
        self._do(self._tag())

    @out_of_the_way
    async def _name_rows(self, *, last: bool = False) -> None:
        """Log the rows that newly need attention, with reason and remedy."""
        run = self._run
        assert run.campaign is not None
        wanted = None if run.is_about_all else run.has
        found = await run.at.ledger.read(
            rows_for_a_person, campaign_id=run.campaign.id, limit=NAMED, wanted=wanted
        )
        for row in found:
            if (row.row, row.state) not in self._named and len(self._named) < NAMED:
                self._named.add((row.row, row.state))
                self._say(self._words_on(row), logging.WARNING)
        if last and len(found) == NAMED:
            every = f"`{suggest('rows', run.campaign.name)}`"
            self._say(f"{every} lists every row that needs attention", logging.WARNING)

    def _words_on(self, row: CampaignRow) -> str:
        assert self._run.campaign is not None
        first = commands_for(self._run.campaign, row)[0]
        words = f"row {row.row} is {row.state}: {row.reason or 'no reason is known'}"
        # Most reasons include the remedy.
        return words if first.line in words else f"{words}; `{first.line}`: {first.does}"

    @out_of_the_way
    async def _tag(self) -> None:
        """Add the name of the campaign and the tags of its rows to the flow run."""
        campaign = self._run.campaign
        assert campaign is not None
        found = await self._run.at.ledger.read(tags_of, campaign_id=campaign.id)
        often = sorted(found, key=lambda tag: (-found[tag], tag))[:MOST]
        await self._page.tag([campaign.name, *map(one_line, often)])


def _handler_for(run: Run, page: Page) -> logging.Handler:
    """Return a handler that copies the warnings of a run to the log of the flow run."""

    def is_of_run(_: logging.LogRecord) -> bool:
        try:
            return current_run() is run
        except CallsheetError:
            return False

    handler = page.handler()
    # Here the number of lines depends on time, not on rows.
    handler.setLevel(max(handler.level, logging.WARNING))
    handler.addFilter(is_of_run)
    return handler
