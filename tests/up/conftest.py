"""Programs that are kept up in a folder of the test's own."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deployments.up.leftovers import VARIABLE
from deployments.up.programs import Program
from deployments.up.supervisor import Supervisor
from deployments.up.what_is_up import WhatIsUp, folder_of
from tests.programs import ROOT


@dataclass
class Kept:
    """What is kept up in a folder, and what was told of it."""

    home: Path
    mark: str
    watch: Supervisor
    told: list[str] = field(default_factory=list)

    def program(self, name: str, text: str, **more: object) -> Program:
        """Return a program of a few lines of Python."""
        own = {VARIABLE: self.mark, "PWD": str(self.home), "PYTHONPATH": str(ROOT)}
        environ = {**os.environ, **own}
        return Program(name=name, words=("-c", text), environ=environ, **more)  # type: ignore[arg-type]


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with keeping(tmp_path) as made:
        yield made


@asynccontextmanager
async def keeping(home: Path) -> AsyncIterator[Kept]:
    """Keep programs up until left; nothing of them is there after that."""
    folder_of(home).mkdir(parents=True)
    told: list[str] = []
    mark = secrets.token_hex(8)
    now = WhatIsUp(pid=os.getpid(), mark=mark, folder=str(home))
    watch = Supervisor(home, now, lambda part, words: told.append(f"{part} | {words}"), pause=0.01)
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
