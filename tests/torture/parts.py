"""The parts of the torture, by name: each yields the lines that it adds to the table.

A part is a function of `Options`. To add one, write it in a file of its own and name it here.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.mutants.lines import RECORD, ROOT, SECONDS
from tests.torture.at_once import at_once
from tests.torture.crashes import crashes
from tests.torture.distributed import distributed
from tests.torture.points import named, unvisited, visited_alone
from tests.torture.restores import (
    RESTORED_AGED,
    RESTORED_EDITS,
    RESTORED_RENAMES,
    RESTORES,
    restores,
)
from tests.torture.result import Result, Violation
from tests.torture.suites import run_tests, slow_files
from tests.torture.sweep import Attempt, sweep
from tests.torture.verbs import DISTRIBUTED, EDITED_BY_WORKERS

#: Stories that the model tells, and times that two processes are killed together.
EXAMPLES, TOGETHER = 500, 24
#: Small changes by chance that are tried.
MUTANTS = 40


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked of every part: a seed for all chance, how much, how many at once."""

    seed: int
    every: int = 1
    workers: int = 2


def every_point(options: Options) -> Iterator[Result]:
    """Kill at every visit of the reference campaigns, and some of the recoveries."""
    points: set[str] = set()
    for name, seconds in (
        ("folder", 40),
        ("limits", 10),
        ("waiting", 3),
        ("retake", 5),
        ("retried", 3),
        ("first", 3),
        ("auto", 3),
        ("renames", 3),
        ("adopted", 3),
        ("edits", 3),
        ("long", 0),
        ("rclone", 3),
        ("moto", 3),
        ("postgres", 5),
    ):
        result = crashes(
            name,
            every=options.every,
            seconds=seconds // options.every,
            seed=options.seed,
            workers=options.workers,
        )
        points |= result.points
        yield result
    missed = sorted(unvisited(points) - visited_alone())
    words = [
        Violation(f"nothing came by the crash point {name}", "see scenario.py") for name in missed
    ]
    yield Result("points in the source", Counter({"crash points": len(named())}), words)


def verbs(options: Options) -> Iterator[Result]:
    """Kill what a person cancels, repairs or prunes with, and the run after it."""
    for name, every, seconds in (
        ("cancel", 2, 4),
        ("reconcile", 3, 3),
        ("prune", 2, 3),
        ("aged", 2, 3),
    ):
        yield crashes(
            name,
            every=every * options.every,
            seconds=seconds // options.every,
            seed=options.seed,
            workers=options.workers,
        )


def by_hand(options: Options) -> Iterator[Result]:
    """Kill paid commands that are typed by hand, at every visit."""
    for name, seconds in (
        ("create", 3),
        ("animate", 6),
        ("scene", 6),
        ("animate-waiting", 0),
        ("scene-waiting", 0),
    ):
        yield crashes(
            name,
            every=options.every,
            seconds=seconds // options.every,
            seed=options.seed,
            workers=options.workers,
        )


def two_at_once(options: Options) -> Iterator[Result]:
    """Kill two processes that carry the same campaign at the same moment."""
    yield at_once(
        trials=max(2, TOGETHER // options.every), seed=options.seed, workers=options.workers
    )


def several_workers(options: Options) -> Iterator[Result]:
    """Kill workers that carry a campaign together, and the run that they are for."""
    for scenario in (DISTRIBUTED, EDITED_BY_WORKERS):
        yield distributed(every=8 * options.every, workers=options.workers, scenario=scenario)


def restored_backups(options: Options) -> Iterator[Result]:
    """Restore a backup of every moment after the campaign went on, before and past the horizon."""
    for scenario, every in (
        (RESTORES, 1),
        (RESTORED_EDITS, 2),
        (RESTORED_RENAMES, 3),
        (RESTORED_AGED, 4),
    ):
        yield restores(every=every * options.every, workers=options.workers, scenario=scenario)


def faults(options: Options) -> Iterator[Result]:
    """Everything that is known to go wrong, the slow ones too."""
    found = run_tests(["tests/faults"])
    counts = Counter({"faults": found.passed})
    yield Result("faults, one by one", counts, found.failed, found.seconds)


def pipeline(options: Options) -> Iterator[Result]:
    """What the tests of the pipeline, and of all before it, leave out because it takes long."""
    folders = ("tests/pipeline", "tests/up")
    found = run_tests([file for folder in folders for file in slow_files(folder)])
    counts = Counter({"slow tests": found.passed})
    yield Result("the pipeline, slow tests", counts, found.failed, found.seconds)


def slow(options: Options) -> Iterator[Result]:
    """Every test that is marked slow, wherever it is; those of the faults run with them."""
    folders = ("unit", "contract", "receiver", "pipeline", "board", "up")
    found = run_tests([f"tests/{folder}" for folder in folders], marked="slow")
    counts = Counter({"slow tests": found.passed})
    yield Result("what is marked slow", counts, found.failed, found.seconds)


def board(options: Options) -> Iterator[Result]:
    """What the tests of the board leave out because it takes long."""
    found = run_tests(slow_files("tests/board"))
    counts = Counter({"slow tests": found.passed})
    yield Result("the board, slow tests", counts, found.failed, found.seconds)


def beside(options: Options) -> Iterator[Result]:
    """Kill what is at work beside a sheet's run, at one in ten visits: the board, a night."""
    from tests.board.kills import kill_board, kill_run
    from tests.pipeline.night_kills import sweep_killed

    kinds: Mapping[str, Attempt] = {
        "board-run": lambda *given: asyncio.run(kill_run(*given)),
        "board-retake": lambda *given: asyncio.run(kill_run(*given, retake=True)),
        "board": lambda *given: asyncio.run(kill_board(*given)),
        "night": sweep_killed,
    }
    for kind, attempt in kinds.items():
        yield sweep(kind, attempt, every=10 * options.every, seed=options.seed)


def model(options: Options) -> Iterator[Result]:
    """Stories told by chance, against the program with virtual time."""
    from tests.model.torture import run

    began = time.monotonic()
    told = run(EXAMPLES // options.every)
    violations = [Violation(words, "as it says itself") for words in told["violations"]]
    counts = Counter({"model steps": int(told["steps"])})
    yield Result("model", counts, violations, time.monotonic() - began)


def mutations(options: Options) -> Iterator[Result]:
    """Every safeguard taken out in turn: a test has to go red."""
    from tests.guards.mutations import SURVIVED, run, safeguards

    began = time.monotonic()
    found = run(safeguards())
    violations = [
        Violation(f"nothing noticed that this is gone: {name}", "python -m tests.guards.mutations")
        for name, killer in found
        if killer == SURVIVED
    ]
    counts = Counter({"mutations": len(found)})
    yield Result("mutations", counts, violations, time.monotonic() - began)


def random_mutants(options: Options) -> Iterator[Result]:
    """Small changes by chance, and how many of them the tests notice: a score, no promise."""
    began = time.monotonic()
    python = monitored()
    if python is None:
        yield Result("random mutants: no Python 3.12 or newer is set up", Counter(), [])
        return
    words = ["--count", str(MUTANTS // options.every), "--seed", str(options.seed), "--json"]
    known = [] if (RECORD / SECONDS).exists() else [["record"]]
    for asked in (*known, words):
        done = subprocess.run(
            [python, "-m", "tests.mutants", *asked], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
    *table, counts = done.stdout.splitlines()
    print("\n".join(table))
    found = json.loads(counts)
    yield Result("random mutants", Counter(found), [], time.monotonic() - began)


def monitored() -> str | None:
    """Return a Python that tells which lines it runs, with what tests need: of `make quick`."""
    if hasattr(sys, "monitoring"):
        return sys.executable
    several = sorted(ROOT.glob(".venv-3.1[2-9]/bin/python"))
    return str(several[-1]) if several else None


def secrets(options: Options) -> Iterator[Result]:
    """No secret is anywhere but where it has to be."""
    found = run_tests(["tests/guards/test_secrets_everywhere.py", *slow_files("tests/guards")])
    counts = Counter({"secrets found": len(found.failed)})
    yield Result("secrets", counts, found.failed, found.seconds)


Part = Callable[[Options], Iterator[Result]]

PARTS: Mapping[str, Part] = {
    "crashes": every_point,
    "verbs": verbs,
    "by-hand": by_hand,
    "at-once": two_at_once,
    "workers": several_workers,
    "restores": restored_backups,
    "faults": faults,
    "pipeline": pipeline,
    "slow": slow,
    "board": board,
    "beside": beside,
    "model": model,
    "mutations": mutations,
    "mutants": random_mutants,
    "secrets": secrets,
}
