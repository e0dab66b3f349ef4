"""Programs that are kept up in a folder of the test's own, and the whole command."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from callsheet.deployments.up.orphans import VARIABLE, marked
from callsheet.deployments.up.programs import Program
from callsheet.deployments.up.supervisor import Supervisor
from callsheet.deployments.up.up_file import KeptPart, WhatIsUp, folder_of, last_up
from tests.launcher import IMPORTS
from tests.programs import CALLSHEET, Desk


@dataclass
class Kept:
    """What is kept up in a folder, and what was told of it."""

    home: Path
    mark: str
    watch: Supervisor
    told: list[str] = field(default_factory=list)

    def program(self, name: str, text: str, **more: object) -> Program:
        """Return a program of a few lines of Python."""
        own = {VARIABLE: self.mark, "PWD": str(self.home), "PYTHONPATH": IMPORTS}
        environ = {**os.environ, **own}
        return Program(name=name, words=("-c", text), environ=environ, **more)  # type: ignore[arg-type]


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with keeping(tmp_path) as made:
        yield made


@asynccontextmanager
async def keeping(home: Path, *, listen: float = 0.01, within: float = 5.0) -> AsyncIterator[Kept]:
    """Keep programs up until left; nothing of them is there after that."""
    folder_of(home).mkdir(parents=True)
    told: list[str] = []
    mark = secrets.token_hex(8)
    now = WhatIsUp(pid=os.getpid(), mark=mark, folder=str(home))
    watch = Supervisor(
        home,
        now,
        lambda part, words: told.append(f"{part} | {words}"),
        pause=0.01,
        listen=listen,
        within=within,
    )
    try:
        yield Kept(home, mark, watch, told)
    finally:
        await watch.end()


async def until(what: Callable[[], object]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(30):
        while True:
            if what():
                return
            await asyncio.sleep(0.02)


class Up:
    """One `callsheet up`, as a process."""

    def __init__(self, desk: Desk, *words: str) -> None:
        self.home = desk.folder / ".callsheet"
        self._errors = desk.folder / "errors.txt"
        with self._errors.open("a") as errors:
            self.process = subprocess.Popen(
                [*CALLSHEET, "up", "--json", *words],
                cwd=desk.folder,
                env=desk.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def ready(self) -> dict[str, Any]:
        """Wait until it is ready, and return its line."""
        line = self.process.stdout.readline()
        assert line, self.errors()
        return dict(json.loads(line))

    def errors(self) -> str:
        """Return what it said to people."""
        return self._errors.read_text()

    def mark(self) -> str:
        """Return what its processes have in their environment; empty before there is any."""
        found = last_up(self.home)
        return found.mark if found is not None and found.pid == self.process.pid else ""

    def part(self, name: str) -> KeptPart:
        """Return how it says that a part is."""
        found = last_up(self.home)
        assert found is not None, self.errors()
        return found.parts[name]

    def started(self) -> list[psutil.Process]:
        """Return everything that it has started, whatever session it is in."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        """Kill it, as if the power of this one process were cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """End it, however the test has left it."""
        self.kill()
        for pid in marked(self.mark()) if self.mark() else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder of somebody who has nothing configured; a free port for webhooks."""
    return Desk(tmp_path, {"CALLSHEET_RECEIVER": "127.0.0.1:0"})


@contextmanager
def up_at(desk: Desk, *words: str, trial: bool = True) -> Iterator[Up]:
    """Have it all up, with a sandbox unless told, on ports that are free, until left."""
    made = Up(desk, *(["--sandbox"] if trial else []), "--port", "0", *words)
    try:
        yield made
    finally:
        made.end()
