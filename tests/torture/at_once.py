"""Two processes carry one campaign at the same moment and are both killed; a third one finishes.

One of them has the campaign, the other waits for it and takes it over: where each is when it
ends is up to chance. The ledger is on PostgreSQL, which two processes can really write to.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.launcher import Process
from tests.programs import Finished
from tests.torture.hook import ANY, Hook, visits
from tests.torture.result import NONE_YET, Result
from tests.torture.stand import Stand, stand
from tests.torture.trial import KILLED, PARKED, Attempt, Trial
from tests.torture.verbs import AT_ONCE

#: The visits at which the two of a trial end, counted in each by itself.
Pair = tuple[int, int]


def at_once(*, trials: int, seed: int, workers: int) -> Result:
    """Carry out so many trials; `seed` chooses where they are killed."""
    began = time.monotonic()
    result = Result(AT_ONCE.name, Counter(NONE_YET))
    again = f"python -m tests.torture --only {AT_ONCE.name} --seed {seed}"
    chance = random.Random(seed)
    # Rather early than late: whoever comes second has less left to do.
    orders = [
        (min(chance.random(), chance.random()), min(chance.random(), chance.random()))
        for _ in range(trials)
    ]
    slices = [orders[n::workers] for n in range(workers) if orders[n::workers]]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for found in pool.map(_carry, slices):
            for trial in found:
                result.add(trial.kills, trial.findings, again)
    result.seconds = time.monotonic() - began
    return result


def _carry(places: Sequence[tuple[float, float]]) -> list[Trial]:
    """Carry trials out one after the other; a place says how far on its way each process ends."""
    with (
        tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder,
        stand(Path(folder), AT_ONCE) as here,
    ):
        # The first makes the videos that the later ones are copies of.
        undisturbed = [Attempt(here, None, None).carry() for _ in range(2)]
        length = sum(len(run) for run in undisturbed[-1].traces[0])
        pairs = [(1 + int(one * length), 1 + int(other * length)) for one, other in places]
        return [*undisturbed, *(_Both(here, pair).carry() for pair in pairs)]


class _Both(Attempt):
    """A campaign that two processes begin, and a third one carries to its end."""

    def __init__(self, here: Stand, pair: Pair) -> None:
        super().__init__(here, None, None)
        self.pair = pair

    def _run_to_its_end(self, step: int) -> None:
        if not self.traces[step]:
            self._begin_twice(step)
        super()._run_to_its_end(step)

    def _begin_twice(self, step: int) -> None:
        words = self._words(step)
        both = [self._begin(nth, words, which) for which, nth in enumerate(self.pair)]
        for one in map(self._end, both):
            self.kills += one.status == KILLED
            self.said += one.out + one.err
            if one.status not in (0, 3, KILLED, PARKED) or "Traceback" in one.out + one.err:
                self.findings.append(f"one of two ended with {one.status}: {one.err[-300:]}")
        self.traces[step] = [visits(self._trace(which)) for which in range(2)]

    def _begin(self, nth: int, words: Sequence[str], which: int) -> Process:
        hook = Hook(self._trace(which), ANY, nth).as_json()
        return self.place.desk.start(*words, hook=hook)

    def _end(self, process: Process) -> Finished:
        out, err = process.communicate(timeout=300)
        return Finished(process.wait(), out, err)

    def _trace(self, which: int) -> Path:
        return self.place.desk.folder / f"trace-{'ab'[which]}"
