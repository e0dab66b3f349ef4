"""Kills at every crash point: a reference run lists the visits, then each of them is one trial.

Pass 1 records, pass 2 kills at every visit, pass 3 kills a sample of the recoveries as well.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.torture.campaign import Scenario
from tests.torture.direct import type_it
from tests.torture.hook import ANY
from tests.torture.points import visited
from tests.torture.result import NONE_YET, Result
from tests.torture.scenario import SCENARIOS
from tests.torture.settling import settle
from tests.torture.stand import Stand, stand
from tests.torture.trial import Kill, Trial, attempt


@dataclass(frozen=True)
class Plan:
    """The kills of one trial: the first, and the one in its recovery."""

    kill: Kill
    again: Kill | None = None

    def command(self, scenario: Scenario) -> str:
        """Return the words that carry this trial out by itself."""
        words = f"python -m tests.torture --scenario {scenario.name} {self.kill}"
        return f"{words} --then {self.again.nth}" if self.again else words


def crashes(name: str, *, every: int, seconds: int, seed: int, workers: int) -> Result:
    """Try every `every`-th visit of a scenario, and `seconds` second kills, chosen by `seed`."""
    began, scenario = time.monotonic(), SCENARIOS[name]
    with tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder:
        reference = _reference(Path(folder), scenario)
        result = Result(f"kills, {name}", Counter(NONE_YET))
        plainly = f"python -m tests.torture --scenario {name}"
        result.add(reference.kills, reference.findings, plainly)
        plans = plans_of(reference, scenario, every=every, seconds=seconds, seed=seed)
        slices = [plans[n::workers] for n in range(workers) if plans[n::workers]]
        # Each worker has a service of its own; nothing is shared but the processors.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for n, found in enumerate(
                pool.map(_carry, slices, [name] * len(slices), [folder] * len(slices))
            ):
                for plan, trial in zip(slices[n], found, strict=True):
                    result.add(trial.kills, trial.findings, plan.command(scenario))
    result.points = visited(reference)
    result.counts["crash points"] = len(result.points)
    result.seconds = time.monotonic() - began
    return result


def plans_of(
    reference: Trial, scenario: Scenario, *, every: int, seconds: int, seed: int
) -> list[Plan]:
    """Return the trials that a reference run calls for, in the order of its visits."""
    chance = random.Random(seed)
    kills = [
        kill
        for kill in kills_of(reference)
        if kill.step in scenario.tried and kill.point.startswith(scenario.only)
    ]
    plans = [Plan(kill) for kill in kills[chance.randrange(every) :: every]]
    for kill in chance.choices(kills, k=seconds):
        length = sum(len(run) for run in reference.traces[kill.step])
        # Rather early than late: a recovery has less to do than the run before it.
        nth = min(chance.randrange(1, length), chance.randrange(1, length))
        plans.append(Plan(kill, Kill(kill.step, ANY, nth)))
    return plans


def kills_of(reference: Trial) -> list[Kill]:
    """Return every visit of a reference run as the kill that hits it."""
    kills = []
    for step, runs in enumerate(reference.traces):
        counts: Counter[str] = Counter()
        for visit in (visit for run in runs for visit in run):
            counts[visit.point] += 1
            kills.append(Kill(step, visit.point, counts[visit.point]))
    return kills


def one_trial(scenario: Scenario, plan: Plan) -> Trial:
    """Carry out a single trial, on a stand of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder,
        stand(Path(folder), scenario) as place,
    ):
        return _tell(place, plan)


def carry(place: Stand, plans: Sequence[Plan]) -> list[Trial]:
    """Carry trials out one after the other."""
    return [_tell(place, plan) for plan in plans]


def _tell(place: Stand, plan: Plan) -> Trial:
    try:
        return _teller(place.scenario)(place, kill=plan.kill, again=plan.again)
    except Exception as error:
        # The others go on, and this one can be tried again by itself.
        place.service.clear_faults()
        return Trial([f"the trial broke off: {error!r}"], 0)


def _teller(scenario: Scenario) -> Callable[..., Trial]:
    if scenario.typed:
        return type_it
    return settle if scenario.settles else attempt


def _carry(plans: Sequence[Plan], name: str, folder: str) -> list[Trial]:
    place = Path(tempfile.mkdtemp(dir=folder))
    with stand(place, SCENARIOS[name]) as here:
        return carry(here, plans)


def _reference(folder: Path, scenario: Scenario) -> Trial:
    place = folder / "reference"
    place.mkdir()
    with stand(place, scenario) as here:
        # The first makes the videos that the later ones are copies of, which takes longer.
        _teller(scenario)(here)
        return _teller(scenario)(here)
