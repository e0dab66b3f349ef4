"""How many slips of the hand do the tests notice? Draws mutants, and runs what runs their lines.

    python -m tests.mutants record                        which tests run which lines: a whole suite
    python -m tests.mutants [--count N] [--seed N]        try mutants: a table by package

`record` needs a Python with `sys.monitoring` (3.12 or newer), and is done once for a tree. A mutant
is tried against the tests that run its line, the quickest first, up to `--budget` seconds of them:
those of `make test`, and if none of them notices it, those of `make test-merge`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.copy import Copy, copied
from tests.mutants.draw import Mutant, by_package, draw
from tests.mutants.lines import FOLDER, RECORD, ROOT, tests_of, timed

#: Who runs a test, in the words of pytest's marks: `make test`, `make test-merge`.
TEST = "not slow and (not merge or always)"
MERGE = "merge and not always and not slow"
#: Tests of one file that are tried before those of others get their turn.
OF_ONE_FILE = 40
#: What is assumed of a file that fixtures' processes ran for: as long as its tests.
_UNKNOWN = 5.0


@dataclass(frozen=True)
class Verdict:
    """Which test noticed a mutant, and who runs it; `killer` is None where none of `tried` did."""

    mutant: Mutant
    tried: int
    killer: str | None
    part: str = TEST


def main(words: Sequence[str] | None = None) -> int:
    """Do what was asked for; return 0, whatever survived: the table is the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", nargs="?", choices=["try", "record"], default="try")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for each part")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--at", nargs="*", metavar="FILE:LINE", help="of those drawn, these alone")
    parser.add_argument("--json", action="store_true", help="counts by package, on the last line")
    parser.add_argument("--record", type=Path, default=RECORD, help="the folder of the record")
    args = parser.parse_args(words)
    if args.what == "record":
        return record(args.record)
    print(f"the seed is {args.seed}", flush=True)
    found = []
    drawn = [
        one
        for one in draw(args.count, args.seed)
        if args.at is None or f"{one.path}:{one.line}" in args.at
    ]
    for verdict in attempt(drawn, args.record, budget=args.budget, at_once=args.at_once):
        print(_words(verdict), flush=True)
        found.append(verdict)
    print(as_table(found))
    if args.json:
        killed = Counter(one.part for one in found if one.killer)
        counts = {"mutants": len(found), "killed": killed.total(), "by_merge": killed[MERGE]}
        print(json.dumps(counts))
    return 0


def record(folder: Path) -> int:
    """Run all tests, and keep which lines of the program each runs."""
    if not hasattr(sys, "monitoring"):
        sys.exit("this Python has no sys.monitoring: take 3.12 or newer")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = ["-p", "tests.mutants.plugin", "-q", "--forks", "6", "-m", "not slow"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, FOLDER: str(folder)},
        check=False,
    )
    return done.returncode


def attempt(
    mutants: Sequence[Mutant], folder: Path, *, budget: float, at_once: int
) -> Iterator[Verdict]:
    """Try mutants against the tests that the record in a folder names for their lines."""
    chosen = Choice(mutants, folder, budget=budget)
    with ExitStack() as stack:
        copies = SimpleQueue[Copy]()
        for _ in range(at_once):
            copies.put(stack.enter_context(copied()))
        pool = stack.enter_context(ThreadPoolExecutor(at_once))

        def one(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                return _judge(mutant, copy, chosen)
            finally:
                copies.put(copy)

        for done in as_completed([pool.submit(one, mutant) for mutant in mutants]):
            yield done.result()


def _judge(mutant: Mutant, copy: Copy, chosen: Choice) -> Verdict:
    text = (copy.root / mutant.path).read_text(encoding="utf-8")
    tried = 0
    for part in (TEST, MERGE):
        while tests := chosen.tests(mutant, part):
            with copy.changed(mutant.path, mutant.applied(text)):
                killer = copy.red(tests, part)
            # A test that is red anyway, in a copy or on this machine, notices nothing.
            if killer and chosen.is_red_anyway(killer, copy):
                continue
            if killer:
                chosen.killed(mutant, killer)
                return Verdict(mutant, len(tests), killer, part)
            tried += len(tests)
            break
    return Verdict(mutant, tried, None)


class Choice:
    """Which tests are run for a mutant, in which order: who noticed one of its file comes first."""

    def __init__(self, mutants: Sequence[Mutant], folder: Path, *, budget: float) -> None:
        self._known = timed(folder)
        self._budget = budget
        self._killers: dict[str, list[str]] = {}
        self._green: set[str] = set()
        self._red: set[str] = set()
        places = {(m.path, line) for m in mutants for line in (0, *_lines(m))}
        self._tests = tests_of(folder, places)

    def tests(self, mutant: Mutant, part: str) -> list[str]:
        """Return names of tests for pytest; none where no test of a part runs the file at all."""
        lines = () if mutant.is_of_import else _lines(mutant)
        found = {test for line in lines for test in self._tests.get((mutant.path, line), ())}
        # A line that is run by an import is for whoever uses the file: first who uses most of it.
        of_file = Counter[str]() if found else self._tests.get((mutant.path, 0), Counter())
        found = {t for t in found or {*of_file} if t not in self._red and self._is_of(t, part)}
        whole = {test for test in found if "::" not in test}
        order = sorted(found - whole, key=lambda t: (1 + self._took(t)) / (of_file[t] or 1))
        first = [one for one in self._killers.get(mutant.path, ()) if one in found]
        return list(dict.fromkeys([*first, *self._affordable([*order, *sorted(whole)])]))

    def is_red_anyway(self, killer: str, copy: Copy) -> bool:
        """Whether a test fails in a copy without any change, and is not chosen again."""
        if killer not in self._green | self._red and "::" in killer:
            (self._red if copy.red([killer], "") else self._green).add(killer)
        return killer in self._red

    def killed(self, mutant: Mutant, killer: str) -> None:
        """Remember who noticed a mutant, for the next of its file."""
        known = self._killers.setdefault(mutant.path, [])
        self._killers[mutant.path] = [killer, *(one for one in known if one != killer)][:3]

    def _affordable(self, order: Sequence[str]) -> list[str]:
        left, chosen, counts = self._budget, list[str](), Counter[str]()
        several = [one for one in order if _nth(counts, one) <= OF_ONE_FILE]
        for test in [*several, *(one for one in order if one not in set(several))]:
            left -= self._took(test)
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    def _took(self, test: str) -> float:
        return self._known[test].seconds if test in self._known else _UNKNOWN

    def _is_of(self, test: str, part: str) -> bool:
        """Whether a part runs a test; a whole file is asked for in both."""
        return test not in self._known or self._known[test].is_of_merge is (part == MERGE)


def _nth(counts: Counter[str], test: str) -> int:
    file = test.partition("::")[0]
    counts[file] += 1
    return counts[file]


def _lines(mutant: Mutant) -> range:
    return range(mutant.line, mutant.last_line + 1)


def _words(verdict: Verdict) -> str:
    where = verdict.mutant.words((ROOT / verdict.mutant.path).read_text(encoding="utf-8"))
    if verdict.killer:
        told = "killed  " if verdict.part == TEST else "by merge"
        return f"{told}  {where}  by {verdict.killer[:100]}"
    ran = f"{verdict.tried} tests ran" if verdict.tried else "no test runs it"
    return f"SURVIVED  {where}  ({ran})"


def as_table(verdicts: Sequence[Verdict]) -> str:
    """Return how many of each package were noticed, and how many by tests of the merge alone."""
    lines = [f"{'package':<26} mutants  make test  with merge"]
    packages = by_package([one.mutant for one in verdicts])
    named = {id(one.mutant): one for one in verdicts}
    for name, several in [*sorted(packages.items()), ("all", [one.mutant for one in verdicts])]:
        killed = Counter(named[id(one)].part for one in several if named[id(one)].killer)
        shares = [f"{n:>4} {n / len(several):>5.0%}" for n in (killed[TEST], killed.total())]
        lines.append(f"{name:<26} {len(several):>7} {shares[0]} {shares[1]:>11}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
