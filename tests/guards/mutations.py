"""Is every safeguard missed when it is gone? Each is taken out in turn, and a test has to go red.

    python -m tests.guards.mutations [WORD ...]    all of them, or those whose names hold a word

Works on a copy of the repository and never on the tree itself. A patch that does not apply any
more stops everything: the safeguard has moved, and its mutation must move along.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.guards.safeguards import MUTATIONS, Mutation
from tests.launcher import imports_of

ROOT = Path(__file__).parent.parent.parent
COPIED = (
    "src",
    "tasks",
    "flows",
    "deployments",
    "configs",
    "tests",
    "pyproject.toml",
    "prefect.toml",
)
SURVIVED = "NOTHING: it survived"


class DoesNotApply(Exception):
    """A mutation's words are not where they were, or stand there more than once."""


def run(
    chosen: Sequence[Mutation] = MUTATIONS, *, tell: Callable[[str, str], None] | None = None
) -> list[tuple[str, str]]:
    """Try mutations in a copy; return the name of each and the test that it was killed by.

    `tell` hears of each as it is known. Raises DoesNotApply, and RuntimeError where a test is red
    before anything was changed.
    """
    check_all(chosen)
    tests = sorted({test for mutation in chosen for test in mutation.tests})
    with tempfile.TemporaryDirectory(prefix="callsheet-mutations-") as folder:
        root = Path(folder) / "callsheet"
        _copy(root)
        if (red := _red(root, tests)) is not None:
            raise RuntimeError(f"{red} is red before anything was changed")
        found = []
        for mutation in chosen:
            found.append((mutation.name, _killer(root, mutation)))
            if tell is not None:
                tell(*found[-1])
        return found


def check_all(chosen: Iterable[Mutation] = MUTATIONS, root: Path = ROOT) -> None:
    """Raise DoesNotApply unless every mutation can be made and its tests are there."""
    for mutation in chosen:
        found = (root / mutation.path).read_text().count(mutation.old)
        if found != 1:
            raise DoesNotApply(f"{mutation.name}: found {found} times in {mutation.path}")
        files = [test.partition("::")[0] for test in mutation.tests]
        if missing := [file for file in files if not (root / file).exists()]:
            raise DoesNotApply(f"{mutation.name}: there is no {missing[0]}")


def _copy(root: Path) -> None:
    root.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", ".callsheet", "deliveries")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(source, root / name)


def _killer(root: Path, mutation: Mutation) -> str:
    with _without(root, mutation):
        return _red(root, mutation.tests) or SURVIVED


@contextmanager
def _without(root: Path, mutation: Mutation) -> Iterator[None]:
    path = root / mutation.path
    text = path.read_text()
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        yield
    finally:
        path.write_text(text)


def _red(root: Path, tests: Sequence[str]) -> str | None:
    """Run tests until one fails; return its name, or None when all are green."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "", "-x", "-q", "-p", "no:xdist",
         "-p", "no:cacheprovider", *tests],
        cwd=root,
        # Without caches: a file that is changed twice in a second would be mistaken for itself.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": imports_of(root)},
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    if done.returncode != 1 or found is None:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return found[1]


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
