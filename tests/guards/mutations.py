"""Is every safeguard missed when it is gone? Each is taken out in turn, and a test has to go red.

    python -m tests.guards.mutations [WORD ...]    all of them, or those whose tests have a word

The test has the safeguard above it, as `@pytest.mark.safeguard(path, words, without)`: the file,
the words that are the safeguard, and what stands there without it. Works on a copy of the
repository and never on the tree itself. Words that are not found stop everything: the safeguard
has moved, and its mark must move along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.marks import marked
from tests.mutants.copy import ROOT, Copy, copied

SURVIVED = "NOTHING: it survived"


@dataclass(frozen=True)
class Safeguard:
    """The words of a file that are a safeguard, what stands there without it, and who notices."""

    test: str
    path: str
    words: str
    without: str

    def __str__(self) -> str:
        return f"{self.path}: {self.words.strip().partition(chr(10))[0]}"


class DoesNotApply(Exception):
    """A safeguard's words are not where they were, or stand there more than once."""


def safeguards() -> list[Safeguard]:
    """Return what the tests say of themselves."""
    return [Safeguard(test, *given) for test, given in marked("safeguard")]


def run(
    chosen: Sequence[Safeguard], *, tell: Callable[[str, str], None] | None = None
) -> list[tuple[str, str]]:
    """Take safeguards out in a copy; return each and the test that noticed.

    `tell` hears of each as it is known. Raises DoesNotApply, and RuntimeError where a test that
    noticed one is red without any change as well.
    """
    check_all(chosen)
    found = []
    with copied() as copy:
        for safeguard in chosen:
            found.append((str(safeguard), _killer(copy, safeguard)))
            if tell is not None:
                tell(*found[-1])
        killers = sorted({killer.partition("[")[0] for _, killer in found} - {SURVIVED})
        if killers and (red := copy.red(killers)) is not None:
            raise RuntimeError(f"{red} is red without any change")
    return found


def check_all(chosen: Iterable[Safeguard], root: Path = ROOT) -> None:
    """Raise DoesNotApply unless every safeguard can be taken out."""
    for one in chosen:
        found = (root / one.path).read_text(encoding="utf-8").count(one.words)
        if found != 1 or one.words == one.without:
            raise DoesNotApply(f"{one.test}: found {found} times in {one.path}: {one.words}")


def _killer(copy: Copy, safeguard: Safeguard) -> str:
    text = (copy.root / safeguard.path).read_text(encoding="utf-8")
    with copy.changed(safeguard.path, text.replace(safeguard.words, safeguard.without)):
        return copy.red([safeguard.test]) or SURVIVED


def main(words: Sequence[str]) -> int:
    """Print safeguards and who noticed; return 1 when nobody did."""
    chosen = [one for one in safeguards() if not words or any(word in one.test for word in words)]
    if not chosen:
        sys.exit(f"no test of a safeguard has {' or '.join(words)} in its name")
    found = run(chosen, tell=lambda name, killer: print(f"{name}\n    {killer}", flush=True))
    missed = sum(killer == SURVIVED for _, killer in found)
    print(f"{len(found) - missed} of {len(found)} were noticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
