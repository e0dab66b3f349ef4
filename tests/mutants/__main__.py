"""How many slips of the hand do the tests notice? Draws mutants, and runs what runs their lines.

    python -m tests.mutants record                        which tests run which lines: a whole suite
    python -m tests.mutants [--count N] [--seed N]        try mutants: a table by package

`record` needs a Python with `sys.monitoring` (3.12 or newer), and is done once for a tree. A mutant
is tried against the tests that run its line, the quickest first, up to `--budget` seconds of them.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.copy import Copy, copied
from tests.mutants.draw import Mutant, by_package, draw
from tests.mutants.lines import FOLDER, RECORD, ROOT, seconds_of, tests_of

#: Tests of one file that are tried before those of others get their turn.
OF_ONE_FILE = 8
#: What is assumed of a file that fixtures' processes ran for: as long as its tests.
_UNKNOWN = 5.0


@dataclass(frozen=True)
class Verdict:
    """Which test noticed a mutant; `killer` is None where none did, of the `tried`."""

    mutant: Mutant
    tried: int
    killer: str | None


def main(words: Sequence[str] | None = None) -> int:
    """Do what was asked for; return 0, whatever survived: the table is the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", nargs="?", choices=["try", "record"], default="try")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for each")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="counts by package, on the last line")
    parser.add_argument("--record", type=Path, default=RECORD, help="the folder of the record")
    args = parser.parse_args(words)
    if args.what == "record":
        return record(args.record)
    print(f"the seed is {args.seed}", flush=True)
    found = []
    drawn = draw(args.count, args.seed)
    for verdict in attempt(drawn, args.record, budget=args.budget, at_once=args.at_once):
        print(_words(verdict), flush=True)
        found.append(verdict)
    print(as_table(found))
    if args.json:
        print(json.dumps({"mutants": len(found), "killed": sum(bool(v.killer) for v in found)}))
    return 0


def record(folder: Path) -> int:
    """Run all tests, and keep which lines of the program each runs."""
    if not hasattr(sys, "monitoring"):
        sys.exit("this Python has no sys.monitoring: take 3.12 or newer")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = ["-p", "tests.mutants.plugin", "-q", "--forks", "6"]
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

        yield from pool.map(one, mutants)


def _judge(mutant: Mutant, copy: Copy, chosen: Choice) -> Verdict:
    text = (copy.root / mutant.path).read_text(encoding="utf-8")
    while tests := chosen.tests(mutant):
        with copy.changed(mutant.path, mutant.applied(text)):
            killer = copy.red(tests)
        # A test that is red anyway, in a copy or on this machine, notices nothing.
        if killer is None or not chosen.is_red_anyway(killer, copy):
            if killer:
                chosen.killed(mutant, killer)
            return Verdict(mutant, len(tests), killer)
    return Verdict(mutant, 0, None)


class Choice:
    """Which tests are run for a mutant, in which order: who noticed one of its file comes first."""

    def __init__(self, mutants: Sequence[Mutant], folder: Path, *, budget: float) -> None:
        self._seconds = seconds_of(folder)
        self._budget = budget
        self._killers: dict[str, list[str]] = {}
        self._green: set[str] = set()
        self._red: set[str] = set()
        places = {(m.path, line) for m in mutants for line in (0, *_lines(m))}
        self._tests = tests_of(folder, places)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return names of tests for pytest; none where no test runs the file at all."""
        found = {
            test for line in _lines(mutant) for test in self._tests.get((mutant.path, line), ())
        }
        # A line that is run by an import counts for whoever uses the file.
        found = (found or set(self._tests.get((mutant.path, 0), ()))) - self._red
        whole = {test for test in found if "::" not in test}
        order = sorted(
            (one for one in found if one.partition("::")[0] not in whole), key=self._took
        )
        first = [one for one in self._killers.get(mutant.path, ()) if one in found]
        return list(dict.fromkeys([*first, *self._affordable([*order, *sorted(whole)])]))

    def is_red_anyway(self, killer: str, copy: Copy) -> bool:
        """Whether a test fails in a copy without any change, and is not chosen again."""
        if killer not in self._green | self._red and "::" in killer:
            (self._red if copy.red([killer]) else self._green).add(killer)
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
        return self._seconds.get(test, _UNKNOWN)


def _nth(counts: Counter[str], test: str) -> int:
    file = test.partition("::")[0]
    counts[file] += 1
    return counts[file]


def _lines(mutant: Mutant) -> range:
    return range(mutant.line, mutant.last_line + 1)


def _words(verdict: Verdict) -> str:
    where = verdict.mutant.words((ROOT / verdict.mutant.path).read_text(encoding="utf-8"))
    if verdict.killer:
        return f"killed    {where}  by {verdict.killer[:100]}"
    ran = f"{verdict.tried} tests ran" if verdict.tried else "no test runs it"
    return f"SURVIVED  {where}  ({ran})"


def as_table(verdicts: Sequence[Verdict]) -> str:
    """Return how many of each package were noticed."""
    killed = {id(one.mutant) for one in verdicts if one.killer}
    lines = [f"{'package':<26} mutants  killed  score"]
    packages = by_package([one.mutant for one in verdicts])
    for name, several in [*sorted(packages.items()), ("all", [one.mutant for one in verdicts])]:
        count = sum(id(one) in killed for one in several)
        share = f"{count / len(several):.0%}" if several else ""
        lines.append(f"{name:<26} {len(several):>7} {count:>7} {share:>6}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
