"""Prefect next to a run of the command line: a process of its own shows the run there.

That process (`prefect_follower`) starts a server where none is there, which takes seconds, and
outlives the command until Prefect has all of the run. The run never waits for it to make a video,
and the command hardly waits for it to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.deployments.servers import find_running, point_at, prefect_of
from callsheet.deployments.terminal import at_terminal
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run, run_at_hand
from callsheet.tasks.campaign.taken import StepEnd, Taken
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.campaign.workers import WorkerStarter
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redact, say

#: How long the command waits at its end before it says so, in seconds.
WAIT = 1.5
#: Without a terminal, what ends with the command (a container, a job) may end the follower: where
#: a server already exists, which takes moments, it is waited for so long.
PATIENCE = 60.0
#: How often it looks whether the follower has ended, in seconds.
LOOK = 0.02


@dataclass(frozen=True, kw_only=True)
class Following:
    """What the process is told first: the run as it is when it begins to make videos."""

    home: Path
    settings: Settings
    #: The flow's parameters, as the run was asked for.
    asked: Mapping[str, Any]
    options: RunOptions
    campaign: Campaign
    plan: Plan
    #: The rows that `--select` chose, and those that the sheet leaves out.
    picked: frozenset[str] | None
    left_out: frozenset[str]
    labels: list[str]
    snapshot: Snapshot
    ends: list[StepEnd]
    said: list[str]
    verbose: bool


@dataclass(frozen=True)
class Warned:
    """A warning that was logged for the run: its logger, its level, and its words."""

    logger: str
    level: int
    words: str


#: What it is told from then on; a string is what the run says.
Message = Following | StepEnd | Snapshot | Warned | RunOutcome | str


class PrefectDisplay:
    """Prefect next to one run; `taken` has the steps of the run, which it is shown."""

    def __init__(self, home: Path, *, asked: Mapping[str, Any], verbose: bool) -> None:
        self.taken = Taken()
        self._home = home
        self._asked = asked
        self._verbose = verbose
        self._follower: Follower | None = None

    async def workers(self) -> WorkerStarter:
        """Return what starts workers; raise ConfigurationError where none could be started.

        Their server is one that Prefect workers know: none is started for a run.
        """
        found = await asyncio.to_thread(find_running, self._home)
        point_at(found, verbose=self._verbose)
        if not self._verbose:
            for handler in logging.root.handlers:
                handler.addFilter(is_not_prefects)
        starts = await asyncio.to_thread(importlib.import_module, "callsheet.flows.workers")
        runs: WorkerStarter = await starts.worker_runs(self._asked.get("profile"))
        return runs

    @asynccontextmanager
    async def shows(self, run: Run) -> AsyncIterator[None]:
        """Have Prefect show the run, from when it begins to make videos.

        A run without anything to do needs no Prefect. A second round is a run of its own.
        """
        self._follower = None
        self.taken.clear()

        def on_snapshot(snapshot: Snapshot) -> None:
            if self._follower is not None:
                self._follower.tell(snapshot)
            elif snapshot.to_do:
                self._begin(run, snapshot)

        run.listeners.append(on_snapshot)
        with _warnings_of(run, self._tell):
            try:
                yield
            finally:
                if self._follower is not None:
                    await self._leave(run, self._follower)

    def _tell(self, message: Message) -> None:
        if self._follower is not None:
            self._follower.tell(message)

    def _begin(self, run: Run, snapshot: Snapshot) -> None:
        assert run.campaign is not None
        assert run.plan is not None
        loop = asyncio.get_running_loop()
        try:
            self._follower = Follower(
                self._home, on_order=lambda order: loop.call_soon_threadsafe(_obey, run, order)
            )
        except OSError as error:
            say(f"Prefect does not show this run, which continues without it: {error.strerror}")
            return
        first = Following(
            home=self._home,
            settings=run.at.settings,
            asked={**self._asked, "campaign": run.campaign.name},
            options=run.options,
            campaign=run.campaign,
            plan=_light(run.plan),
            picked=run.picked,
            left_out=frozenset(run.skipped),
            labels=[shard.label for shard in run.shards],
            snapshot=snapshot,
            ends=[*self.taken.ends],
            said=[*run.said],
            verbose=self._verbose,
        )
        self._tell(first)
        self.taken.on_end = partial(self._tell_end, run)
        run.on_said = self._tell

    def _tell_end(self, run: Run, end: StepEnd) -> None:
        # The step that reports it has made it.
        if run.outcome is not None:
            self._tell(run.outcome)
        self._tell(end)

    async def _leave(self, run: Run, follower: Follower) -> None:
        """Tell it that this was all; wait for Prefect only where the follower may not go on."""
        follower.close()
        await follower.is_told_within(WAIT)
        goes_on = at_terminal() or prefect_of(self._home) is None or run.outcome is None
        if goes_on or await follower.ends_within(WAIT):
            return
        say("waiting until Prefect shows this run; Ctrl-C leaves it")
        try:
            await follower.ends_within(PATIENCE)
        except asyncio.CancelledError:
            # The run has ended in order, and says so.
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            say("left before Prefect had all of this run")


def _light(plan: Plan) -> Plan:
    """Return a plan without what only its rows are made of."""
    return replace(plan, unsynced=(), refused=())


def _obey(run: Run, order: Mapping[str, str]) -> None:
    """Do what the process asks: say something here, or have the run stop."""
    if words := order.get("say"):
        say(words)
    if because := order.get("stop"):
        run.stop(because)


@contextmanager
def _warnings_of(run: Run, tell: Callable[[Message], None]) -> Iterator[None]:
    """Tell of each warning that Callsheet logs for a run."""

    class Relay(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if run_at_hand() is run:
                words = redact(record.getMessage())
                loop.call_soon_threadsafe(tell, Warned(record.name, record.levelno, words))

    loop, logger = asyncio.get_running_loop(), logging.getLogger("callsheet")
    relay = Relay(logging.WARNING)
    logger.addHandler(relay)
    try:
        yield
    finally:
        logger.removeHandler(relay)


def is_not_prefects(record: logging.LogRecord) -> bool:
    """Whether a line of the log is from anything but Prefect."""
    return record.name.partition(".")[0] != "prefect"


class Follower:
    """The process that shows a run in Prefect; `on_order` gets what it asks, on a thread."""

    def __init__(self, home: Path, *, on_order: Callable[[dict[str, str]], object]) -> None:
        (home / "prefect").mkdir(parents=True, exist_ok=True)
        with (home / "prefect" / "follower.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "callsheet.deployments.prefect_follower", str(home)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C in the terminal is for the run; this one outlives the command.
                start_new_session=True,
            )
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._on_order = on_order
        self._telling = threading.Thread(target=self._tell_all, name="follower", daemon=True)
        self._telling.start()
        threading.Thread(target=self._listen, name="orders", daemon=True).start()

    def tell(self, message: Message) -> None:
        """Tell it something; does not wait for that."""
        self._messages.put(message)

    def close(self) -> None:
        """Tell it that there is no more to come."""
        self._messages.put(None)

    async def is_told_within(self, seconds: float) -> bool:
        """Wait until everything is on its way to it, so long at most; return whether it is."""
        return await self._within(seconds, lambda: not self._telling.is_alive())

    async def ends_within(self, seconds: float) -> bool:
        """Wait until it has ended, so long at most; return whether it has."""
        return await self._within(seconds, lambda: self._process.poll() is not None)

    async def _within(self, seconds: float, is_so: Callable[[], bool]) -> bool:
        # Not in a thread: the event loop would wait for that, even after Ctrl-C.
        for _ in range(round(seconds / LOOK)):
            if is_so():
                return True
            await asyncio.sleep(LOOK)
        return False

    def _tell_all(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as stdin:
            while (message := self._messages.get()) is not None:
                pickle.dump(message, stdin)
                stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            for line in self._process.stdout:
                self._on_order(json.loads(line))
