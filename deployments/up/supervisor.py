"""Starts programs in order and restarts what crashes.

Each program has its own session, no standard input, and writes to files, so that it does not
depend on the terminal.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.deployments.receiver.endpoint import answer_at
from callsheet.deployments.up.programs import LAST, WITHIN, Log, Program, last_words
from callsheet.deployments.up.up_file import KeptPart, PartState, WhatIsUp, folder_of, write_up
from callsheet.tasks.runtime.errors import BadInput, CallsheetError
from callsheet.tasks.values.amounts import count

#: This many crashes within this many seconds end all parts.
DEATHS, WHILE = 3, 60.0
#: First and longest pause before a restart, in seconds; it doubles each time.
PAUSE, LONGEST = 1.0, 30.0
#: Time limit for a start in seconds; the first time Prefect creates its database.
START_LIMIT = 180.0
#: How often to check whether it is up, in seconds.
ASK = 0.25
#: How often to request its page, in seconds, and how many failures in a row mean that it hangs.
#: Failures are counted, because the machine may have been asleep.
LISTEN, SILENCES = 30.0, 10

#: Receives the output of a part, or a message about it.
Tell = Callable[[str, str], None]


class KeptProgram:
    """One supervised program."""

    def __init__(self, program: Program, needs: Sequence[KeptProgram], watch: Supervisor) -> None:
        self.program = program
        self.needs = needs
        self.up = asyncio.Event()
        self.said: dict[str, Any] = {}
        self.log = Log(folder_of(watch.home) / f"{program.name}.log")
        self.part = KeptPart(
            state="waiting", since=time.time(), log=str(self.log.path), address=program.address
        )
        self._watch = watch
        self._process: asyncio.subprocess.Process | None = None
        self._deaths: list[float] = []
        self._came_up = False
        #: Size of its log at its last start.
        self._logged = 0

    async def keep(self) -> None:
        """Start and restart it; raise CallsheetError if it keeps crashing."""
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
                self._tell("done")
                return
            self._process = None
            # If it was up before, its settings are right: its ledger may be unavailable.
            if status == BadInput.exit_status and not was_up and not self._came_up:
                raise self._given_up("cannot be started", BadInput)
            if all(need.up.is_set() for need in self.needs):
                self._count_death(was_up=was_up)
            pause = min(LONGEST, self._watch.pause * 2.0 ** max(0, len(self._deaths) - 1))
            self.part = replace(self.part, restarts=self.part.restarts + 1)
            self._move("waiting")
            said = "" if was_up else "".join(f" ({line})" for line in self._last_words(1))
            words = f"{_how(status)}{said}; restarting in {pause:.0f} s"
            self._tell(words)
            await asyncio.sleep(pause)

    async def end(self, grace: float, hurry: asyncio.Event) -> None:
        """Stop it cleanly within a time limit, or immediately."""
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
        """Start it and return its exit status."""
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
                late = f"it did not start within {START_LIMIT:.0f} s"
                self._tell("its output cannot be read" if lost else late)
                with suppress(ProcessLookupError):
                    process.kill()
            return await ended
        finally:
            coming.cancel()
            hanging.cancel()
            await asyncio.gather(coming, hanging, return_exceptions=True)

    async def _come_up(self, process: asyncio.subprocess.Process, started: float) -> None:
        """Wait until it is up and record that."""
        if self.program.says:
            assert process.stdout is not None
            self.said = json.loads(await process.stdout.readline() or "{}")
            if not self.said or "error" in self.said:
                await process.wait()
                return
        elif self.program.answers is not None:
            while True:
                if await asyncio.to_thread(self.program.answers, started):
                    break
                await asyncio.sleep(ASK)
        else:
            await process.wait()
            return
        address = _address_in(self.said) or self.program.address
        self.part = replace(self.part, address=address)
        self.up.set()
        self._move("up")
        self._tell("is up")
        if process.stdout is not None:
            # Keep reading, because a full pipe would block the program.
            await process.stdout.read()

    async def _kill_when_it_hangs(self, process: asyncio.subprocess.Process) -> None:
        """Kill it after too many failed checks in a row, so that it restarts."""
        await self.up.wait()
        silences = 0
        while self.program.page is not None:
            # A timeout is part of the interval.
            interval = asyncio.create_task(asyncio.sleep(self._watch.listen))
            asking = partial(answer_at, self.program.page, within=self._watch.within)
            answer = await asyncio.to_thread(asking)
            await interval
            silences = silences + 1 if answer is None else 0
            if silences == SILENCES:
                self._tell(f"it hangs: no answer to {SILENCES} checks")
                with suppress(ProcessLookupError):
                    process.kill()
                return

    def _count_death(self, *, was_up: bool) -> None:
        """Count a crash; if it never came up, every crash counts, however long it took."""
        now = time.monotonic()
        recent = [one for one in self._deaths if not was_up or now - one < WHILE]
        self._deaths = [*recent, now]
        if len(self._deaths) >= DEATHS:
            raise self._given_up(f"ended {count(DEATHS, 'time')}", CallsheetError)

    def _given_up(self, words: str, kind: type[CallsheetError]) -> CallsheetError:
        said = self._last_words(LAST)
        quoted = "".join(f"\n    {line}" for line in said) or " it printed nothing"
        return kind(
            f"the {self.program.name} of `callsheet up` {words}; its last lines:{quoted}",
            remedy=f"its log is {self.log.path}",
        )

    def _tell(self, words: str) -> None:
        self._watch.tell(self.program.name, words)

    def _last_words(self, count: int) -> list[str]:
        return last_words(self.log.path, count, since=self._logged)

    def _move(self, state: PartState) -> None:
        alive = self._process is not None and self._process.returncode is None
        pid = self._process.pid if self._process is not None and alive else None
        self.part = replace(self.part, state=state, since=time.time(), pid=pid)
        self._watch.note(self)


def _address_in(said: dict[str, Any]) -> str | None:
    return said.get("url") or said.get("receiver") or said.get("auth_url")


def _how(status: int) -> str:
    if status >= 0:
        return f"it ended with {status}"
    with suppress(ValueError):
        return f"it was stopped by {signal.Signals(-status).name}"
    return f"it was stopped by signal {-status}"


# Supervises programs: starts each after its requirements, and restarts it when it dies.
#
# A program that keeps crashing ends all of them, with its last lines. If this process is killed,
# another process ends the orphans.


#: How long programs have to stop cleanly, in seconds: a Prefect worker waits for its runs.
GRACE = 30.0
#: How often to read the logs, in seconds.
READ = 0.3


class Supervisor:
    """All programs of one `up`."""

    def __init__(
        self,
        home: Path,
        now: WhatIsUp,
        tell: Tell,
        *,
        pause: float = PAUSE,
        listen: float = LISTEN,
        within: float = WITHIN,
    ) -> None:
        self.home, self.now, self.tell = home, now, tell
        self.pause, self.listen, self.within = pause, listen, within
        #: Done when all parts must stop; an error names the part that caused it.
        self.ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._kept: dict[str, KeptProgram] = {}
        self._keeping: list[asyncio.Task[None]] = []
        self._hurry = asyncio.Event()
        self._speaks = False
        self._leftovers: subprocess.Popen[bytes] | None = None
        self._reading = asyncio.create_task(self._read_logs(), name="logs")
        self._guard()

    def stop(self) -> None:
        """Stop everything cleanly; the second time, immediately."""
        if self.ending.done():
            self._hurry.set()
        else:
            self.ending.set_result(None)

    def keep(self, program: Program) -> None:
        """Start to supervise a program."""
        needs = [self._kept[name] for name in program.needs if name in self._kept]
        kept = KeptProgram(program, needs, self)
        self._kept[program.name] = kept
        self.note(kept)
        self._keeping.append(asyncio.create_task(self._keep(kept), name=program.name))

    async def are_up(self, *names: str) -> bool:
        """Wait until these parts, by default all, are up; return False if stopped before.

        Raise CallsheetError for a part that keeps crashing.
        """
        kept = [one for name, one in self._kept.items() if not names or name in names]

        async def come_up() -> None:
            for one in kept:
                await one.up.wait()

        up = asyncio.create_task(come_up())
        either: set[asyncio.Future[None]] = {up, self.ending}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self.ending.done():
                self.ending.result()
                return False
            return True
        finally:
            up.cancel()

    def said(self, name: str) -> dict[str, Any]:
        """Return the ready line of the last start of a program."""
        kept = self._kept.get(name)
        return kept.said if kept is not None else {}

    def let_speak(self) -> None:
        """Start to show the output of the parts; their startup output is in the logs."""
        self._show_logs()
        self._speaks = True

    def change(self, **what: Any) -> None:
        """Add details to the status file."""
        self.now = replace(self.now, **what)
        try:
            write_up(self.home, self.now)
        except OSError as error:
            # Supervision continues, for example while the disk is full.
            self.tell("up", f"cannot write the status file: {error.strerror}")

    async def end(self) -> None:
        """Stop everything in reverse order of dependency, then any orphans."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        left = dict(self._kept)
        while left:
            needed = {need.program.name for one in left.values() for need in one.needs}
            first = {name: one for name, one in left.items() if name not in needed}
            await asyncio.gather(*(one.end(GRACE, self._hurry) for one in first.values()))
            left = {name: one for name, one in left.items() if name not in first}
        if self._leftovers is not None and self._leftovers.stdin is not None:
            self._leftovers.stdin.close()
            await asyncio.to_thread(self._leftovers.wait)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._show_logs()

    async def _keep(self, kept: KeptProgram) -> None:
        try:
            await kept.keep()
        # Any error: the part is not supervised any more.
        except Exception as error:
            if not self.ending.done():
                self.ending.set_exception(error)

    def note(self, kept: KeptProgram) -> None:
        """Record how a part is."""
        self.change(parts={**self.now.parts, kept.program.name: kept.part})

    async def _read_logs(self) -> None:
        while True:
            await asyncio.sleep(READ)
            self._show_logs()
            with suppress(OSError):
                # There is no memory for another process: try again.
                self._guard()

    def _show_logs(self) -> None:
        for name, kept in self._kept.items():
            with suppress(OSError):
                for line in kept.log.new_lines():
                    shows = kept.program.shows
                    if self._speaks and (shows is None or shows.match(line)):
                        self.tell(name, line)

    def _guard(self) -> None:
        """Start the process that ends the orphans if this one is killed."""
        if self._leftovers is not None and self._leftovers.poll() is None:
            return
        self._leftovers = subprocess.Popen(
            [sys.executable, "-P", "-m", "callsheet.deployments.up.orphans", self.now.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
