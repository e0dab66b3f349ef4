"""Prefect beside a run: it shows every step of it, and can neither hold it up nor end it.

Prefect shows and schedules, the ledger knows. Importing it and starting its server take seconds,
which no paid request waits for; a server that goes away costs the run its place in the history.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.status import Status

from callsheet.deployments.servers import GONE, SERVER, PrefectServer, find_or_start, find_running
from callsheet.deployments.signals import STOPPED
from callsheet.tasks.campaign.crews import CrewStarter
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.duration import say_duration
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.redact import redact
from callsheet.tasks.settings import Settings
from callsheet.tasks.visible import say

#: How often it is asked whether it is there, in seconds.
ASK = 2.0
#: How often a server of our own is asked whether it is up, in seconds.
ASK_OUR_OWN = 0.1
#: How long a flow run may take to end once it is told to, in seconds.
LET_GO = 10.0
#: What is waited for longer than this is said, in seconds.
WORTH_A_WORD = 1.0


class PrefectBeside:
    """Prefect beside one run: a flow run that follows it, on a server that is there or brought."""

    def __init__(self, home: Path, *, asked: Mapping[str, Any], verbose: bool) -> None:
        #: Whether it was left in the middle: at the exit it would talk to its server for minutes.
        self.left = False
        self._home = home
        #: The flow's parameters, as the run was asked for.
        self._asked = asked
        self._verbose = verbose
        self._server: PrefectServer | None = None
        self._flow: asyncio.Task[Any] | None = None

    def stop(self) -> None:
        """End the server that the run brought along; leave anybody else's alone."""
        if self._server is not None:
            self._server.stop()

    async def crews(self, count: int, settings: Settings) -> CrewStarter:
        """Return what starts crews; raise ConfigurationError where none could be started.

        Their server is one that workers know: none is brought along for a run.
        """
        found = await asyncio.to_thread(find_running, self._home)
        self._server = found
        _point_at(found, verbose=self._verbose)
        starts = await asyncio.to_thread(importlib.import_module, "callsheet.flows.crew_runs")
        runs: CrewStarter = await starts.crew_runs(count, settings, self._asked.get("profile"))
        return runs

    @asynccontextmanager
    async def shows(self, run: Run, console: Console) -> AsyncIterator[None]:
        """Have a flow run follow the run, from when it begins to produce until both have ended.

        What moves nothing needs no Prefect.
        """
        begun = asyncio.Event()

        def hear(snapshot: Snapshot) -> None:
            if snapshot.to_do:
                begun.set()

        run.listeners.append(hear)
        showing = asyncio.create_task(self._show(run, begun), name="Prefect")
        try:
            yield
        finally:
            try:
                if begun.is_set() and not self._is_given_up(run):
                    await self._wait(run, showing, console)
            finally:
                showing.cancel()
                await asyncio.wait({showing})

    def _is_given_up(self, run: Run) -> bool:
        """Whether a run was ended before Prefect had heard of it: nobody waits for that to come."""
        stopped = run.outcome is None or (run.engine and run.engine.parked_because == STOPPED)
        return self._flow is None and bool(stopped)

    async def _wait(self, run: Run, showing: asyncio.Task[None], console: Console) -> None:
        """Wait until Prefect has all of the run; whoever does not want to, may leave."""
        try:
            limit = WORTH_A_WORD if run.outcome is not None else LET_GO
            await asyncio.wait({showing}, timeout=limit)
            if not showing.done() and run.outcome is not None:
                words = (
                    "waiting until Prefect shows this run; Ctrl-C leaves it, --without-prefect "
                    "needs none"
                )
                async with _told(console, words):
                    await asyncio.wait({showing})
        except asyncio.CancelledError:
            if run.outcome is None:
                raise
            # The run has ended in order, and says so.
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            say("left before Prefect had all of this run")

    async def _show(self, run: Run, begun: asyncio.Event) -> None:
        await begun.wait()
        try:
            server = await self._up()
            flow, logs, shown = [
                await asyncio.to_thread(importlib.import_module, name)
                for name in (
                    "callsheet.flows.campaign",
                    "callsheet.flows.prefect_logs",
                    "callsheet.flows.shown.tags",
                )
            ]
            while True:
                if await asyncio.to_thread(server.is_up):
                    break
                await asyncio.sleep(ASK_OUR_OWN)
        except Exception as error:
            # Whatever it is, it is no reason to leave videos where they are.
            words = redact(str(error) or repr(error))
            say(f"no Prefect for this run, which goes on without it: {words}")
            if remedy := getattr(error, "remedy", None):
                say(f"  {remedy}")
            return
        assert run.campaign is not None
        arguments = {**self._asked, "campaign": run.campaign.name}
        with shown.ours():
            self._flow = asyncio.create_task(
                # It ends as the run does, which is no trouble of Prefect's.
                _to_its_last_word(flow.run_campaign(**arguments, return_state=True), logs),
                name="flow run",
            )
        await self._follow(run, self._flow, server)

    async def _up(self) -> PrefectServer:
        """Find or start a server, and set Prefect up for it before it is imported."""

        def find() -> PrefectServer:
            # Noted at once: a server that was started is ended, whatever becomes of this call.
            self._server = self._server or find_or_start(self._home)
            return self._server

        server = await asyncio.to_thread(find)
        _point_at(server, verbose=self._verbose)
        return server

    async def _follow(self, run: Run, flow: asyncio.Task[Any], server: PrefectServer) -> None:
        """Wait for the end of the flow run, or until its server is gone."""
        loss = asyncio.create_task(_loss_of(server), name="loss of Prefect")
        try:
            await asyncio.wait({flow, loss}, return_when=asyncio.FIRST_COMPLETED)
            if not flow.done():
                say(f"the Prefect server at {server.url} is gone: the run goes on without it")
            elif run.outcome is not None and (words := _trouble_of(flow)):
                # What befell the run itself is told by the run.
                say(f"Prefect does not show the end of it: {redact(words)}")
        finally:
            loss.cancel()
            if not flow.done():
                self.left = True
                await _let_go(flow)


async def _to_its_last_word(showing: Coroutine[Any, Any, Any], logs: ModuleType) -> Any:
    """Have the run shown, and all that was said of it: its server may be ended next."""
    try:
        return await showing
    finally:
        await logs.send_prefect_logs()


def _trouble_of(flow: asyncio.Task[Any]) -> str | None:
    """Return what kept a flow run from ending as its run did; None where nothing did."""
    if flow.cancelled():
        return None
    if error := flow.exception():
        return str(error)
    state = flow.result()
    return state.message if state.name in ("Failed", "Crashed") else None


async def _let_go(flow: asyncio.Task[Any]) -> None:
    """End a flow run: one word to the server after the other is tried, each for a minute."""
    deadline = asyncio.get_running_loop().time() + LET_GO
    while not flow.done() and asyncio.get_running_loop().time() < deadline:
        flow.cancel()
        await asyncio.wait({flow}, timeout=0.2)
    with suppress(asyncio.CancelledError):
        # Retrieved, so that nobody prints it: the server's silence has been told already.
        if flow.done():
            flow.exception()


async def _loss_of(server: PrefectServer) -> None:
    """Return once the server has not answered for GONE seconds."""
    clock = asyncio.get_running_loop().time
    answered = clock()
    while clock() - answered < GONE:
        await asyncio.sleep(ASK)
        if await asyncio.to_thread(server.answers):
            answered = clock()


@asynccontextmanager
async def _told(console: Console, words: str) -> AsyncIterator[None]:
    """Say what is waited for: on a terminal for how long by now, elsewhere once."""
    if not console.is_terminal:
        console.print(words)
        yield
        return
    began = asyncio.get_running_loop().time()

    async def count(status: Status) -> None:
        while True:
            seconds = asyncio.get_running_loop().time() - began
            status.update(f"{words}, {say_duration(seconds)}")
            await asyncio.sleep(1.0)

    with console.status(words) as status:
        counting = asyncio.create_task(count(status), name="counting")
        try:
            yield
        finally:
            counting.cancel()


def _point_at(server: PrefectServer, *, verbose: bool) -> None:
    """Set Prefect up before it is imported: its address, and no talk of its own."""
    os.environ["PREFECT_API_URL"] = server.url
    os.environ["PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED"] = "false"
    os.environ["DO_NOT_TRACK"] = SERVER["DO_NOT_TRACK"]
    if not verbose:
        os.environ["PREFECT_LOGGING_INTERNAL_LEVEL"] = "CRITICAL"
        # What it logs is for its page, at the levels that its own settings say.
        for handler in logging.root.handlers:
            handler.addFilter(_is_not_prefects)


def _is_not_prefects(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] != "prefect"
