"""Shows a run of the command line in Prefect, and ends once Prefect has all of it.

    python -P -m callsheet.deployments.prefect_follower HOME

The command tells it of the run on standard input (`prefect_run.Message`, pickled), and obeys what
it writes to standard output: JSON lines `{"say": words}` and `{"stop": because}`. It only reads the
ledger and talks to Prefect: it takes no step of the run, so it can neither quote nor pay.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import json
import logging
import os
import pickle
import sys
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from callsheet.deployments.prefect_run import Following, Message, Warned, is_not_prefects
from callsheet.deployments.servers import GONE, PrefectServer, find_or_start, point_at
from callsheet.tasks.campaign.run import Run, at_hand
from callsheet.tasks.campaign.taken import Followed, StepEnd
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.engine.context import connect_to_show
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import install, redact

#: How often the server is asked whether it is there, in seconds.
ASK = 2.0
#: How often a server that starts is asked whether it is up, in seconds.
ASK_STARTING = 0.1
#: How long it goes on after the command has ended, in seconds.
LAST = 180.0

log = logging.getLogger("callsheet.prefect")


class Orders:
    """What it asks of the command, as long as that is there."""

    def __init__(self, out: io.RawIOBase) -> None:
        self._out = out

    def say(self, words: str) -> None:
        """Have words said where the command was typed, and note them in the log."""
        log.warning("%s", words)
        self._order(say=words)

    def stop(self, because: str) -> None:
        """Have the run begin nothing more."""
        self._order(stop=because)

    def _order(self, **order: str) -> None:
        with contextlib.suppress(OSError):
            self._out.write(json.dumps(order).encode() + b"\n")


class Showing:
    """A run of the command as it is known here, and the flow run that shows it."""

    def __init__(self, first: Following, orders: Orders) -> None:
        self.orders = orders
        self._first = first
        self._followed = Followed(first.snapshot, first.labels, stop=orders.stop)
        self._run: Run | None = None
        self._before: list[Message] = [*first.ends, *first.said]
        self._in_run = copy_context()
        self._is_over = False

    def on_message(self, message: Message | None) -> None:
        """Take in what the command tells; None: it has ended."""
        if message is None:
            if not self._is_over:
                words = "the command ended before the run did; the ledger knows what it made"
                self._followed.lose(CallsheetError(words))
            asyncio.get_running_loop().call_later(LAST, os._exit, 1)
        elif self._run is None:
            self._before.append(message)
        else:
            self._in_run.run(self._take_in, self._run, message)

    async def show(self) -> None:
        """Show the run from its first step to its end, on a server that is there or is started."""
        with contextlib.redirect_stderr(_Said(self.orders)):
            server = await asyncio.to_thread(find_or_start, self._first.home)
        try:
            point_at(server, verbose=self._first.verbose)
            flow, logs, tags = [
                await asyncio.to_thread(importlib.import_module, name)
                for name in (
                    "callsheet.flows.campaign",
                    "callsheet.flows.flow_runs",
                    "callsheet.flows.shown.run_log",
                )
            ]
            while True:
                if await asyncio.to_thread(server.is_up):
                    break
                await asyncio.sleep(ASK_STARTING)
            async with connect_to_show(self._first.settings) as at:
                run = Run(
                    options=self._first.options,
                    at=at,
                    campaign=self._first.campaign,
                    plan=self._first.plan,
                    picked=self._first.picked,
                    left_out=self._first.left_out,
                    followed=self._followed,
                )
                with at_hand(run), tags.ours():
                    self._begin(run)
                    flow_run = flow.run_campaign(**self._first.asked, return_state=True)
                    await self._follow(_to_its_last_word(flow_run, logs), server)
        finally:
            server.stop()

    def _begin(self, run: Run) -> None:
        """Take in what was told until now."""
        self._in_run = copy_context()
        self._run = run
        for message in self._before:
            self._take_in(run, message)

    def _take_in(self, run: Run, message: Message) -> None:
        match message:
            case str():
                run.repeat(message)
            case StepEnd():
                self._followed.note(message)
            case Warned():
                logging.getLogger(message.logger).log(message.level, "%s", message.words)
            case Snapshot():
                self._followed.snapshot = message
                for listener in [*run.listeners]:
                    listener(message)
            case RunOutcome():
                self._is_over = True
                run.outcome = message

    async def _follow(self, flow_run: Coroutine[Any, Any, Any], server: PrefectServer) -> None:
        """Wait for the end of the flow run, or until its server is gone."""
        shown = asyncio.create_task(flow_run, name="flow run")
        loss = asyncio.create_task(_loss_of(server), name="loss of Prefect")
        await asyncio.wait({shown, loss}, return_when=asyncio.FIRST_COMPLETED)
        if not shown.done():
            words = f"the Prefect server at {server.url} is gone: the run goes on without it"
            self.orders.say(words)
            # Prefect would talk to its lost server for minutes yet.
            server.stop()
            os._exit(1)
        loss.cancel()
        trouble = _trouble_of(shown)
        if self._is_over and trouble:
            # What befell the run itself is told by the run.
            self.orders.say(f"Prefect does not show the end of it: {redact(trouble)}")


class _Said(io.TextIOBase):
    """Takes what is printed, and has it said where the command was typed."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def write(self, text: str) -> int:
        if text.strip():
            self._orders.say(text.rstrip())
        return len(text)


async def _to_its_last_word(showing: Coroutine[Any, Any, Any], logs: ModuleType) -> Any:
    """Have the run shown, and all that was said of it: its server may be ended next."""
    try:
        return await showing
    finally:
        await logs.send_prefect_logs()


def _trouble_of(shown: asyncio.Task[Any]) -> str | None:
    """Return what kept a flow run from ending as its run did; None where nothing did."""
    if shown.cancelled():
        return None
    if error := shown.exception():
        return str(error)
    state = shown.result()
    return state.message if state.name in ("Failed", "Crashed") else None


async def _loss_of(server: PrefectServer) -> None:
    """Return once the server has not answered for GONE seconds."""
    clock = asyncio.get_running_loop().time
    answered = clock()
    while clock() - answered < GONE:
        await asyncio.sleep(ASK)
        if await asyncio.to_thread(server.answers):
            answered = clock()


async def follow(told: BinaryIO, orders: Orders) -> None:
    """Show the run that is told of."""
    loop = asyncio.get_running_loop()
    showing = Showing(await asyncio.to_thread(pickle.load, told), orders)

    def on_message(message: Message | None) -> None:
        loop.call_soon_threadsafe(showing.on_message, message)

    threading.Thread(target=_listen, args=(told, on_message), name="command", daemon=True).start()
    try:
        await showing.show()
    except Exception as error:
        # Whatever it is, it is no reason to leave videos where they are.
        log.exception("Prefect does not show a run")
        what = "Prefect does not show this run, which continues without it"
        remedy = getattr(error, "remedy", None)
        words = f"{what}: {str(error) or repr(error)}"
        orders.say(redact(words + (f"\n  {remedy}" if remedy else "")))


def _listen(told: BinaryIO, on_message: Callable[[Message | None], None]) -> None:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            on_message(pickle.load(told))
    with contextlib.suppress(RuntimeError):
        on_message(None)


def main(home: Path) -> None:
    """Show the run that is told of on standard input."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for handler in logging.root.handlers:
        # What Prefect logs is on its page.
        handler.addFilter(is_not_prefects)
    install(logging.root.handlers)
    # Whatever else is printed goes to the log, which standard error is.
    orders = Orders(open(os.dup(1), "wb", buffering=0))  # noqa: SIM115
    os.dup2(2, 1)
    asyncio.run(follow(sys.stdin.buffer, orders))
    # At the exit Prefect would talk to a server that may have ended with this.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
