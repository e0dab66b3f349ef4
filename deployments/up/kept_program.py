"""One program that is kept up: started, waited for, and started again when it dies.

It has a session of its own, no standard input, and files to write to: what the terminal does, or
whoever started it, does not reach it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from callsheet.deployments.up.logs import LAST, Log, last_words
from callsheet.deployments.up.programs import WITHIN, Program, is_there
from callsheet.deployments.up.what_is_up import KeptPart, PartState
from callsheet.tasks.errors import BadInput, CallsheetError
from callsheet.tasks.plural import count

#: So many deaths within so many seconds are the end.
DEATHS, WHILE = 3, 60.0
#: The pause before a program is started again, which doubles, and the longest, in seconds.
PAUSE, LONGEST = 1.0, 30.0
#: How long a program may take to come up; the first time Prefect makes its database.
START_LIMIT = 180.0
#: How often is asked whether it is up, in seconds.
ASK = 0.25
#: How often one that is up is asked for its page, in seconds, and how many times in a row without
#: any answer show that it hangs. Counted, lest one hangs because the machine was asleep.
LISTEN, SILENCES = 30.0, 10

#: Is told what a part said, or what is said of it.
Tell = Callable[[str, str], None]


class KeptProgram:
    """One program that is kept up."""

    def __init__(
        self,
        program: Program,
        folder: Path,
        needs: Sequence[KeptProgram],
        note: Callable[[KeptProgram], None],
        tell: Tell,
        *,
        pause: float,
        listen: float = LISTEN,
        within: float = WITHIN,
    ) -> None:
        self.program = program
        self.needs = needs
        self.up = asyncio.Event()
        self.said: dict[str, Any] = {}
        self.log = Log(folder / f"{program.name}.log")
        self.part = KeptPart(
            state="waiting", since=time.time(), log=str(self.log.path), address=program.address
        )
        self._note = note
        self._tell = tell
        self._pause = pause
        self._listen = listen
        self._within = within
        self._process: asyncio.subprocess.Process | None = None
        self._deaths: list[float] = []
        self._came_up = False
        #: How large its log was when it was started the last time.
        self._logged = 0

    async def keep(self) -> None:
        """Start it again and again; raise CallsheetError once that is no use."""
        while True:
            for need in self.needs:
                await need.up.wait()
            status = await self._run()
            was_up = self.up.is_set()
            self._came_up |= was_up
            self.up.clear()
            if self.program.once and status == 0:
                self._move("done")
                self.up.set()
                self._tell(self.program.name, "done")
                return
            self._process = None
            # Of one that was up before, the settings were right: its ledger may be away for now.
            if status == BadInput.exit_status and not was_up and not self._came_up:
                raise self._given_up("cannot be started", BadInput)
            if all(need.up.is_set() for need in self.needs):
                self._count_death(was_up=was_up)
            pause = min(LONGEST, self._pause * 2.0 ** max(0, len(self._deaths) - 1))
            self.part = replace(self.part, restarts=self.part.restarts + 1)
            self._move("waiting")
            said = "" if was_up else "".join(f" ({line})" for line in self._last_words(1))
            words = f"{_how(status)}{said}; it is started again in {pause:.0f} s"
            self._tell(self.program.name, words)
            await asyncio.sleep(pause)

    async def end(self, grace: float, hurry: asyncio.Event) -> None:
        """End it in order within so many seconds, unless there is a hurry."""
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            ended = asyncio.create_task(process.wait())
            hurried = asyncio.create_task(hurry.wait())
            await asyncio.wait({ended, hurried}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
            if not ended.done():
                with suppress(ProcessLookupError):
                    process.kill()
            await ended
        self._move("ended")

    async def _run(self) -> int:
        """Start it, and return how it ended."""
        started = time.time()
        self._logged = self.log.size()
        listening = self.program.listening
        with self.log.path.open("ab") as log:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable, *self.program.words,
                env=dict(self.program.environ),
                cwd=self.program.environ["PWD"],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if self.program.says else log,
                stderr=log,
                start_new_session=True,
                pass_fds=() if listening is None else (listening.fileno(),),
            )  # fmt: skip
        self._move("starting")
        ended = asyncio.create_task(process.wait())
        coming = asyncio.create_task(self._come_up(process, started))
        hanging = asyncio.create_task(self._kill_when_it_hangs(process))
        try:
            either: set[asyncio.Task[Any]] = {ended, coming}
            done, _ = await asyncio.wait(
                either, timeout=START_LIMIT, return_when=asyncio.FIRST_COMPLETED
            )
            lost = coming in done and coming.exception() is not None
            if not self.up.is_set() and (lost or not done):
                late = f"it did not come up within {START_LIMIT:.0f} s"
                self._tell(self.program.name, "nobody can read what it says" if lost else late)
                with suppress(ProcessLookupError):
                    process.kill()
            return await ended
        finally:
            coming.cancel()
            hanging.cancel()
            await asyncio.gather(coming, hanging, return_exceptions=True)

    async def _come_up(self, process: asyncio.subprocess.Process, started: float) -> None:
        """Wait until it is up, and note that."""
        if self.program.says:
            assert process.stdout is not None
            self.said = json.loads(await process.stdout.readline() or "{}")
            if not self.said or "error" in self.said:
                await process.wait()
                return
        elif self.program.answers is not None:
            await self._answered(self.program.answers, started)
        else:
            await process.wait()
            return
        address = _address_in(self.said) or self.program.address
        self.part = replace(self.part, address=address)
        self.up.set()
        self._move("up")
        self._tell(self.program.name, "is up")
        if process.stdout is not None:
            # Nothing more is said there; read all the same, lest a full pipe holds it up.
            await process.stdout.read()

    async def _answered(self, answers: Callable[[float], bool], started: float) -> None:
        while True:
            if await asyncio.to_thread(answers, started):
                return
            await asyncio.sleep(ASK)

    async def _kill_when_it_hangs(self, process: asyncio.subprocess.Process) -> None:
        """Kill it once it has left its page unanswered too often in a row: it is started again."""
        await self.up.wait()
        silences = 0
        while self.program.page is not None:
            # No answer takes its time, too: that is part of the interval.
            interval = asyncio.create_task(asyncio.sleep(self._listen))
            there = await asyncio.to_thread(is_there, self.program.page, self._within)
            await interval
            silences = 0 if there else silences + 1
            if silences == SILENCES:
                self._tell(self.program.name, f"it hangs: asked {SILENCES} times, no answer")
                with suppress(ProcessLookupError):
                    process.kill()
                return

    def _count_death(self, *, was_up: bool) -> None:
        """Count a death: of one that never came up all count, however long each try took."""
        now = time.monotonic()
        recent = [one for one in self._deaths if not was_up or now - one < WHILE]
        self._deaths = [*recent, now]
        if len(self._deaths) >= DEATHS:
            raise self._given_up(f"ended {count(DEATHS, 'time')}", CallsheetError)

    def _given_up(self, words: str, kind: type[CallsheetError]) -> CallsheetError:
        said = self._last_words(LAST)
        quoted = "".join(f"\n    {line}" for line in said) or " it said nothing"
        return kind(
            f"the {self.program.name} of `callsheet up` {words}; its last words:{quoted}",
            remedy=f"all it said is in {self.log.path}",
        )

    def _last_words(self, count: int) -> list[str]:
        return last_words(self.log.path, count, since=self._logged)

    def _move(self, state: PartState) -> None:
        alive = self._process is not None and self._process.returncode is None
        pid = self._process.pid if self._process is not None and alive else None
        self.part = replace(self.part, state=state, since=time.time(), pid=pid)
        self._note(self)


def _address_in(said: dict[str, Any]) -> str | None:
    return said.get("url") or said.get("receiver") or said.get("auth_url")


def _how(status: int) -> str:
    if status >= 0:
        return f"it ended with {status}"
    with suppress(ValueError):
        return f"it was ended by {signal.Signals(-status).name}"
    return f"it was ended by signal {-status}"
