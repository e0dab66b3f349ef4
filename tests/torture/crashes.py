"""Kills at every crash point: a reference run lists the visits, then each of them is one trial.

Pass 1 records, pass 2 kills at every visit, pass 3 kills a sample of the recoveries as well.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.torture.hook import ANY
from tests.torture.points import visited
from tests.torture.result import Result, Violation
from tests.torture.scenario import SCENARIOS, Scenario
from tests.torture.stand import Stand, stand
from tests.torture.trial import Kill, Trial, attempt

#: What a finding is counted as in the table, by words that are in it.
_DOUBLE = ("charged 2", "charged 3", "calls were made", "belongs to no take", "over the budget")
_SECRET = "a secret:"
_LOST = ("ended", "has another film", "not in the store", "did not end", "the sheet has the rows")


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
        none = {"double charges": 0, "lost rows": 0, "secrets found": 0}
        result = Result(f"kills, {name}", Counter(none))
        _count(result, reference, None, scenario)
        plans = plans_of(reference, scenario, every=every, seconds=seconds, seed=seed)
        slices = [plans[n::workers] for n in range(workers) if plans[n::workers]]
        # Each worker has a service of its own; nothing is shared but the processors.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for n, found in enumerate(
                pool.map(_carry, slices, [name] * len(slices), [folder] * len(slices))
            ):
                for plan, trial in zip(slices[n], found, strict=True):
                    _count(result, trial, plan, scenario)
    result.points = visited(reference)
    result.counts["crash points"] = len(result.points)
    result.seconds = time.monotonic() - began
    return result


def plans_of(
    reference: Trial, scenario: Scenario, *, every: int, seconds: int, seed: int
) -> list[Plan]:
    """Return the trials that a reference run calls for, in the order of its visits."""
    chance = random.Random(seed)
    kills = [kill for kill in kills_of(reference) if kill.point.startswith(scenario.only)]
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
        return attempt(place, kill=plan.kill, again=plan.again)


def carry(place: Stand, plans: Sequence[Plan]) -> list[Trial]:
    """Carry trials out one after the other."""
    return [attempt(place, kill=plan.kill, again=plan.again) for plan in plans]


def _carry(plans: Sequence[Plan], name: str, folder: str) -> list[Trial]:
    place = Path(tempfile.mkdtemp(dir=folder))
    with stand(place, SCENARIOS[name]) as here:
        return carry(here, plans)


def _reference(folder: Path, scenario: Scenario) -> Trial:
    place = folder / "reference"
    place.mkdir()
    with stand(place, scenario) as here:
        # The first makes the films that the later ones are copies of, which takes longer.
        attempt(here)
        return attempt(here)


def _count(result: Result, trial: Trial, plan: Plan | None, scenario: Scenario) -> None:
    result.counts["kills"] += min(trial.kills, 1)
    result.counts["second kills"] += max(0, trial.kills - 1)
    again = (
        plan.command(scenario) if plan else f"python -m tests.torture --scenario {scenario.name}"
    )
    for finding in trial.findings:
        result.counts["double charges"] += any(words in finding for words in _DOUBLE)
        result.counts["secrets found"] += _SECRET in finding
        result.counts["lost rows"] += any(words in finding for words in _LOST)
        result.violations.append(Violation(finding, again))
