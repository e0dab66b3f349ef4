"""Kills at every visit of a crash point, or at one in N, of what is killed beside a sheet's run.

The first attempt kills nothing: its visits are what the others are killed at.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.programs import Sandbox, sandbox
from tests.torture.hook import Hook, Visit
from tests.torture.result import NONE_YET, Result

#: Credits without end, and a clock on which a video takes a moment.
SERVICE = ("--credits", "100000000", "--time-scale", "600")


@dataclass(frozen=True)
class Kill:
    """Where a process is killed: at the nth visit of a point. None: nowhere, visits are listed."""

    point: str | None
    nth: int = 1

    def hook(self, trace: Path) -> dict[str, object]:
        """Return the order to the process that is killed."""
        return Hook(trace, self.point, self.nth).as_json()


@dataclass(frozen=True)
class Trial:
    """What became of one kill: the visits of the process, and what is wrong, in a sentence each."""

    visits: Sequence[Visit]
    findings: Sequence[str]
    #: False where the visit did not come again: how often a video is looked at is up to the clock.
    killed: bool = True


Attempt = Callable[[Path, Sandbox, str, Kill], Trial]


def sweep(kind: str, attempt: Attempt, *, every: int, seed: int) -> Result:
    """Attempt a kill at every nth visit of those that an attempt without any comes by."""
    began, numbers = time.monotonic(), iter(range(10**6))
    result = Result(f"kills, {kind}", Counter(NONE_YET))
    again = f"python -m tests.torture --only beside --seed {seed}"

    def tried(kill: Kill) -> Trial:
        with tempfile.TemporaryDirectory() as folder:
            trial = attempt(Path(folder), service, f"{kind}-{next(numbers)}", kill)
        found = [f"{kind}, visit {kill.nth} of {kill.point}: {one}" for one in trial.findings]
        result.add(int(trial.killed and kill.point is not None), found, again)
        return trial

    with tempfile.TemporaryDirectory() as state, sandbox(Path(state), *SERVICE) as service:
        kills = list(_kills_in(tried(Kill(None)).visits))
        for kill in kills[random.Random(seed).randrange(every) :: every]:
            tried(kill)
    result.seconds = time.monotonic() - began
    return result


def _kills_in(visits: Sequence[Visit]) -> list[Kill]:
    counts: Counter[str] = Counter()
    kills = []
    for visit in visits:
        counts[visit.point] += 1
        kills.append(Kill(visit.point, counts[visit.point]))
    return kills
