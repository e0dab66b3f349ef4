"""Is every safeguard missed when it is gone? Each is taken out in turn, and a test has to go red.

    python -m tests.guards.mutations [WORD ...]    all of them, or those whose names hold a word

Works on a copy of the repository and never on the tree itself. A patch that does not apply any
more stops everything: the safeguard has moved, and its mutation must move along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.guards.safeguards import MUTATIONS, Mutation
from tests.mutants.copy import ROOT, Copy, copied

SURVIVED = "NOTHING: it survived"


class DoesNotApply(Exception):
    """A mutation's words are not where they were, or stand there more than once."""


def run(
    chosen: Sequence[Mutation] = MUTATIONS, *, tell: Callable[[str, str], None] | None = None
) -> list[tuple[str, str]]:
    """Try mutations in a copy; return the name of each and the test that it was killed by.

    `tell` hears of each as it is known. Raises DoesNotApply, and RuntimeError where a test that
    killed one is red without any change as well.
    """
    check_all(chosen)
    found = []
    with copied() as copy:
        for mutation in chosen:
            found.append((mutation.name, _killer(copy, mutation)))
            if tell is not None:
                tell(*found[-1])
        killers = sorted({killer.partition("[")[0] for _, killer in found} - {SURVIVED})
        if killers and (red := copy.red(killers)) is not None:
            raise RuntimeError(f"{red} is red without any change")
    return found


def check_all(chosen: Iterable[Mutation] = MUTATIONS, root: Path = ROOT) -> None:
    """Raise DoesNotApply unless every mutation can be made and its tests are there."""
    for mutation in chosen:
        found = (root / mutation.path).read_text().count(mutation.old)
        if found != 1:
            raise DoesNotApply(f"{mutation.name}: found {found} times in {mutation.path}")
        file, _, test = mutation.test.partition("::")
        if not (root / file).exists() or test.split("::")[-1] not in (root / file).read_text():
            raise DoesNotApply(f"{mutation.name}: there is no {mutation.test}")


def _killer(copy: Copy, mutation: Mutation) -> str:
    text = (copy.root / mutation.path).read_text(encoding="utf-8")
    with copy.changed(mutation.path, text.replace(mutation.old, mutation.new)):
        return copy.red([mutation.test]) or SURVIVED


def main(words: Sequence[str]) -> int:
    """Print a table of safeguards and killers; return 1 when one survived."""
    chosen = [m for m in MUTATIONS if not words or any(word in m.name for word in words)]
    if not chosen:
        sys.exit(f"no safeguard has a name with {' or '.join(words)}")
    widest = max(len(mutation.name) for mutation in chosen)
    print(f"{'without this safeguard':<{widest}}  killed by", flush=True)
    found = run(chosen, tell=lambda name, killer: print(f"{name:<{widest}}  {killer}", flush=True))
    return int(any(killer == SURVIVED for _, killer in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
