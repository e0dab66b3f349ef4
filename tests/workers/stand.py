"""Workers as processes of this machine, started without Prefect, and a run that has them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run, current_run
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.campaign.workers import WorkersAtWork
from callsheet.tasks.runtime.settings import load_settings
from tests.approvers import Approving
from tests.launcher import Process, launcher


@dataclass
class Processes:
    """Starts a process for each worker; `environ` is what each of them reads its settings from."""

    folder: Path
    environ: Mapping[str, str]
    workers: dict[tuple[int, int], Process] = field(default_factory=dict)

    async def find(self) -> Processes:
        return self

    async def start(self, production: str, number: int, turn: int) -> None:
        if (number, turn) not in self.workers:
            self.workers[number, turn] = launcher("worker").start(
                [production, str(number)],
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )

    async def at_work(self) -> WorkersAtWork | None:
        return WorkersAtWork(0, sum(one.poll() is None for one in self.workers.values()))

    async def end(self) -> None:
        pass

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to the first start of a worker."""
        os.kill(self.workers[number, 0].pid, what)

    def ended(self) -> dict[tuple[int, int], dict[str, Any] | None]:
        """Wait for every worker; return what each said, None for one that could not."""
        said = {}
        for name, process in self.workers.items():
            out, err = process.communicate(timeout=60)
            assert "Traceback" not in err, err
            said[name] = json.loads(out) if process.returncode == 0 else None
        return said


async def run_with(
    processes: Processes,
    sheet: str,
    count: int,
    *,
    meddle: Callable[[Run], Any] | None = None,
    **options: Any,
) -> RunOutcome:
    """Run a sheet with so many workers; `meddle` is called with the run once it produces."""
    settings = load_settings(environ=processes.environ, folder=processes.folder)
    asked = RunOptions(sheet=sheet, workers=count, **{"wait": "poll", **options})
    begun: asyncio.Future[Run] = asyncio.get_running_loop().create_future()

    async def begins() -> None:
        begun.set_result(current_run())

    going = partial(run_sheet, asked, settings, Approving())
    running = asyncio.ensure_future(going(find_starter=processes.find, begins=begins))
    if meddle is not None:
        await asyncio.wait([running, begun], return_when=asyncio.FIRST_COMPLETED)
        if begun.done():
            await asyncio.wait(
                [running, asyncio.ensure_future(meddle(begun.result()))],
                return_when=asyncio.ALL_COMPLETED,
            )
    return await running
