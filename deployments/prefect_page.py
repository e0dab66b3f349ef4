"""The page of a run of the command line on a Prefect server, written to by the server's API.

Whoever writes never waits for the server. One that does not answer is given up with one sentence.
Imports nothing of Prefect.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import uuid4

import httpx

from callsheet.deployments.prefect_address import REFUSALS, REMEDY, PrefectAddress
from callsheet.flows.shown.artifacts import out_of_the_way
from callsheet.flows.shown.page import PageLost
from callsheet.tasks.campaign.shown_states import ShownState
from callsheet.tasks.runtime.errors import CallsheetError, shorten
from callsheet.tasks.runtime.redact import redact

#: How long an answer may take, in seconds.
ANSWERS_WITHIN = 10.0
#: How long a server that has answered may be away, in seconds: it may restart.
GONE = 30.0
#: How long to wait before it is asked again, in seconds.
AGAIN = 0.5
#: How often lines of the log are sent, in seconds.
PACE = 1.0
CONTINUES = "the run continues without it"
#: What finds the runs of Callsheet, and the flow that they are runs of.
TAG, FLOW = "callsheet", "campaign"

log = logging.getLogger("callsheet.prefect")


class PrefectPage:
    """The flow run that shows a run; `say` gets the one sentence on a server that is given up."""

    def __init__(self, at: PrefectAddress, *, say: Callable[[str], object]) -> None:
        self._at = at
        self._say = say
        self._loop = asyncio.get_running_loop()
        limit = httpx.Timeout(ANSWERS_WITHIN, pool=None)
        # On SQLite, a server refuses what comes while it writes something else: one connection.
        self._client = at.client(timeout=limit, limits=httpx.Limits(max_connections=1))
        self._is_lost = False
        self._has_answered = False
        self._went_well = 0.0
        #: Is told of each answer that is not a fault of the server.
        self.on_answer: Callable[[], object] = lambda: None
        self._turn = asyncio.Lock()
        self._tags = [TAG]
        self._lines: list[dict[str, Any]] = []
        self._work: set[asyncio.Task[None]] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._begun = self._loop.create_future()
        self._run = asyncio.create_task(self._make(), name="flow run")

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to show: until then, all that is to be shown waits."""
        return self._begun.done()

    def begin(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Make the flow run."""
        self._begun.set_result({"name": name, "parameters": parameters})
        self.watch(self._send_lines())
        self.watch(self._beat(name))

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something shown in the background."""
        task = self._start(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def watch(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done in the background until the end."""
        self._watching.add(self._start(work))

    def log(self, words: str, level: int = logging.INFO) -> None:
        """Write a line of its log."""
        if not self._is_lost:
            moment = datetime.now(UTC).isoformat()
            line = {"name": TAG, "level": level, "message": redact(words), "timestamp": moment}
            self._lines.append(line)

    def handler(self) -> logging.Handler:
        """Return what writes lines of other loggers to its log, also from threads."""

        def emit(record: logging.LogRecord) -> None:
            if record.name == log.name:
                return  # What is not shown would be said of saying it.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.log, record.getMessage(), record.levelno)

        handler = logging.Handler()
        handler.emit = emit  # type: ignore[method-assign]
        return handler

    async def publish(
        self,
        kind: Literal["table", "markdown", "progress"],
        data: Any,
        *,
        key: str | None = None,
        words: str | None = None,
    ) -> str | None:
        """Publish an artifact; return its id."""
        artifact = {"type": kind, "data": data, "key": key, "description": words}
        run = await self._number()
        return await self._add("artifacts/", {**artifact, "flow_run_id": run})

    async def change(self, artifact: str, data: Any, words: str) -> None:
        """Change an artifact."""
        await self._ask("PATCH", f"artifacts/{artifact}", {"data": data, "description": words})

    async def tag(self, tags: Sequence[str]) -> None:
        """Add tags to the flow run."""
        self._tags = list(dict.fromkeys((*self._tags, *tags)))
        await self._ask("PATCH", f"flow_runs/{await self._number()}", {"tags": self._tags})

    def address(self, path: str, name: object) -> str | None:
        """Return the address of another page of the same server."""
        return f"{self._at.pages()}/{path}/{name}"

    async def step(
        self, name: str, key: str, dynamic_key: str, ended: asyncio.Future[ShownState]
    ) -> None:
        """Show a step as a task run, until it has ended."""
        task = {"name": name, "task_key": key, "dynamic_key": dynamic_key}
        run = {"flow_run_id": await self._number(), "tags": [TAG]}
        async with self._turn:
            is_over = ended.done()
            state = ended.result() if is_over else ShownState("RUNNING")
            made = {**task, **run, "state": _state(state)}
            number = (await self._ask_now("POST", "task_runs/", made)).get("id")
        if not is_over:
            # Without force: where a person has set another state, that one stays.
            said = {"state": _state(await ended), "force": False}
            await self._ask("POST", f"task_runs/{number}/set_state", said)

    async def state(self) -> Mapping[str, Any]:
        """Return the state of the flow run, as people may have set it."""
        found = await self._ask_now("GET", f"flow_runs/{await self._number()}")
        return found.get("state") or {}

    async def end(self, shown: ShownState) -> None:
        """Give the flow run its last state, unless a person has given it another."""
        wanted = {"RUNNING"} | ({"CANCELLING"} if shown.type == "CANCELLED" else set())
        if (await self.state()).get("type") in wanted:
            said = {"state": _state(shown), "force": False}
            await self._ask_now("POST", f"flow_runs/{await self._number()}/set_state", said)

    async def settle(self) -> None:
        """Wait until all is sent."""
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._work)
        self.do(self._flush())
        await asyncio.gather(*self._work)

    async def aclose(self) -> None:
        """Give up what is not sent."""
        left = {*self._work, *self._watching, self._run}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._client.aclose()

    def lose(self, words: str) -> None:
        """Give the server up, and say so: once."""
        if not self._is_lost:
            self._is_lost = True
            self._lines.clear()
            self._say(words)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(out_of_the_way(lambda: work)(), name="Prefect")

    async def _number(self) -> str:
        return await asyncio.shield(self._run)

    async def _make(self) -> str:
        run = {**await self._begun, "tags": self._tags, "state": _state(ShownState("RUNNING"))}
        # Asked again after an answer that was lost, the server makes no second one.
        run["idempotency_key"] = uuid4().hex
        self._went_well = self._loop.time()
        try:
            run["flow_id"] = await self._add("flows/", {"name": FLOW})
            return await self._add("flow_runs/", run)
        except PageLost:
            raise
        except CallsheetError as error:
            words = f"the Prefect server at {self._at.url} refuses this run"
            self.lose(f"{words}: {CONTINUES} ({error})")
            raise PageLost from error

    async def _beat(self, name: str) -> None:
        """Send the heartbeats that the automation `zombie` waits for."""
        run = {"prefect.resource.id": f"prefect.flow-run.{await self._number()}"}
        while True:
            event = {
                "id": str(uuid4()),
                "event": "prefect.flow-run.heartbeat",
                "occurred": datetime.now(UTC).isoformat(),
                "resource": {**run, "prefect.resource.name": name},
                "related": [
                    {"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"}
                    for tag in self._tags
                ],
            }
            await self._ask("POST", "events", [event])
            await asyncio.sleep(self._at.heartbeat_seconds)

    async def _send_lines(self) -> None:
        while True:
            await asyncio.sleep(PACE)
            if self._lines:
                self.do(self._flush())

    async def _flush(self) -> None:
        run = await self._number()
        lines, self._lines = self._lines, []
        if lines:
            await self._ask("POST", "logs/", [{**line, "flow_run_id": run} for line in lines])

    async def _add(self, path: str, body: Any) -> str:
        """Add something; return its id."""
        return str((await self._ask("POST", path, body)).get("id"))

    async def _ask(self, method: str, path: str, body: Any) -> dict[str, Any]:
        """Return an answer, in turn: what is asked at once comes before all that waits."""
        async with self._turn:
            return await self._ask_now(method, path, body)

    async def _ask_now(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Return an answer; raise PageLost without one, CallsheetError for a refusal."""
        content = None if body is None else json.dumps(body, default=str).encode()
        while True:
            if self._is_lost:
                raise PageLost
            answer: httpx.Response | None = None
            with suppress(httpx.HTTPError, httpx.InvalidURL, ValueError):
                answer = await self._client.request(method, path, content=content)
            if answer is not None and answer.status_code in REFUSALS:
                self.lose(f"{self._at.refusal()}: {CONTINUES}\n  {REMEDY}")
            elif answer is None or answer.status_code == 429 or answer.is_server_error:
                self._has_answered = self._has_answered or answer is not None
                await self._bear_with_it()
            else:
                self._has_answered, self._went_well = True, self._loop.time()
                self.on_answer()
                if not answer.is_success:
                    words = f"{path}: HTTP {answer.status_code} {shorten(answer.text)}"
                    raise CallsheetError(redact(words))
                return _document(answer)

    async def _bear_with_it(self) -> None:
        """Wait for a server that may come back; give up one that never answered, or for long."""
        if not self._has_answered or self._loop.time() - self._went_well > GONE:
            self.lose(f"the Prefect server at {self._at.url} does not answer: {CONTINUES}")
        else:
            await asyncio.sleep(AGAIN)


def _state(shown: ShownState) -> dict[str, Any]:
    message = None if shown.message is None else redact(shown.message)
    return {"type": shown.type, "name": shown.name, "message": message}


def _document(answer: httpx.Response) -> dict[str, Any]:
    """Return what an answer says; most say something that is not read."""
    with suppress(ValueError):
        found = answer.json()
        return found if isinstance(found, dict) else {}
    return {}
