"""Prefect next to a run of the command line, which shows itself on the server that Prefect names.

Beside the run, in its process, by the server's API (`prefect_page`): nothing is started for it, and
the run never waits for it. Imports Prefect only where workers are asked for.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.prefect_page import PrefectPage
from callsheet.deployments.servers import find_running, point_at
from callsheet.flows.interruption import ASK, Interruption, Kind
from callsheet.flows.shown import (
    Showing,
    publish_plan,
    publish_problems,
    publish_report,
    table_of_rows,
)
from callsheet.tasks.campaign.run import Run, Watch
from callsheet.tasks.campaign.shown_states import (
    NAMES,
    PRODUCE,
    STEPS,
    ShownState,
    state_of_end,
    state_of_error,
    state_of_rows,
    state_of_shard,
    words_of,
)
from callsheet.tasks.campaign.workers import WorkerStarter
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.errors import CallsheetError, Parked
from callsheet.tasks.runtime.redact import say

#: How long the command waits at its end for an answer of Prefect, and for all of them, in seconds.
WAIT, WAIT_FOR_ALL = 5.0, 15.0
#: What a person has done to a flow run whose state has this type.
DONE: Mapping[str, Kind] = {
    "CANCELLING": "cancelled",
    "CANCELLED": "cancelled",
    "PAUSED": "paused",
}


def prefect_display(at: PrefectAddress, asked: Mapping[str, Any]) -> Watch:
    """Return what has a server show runs, each from when it begins to make videos.

    A run without anything to do is not shown. A second round is a run of its own.
    """

    @asynccontextmanager
    async def shows(run: Run) -> AsyncIterator[None]:
        shown = _ShownRun(run, at, asked)
        run.listeners.append(shown.on_snapshot)
        run.takes = shown.take
        try:
            yield
        except BaseException as error:
            await shown.leave(error)
            raise
        await shown.leave(None)

    return shows


class _ShownRun:
    """One run and the flow run that shows it."""

    def __init__(self, run: Run, at: PrefectAddress, asked: Mapping[str, Any]) -> None:
        self.page = PrefectPage(at, say=say)
        self._run = run
        self._asked = asked
        self._url = at.url
        self._showing = Showing(run, self.page)
        self._interruption = Interruption(run, self.page)

    async def take(self, run: Run, key: str, step: Any, ids: tuple[Any, ...]) -> Any:
        """Take a step, and show how it ends."""
        label = STEPS[key].format(*ids)
        ended: asyncio.Future[ShownState] = asyncio.get_running_loop().create_future()
        dynamic_key = str(ids[1]) if key == PRODUCE else "0"
        self.page.do(self.page.step(label, key, dynamic_key, ended))
        try:
            result = await step(run, *ids)
        except BaseException as error:
            ended.set_result(state_of_error(error, run))
            raise
        if key == PRODUCE:
            self.page.do(self.end_shard(ended, result, label))
        else:
            ended.set_result(ShownState("COMPLETED"))
        return result

    async def end_shard(
        self, ended: asyncio.Future[ShownState], states: Mapping[State, int], label: str
    ) -> None:
        """Show how a shard ended, once the reason of a row that has one to itself is read."""
        assert self._run.campaign is not None
        table = table_of_rows(self.page, self._run.campaign.name)
        try:
            ended.set_result(await state_of_shard(self._run, states, label, table))
        except CallsheetError:
            ended.set_result(state_of_rows(states, None))

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Begin to show the run once it has something to do."""
        run, page = self._run, self.page
        if not snapshot.to_do or page.has_begun:
            return
        assert run.campaign is not None
        assert run.plan is not None
        name = run.campaign.name
        page.begin(f"{name} {datetime.now(UTC):%Y-%m-%d %H:%M}", {**self._asked, "campaign": name})
        self._showing.begin()
        page.do(publish_plan(page, run.plan, ()))
        page.watch(self._ask())

    async def _ask(self) -> None:
        """Stop the run once a person has cancelled or paused its flow run."""
        while True:
            await asyncio.sleep(ASK)
            kind = DONE.get((await self.page.state()).get("type", ""))
            if kind is not None:
                self._interruption.hear(kind)
                return

    async def leave(self, error: BaseException | None) -> None:
        """Show how the run ended, for as long as the command may wait for that."""
        try:
            if self.page.has_begun:
                await self._interruption.acted()
                await self._show_end_in_time(error)
        except TimeoutError:
            words = "does not answer in time: it does not show the end of this run"
            self.page.lose(f"the Prefect server at {self._url} {words}")
        except asyncio.CancelledError:
            if error is not None:
                raise
            # The run has ended in order, and says so.
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            self.page.lose("stopped before Prefect had the whole run: its page is not complete")
        finally:
            await self.page.aclose()

    async def _show_end_in_time(self, error: BaseException | None) -> None:
        """Show how the run ended; raise TimeoutError once the server takes too long for it."""
        now = asyncio.get_running_loop().time
        last = now() + WAIT_FOR_ALL
        async with asyncio.timeout(WAIT) as limit:

            def go_on() -> None:
                if not limit.expired():
                    limit.reschedule(min(now() + WAIT, last))

            self.page.on_answer = go_on
            await self._show_end(error)

    async def _show_end(self, error: BaseException | None) -> None:
        self.page.do(self._end_page(error))
        await self._showing.end()
        if error is None:
            await publish_report(self.page, self._run)
        await self.page.settle()

    async def _end_page(self, error: BaseException | None) -> None:
        await self.page.end(await self._last_state(error))

    async def _last_state(self, error: BaseException | None) -> ShownState:
        if self._interruption.kind is not None:
            words = await self._interruption.settle()
            if self._interruption.kind == "paused":
                return ShownState("COMPLETED", words, NAMES[5])
            return ShownState("CANCELLED", words)
        if error is None:
            outcome = self._run.outcome
            assert outcome is not None
            until = outcome.parked_until
            return state_of_end(outcome.exit_status, words_of(outcome), until=until)
        if isinstance(error, CallsheetError):
            words = await publish_problems(self.page, error)
            until = error.until if isinstance(error, Parked) else None
            return state_of_end(error.exit_status, words, until=until)
        words = "the command ended before the run did; the ledger knows what it made"
        return ShownState("FAILED", words)


# The workers of a run are Prefect's: they are started by Prefect itself.


async def find_starter(home: Path, profile: str | None, *, verbose: bool) -> WorkerStarter:
    """Return what starts workers; raise ConfigurationError where none could be started."""
    point_at(await asyncio.to_thread(find_running, home), verbose=verbose)
    if not verbose:
        for handler in logging.root.handlers:
            handler.addFilter(_is_not_prefects)
    starts = await asyncio.to_thread(importlib.import_module, "callsheet.flows.workers")
    runs: WorkerStarter = await starts.worker_runs(profile)
    return runs


def _is_not_prefects(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] != "prefect"
