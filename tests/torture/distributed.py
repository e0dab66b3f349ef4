"""Two workers carry one campaign, and one of them is killed, or the run that they are for.

What is killed is chosen by the visits of an undisturbed campaign: every n-th of each process. A
worker that is killed leaves its lease to lapse, and the other one takes its rows up; a run that is
killed is run again, when its workers are done or gone.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import IO

from tests.launcher import Process, launcher
from tests.programs import Finished
from tests.torture.campaign import Scenario
from tests.torture.hook import ANY, Hook, visits
from tests.torture.result import NONE_YET, Result
from tests.torture.scenario import SCENARIOS
from tests.torture.stand import Stand, stand
from tests.torture.trial import KILLED, Attempt, Kill, Trial
from tests.torture.verbs import DISTRIBUTED

#: The run, and its two workers.
WHO = ("run", "1", "2")
#: How long the rows of somebody who gives no sign of life are theirs.
LEASE = "1s"


def distributed(*, every: int, workers: int, scenario: Scenario = DISTRIBUTED) -> Result:
    """Kill each of the three at every `every`-th of its visits."""
    began = time.monotonic()
    result = Result(scenario.name, Counter(NONE_YET))
    kills = [(scenario.name, who, every, part, workers) for who in WHO for part in range(workers)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for found in pool.map(_carry, kills):
            for again, trial in found:
                result.add(trial.kills, trial.findings, again)
    result.seconds = time.monotonic() - began
    return result


def _carry(order: tuple[str, str, int, int, int]) -> list[tuple[str, Trial]]:
    name, who, every, part, parts = order
    with (
        tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder,
        stand(Path(folder), SCENARIOS[name]) as here,
    ):
        undisturbed = Distributed(here).carry()
        runs = undisturbed.traces[here.scenario.tried_from]
        count = len(runs[WHO.index(who)]) if undisturbed.evidence else 0
        places = range(1 + part * every, count + 1, every * parts)
        trials = [
            (f"{name}: {who} at its visit {nth}", Distributed(here, who, nth).carry())
            for nth in places
        ]
        return [(f"{name}: undisturbed", undisturbed), *trials]


class Distributed(Attempt):
    """A campaign that a run has two workers carry; one of the three, or each `worker`, ends at its
    `nth` visit of a point, in the run of the first sheet in which the scenario is tried."""

    def __init__(self, here: Stand, who: str = "", nth: int = 0, point: str = ANY) -> None:
        super().__init__(here, None, None)
        self.place.desk.environ["CALLSHEET_LEASE"] = LEASE
        self.who = who
        self.nth = nth
        self.point = point
        self._calls = 0

    def _call(self, words: list[str], step: int, kill: Kill | None) -> Finished:
        """Run a sheet with workers, which are started as the run asks for them."""
        self._calls += 1
        budget = words[words.index("--budget") + 1]
        run = self._start("distributed-run", [words[1], "2", budget], "run")
        workers: list[Process] = []
        assert run.stdout is not None
        said: list[str] = []
        starting = threading.Thread(target=self._start_workers, args=(run.stdout, workers, said))
        starting.start()
        errors = run.stderr.read() if run.stderr else ""
        status = run.wait(300)
        starting.join(60)
        ends = [self._end(worker) for worker in workers]
        names = [name for name in WHO if self._trace(name).exists()]
        self.traces[step] += [visits(self._trace(name)) for name in names]
        for one in ends:
            self.kills += one.status == KILLED
            if one.status not in (0, KILLED) or "Traceback" in one.out + one.err:
                self.findings.append(f"a worker ended with {one.status}: {one.err[-300:]}")
        if "Traceback" in errors:
            self.findings.append(f"the run broke: {errors[-300:]}")
        out = said[-1] if said else ""
        self.said += "".join([errors, *said, *(one.out + one.err for one in ends)])
        return Finished(status, out, errors)

    def _start_workers(self, asked: IO[str], workers: list[Process], said: list[str]) -> None:
        for line in asked:
            if not line.startswith("start "):
                said.append(line)
                continue
            _, production, number, turn = line.split()
            workers.append(self._start("worker", [production, number], number, turn=turn))

    def _start(self, program: str, words: Sequence[str], who: str, turn: str = "0") -> Process:
        is_tried = self._calls == 1 + self.scenario.tried_from
        killed = is_tried and turn == "0" and self.who in (who, program)
        trace = self._trace(who)
        hook = Hook(trace, self.point, self.nth) if killed else Hook(trace)
        desk = self.place.desk
        return launcher(program).start(
            words,
            cwd=desk.folder,
            env=desk.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            hook=json.loads(json.dumps(hook.as_json())),
        )

    def _end(self, process: Process) -> Finished:
        out, err = process.communicate(timeout=300)
        return Finished(process.wait(), out, err)

    def _trace(self, who: str) -> Path:
        return self.place.desk.folder / f"trace-{self._calls}-{who}"
