"""Runs the tests of what changed, the nearest first, for at most a minute: `make check`.

    python -m tests.check [COMMIT]      what changed since a commit: since HEAD, unless told

Nearest are tests that changed themselves, then those that import a module that changed, then those
of its package. Tests that start programs import nothing of them: `make test` has these.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.repository import PROGRAM, ROOT

#: Seconds from the first test on.
LIMIT = 55.0
#: Where the tests of a package are, if not in the folder of tests/unit that has its name.
FOLDERS = {"board": "tests/board", "sandbox": "tests/contract/sandbox", "mcp": "tests/mcp"}


def main(words: Sequence[str]) -> int:
    """Run the tests; return pytest's exit status, 0 where nothing has tests of its own."""
    changed = list(changed_since(words[0] if words else "HEAD"))
    chosen = nearest(changed)
    if not chosen:
        print("nothing changed that has tests of its own")
        return 0
    print(f"{len(changed)} files changed: tests of {len(chosen)} files, for at most a minute")
    cache = f"cache_dir={ROOT}/.venv/.pytest_cache"
    options = ["-q", "-m", "not slow", "--forks", "3", "-o", cache]
    return int(pytest.main([*options, *chosen], plugins=[Minute()]))


def changed_since(commit: str) -> Iterator[str]:
    """Yield the files that differ from a commit, those that git does not know yet among them."""
    for words in (("diff", "--name-only", commit), ("ls-files", "--others", "--exclude-standard")):
        said = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        yield from (name for name in said.stdout.splitlines() if (ROOT / name).exists())


def nearest(changed: Sequence[str]) -> list[str]:
    """Return the files of tests of some files, the nearest first."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    themselves = [name for name in changed if name in set(files)]
    program = [n for n in changed if n.endswith(".py") and n.split("/")[0] in PROGRAM]
    modules = {_module(name) for name in program}
    importing = [file for file in files if modules.intersection(_imported(ROOT / file))]
    folders = {_folder(name) for name in program}
    beside = [file for file in files if any(file.startswith(f"{one}/") for one in folders)]
    return list(dict.fromkeys([*themselves, *importing, *beside]))


def _module(name: str) -> str:
    return ".".join(("callsheet", *Path(name).with_suffix("").parts))


def _imported(path: Path) -> Iterable[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


def _folder(name: str) -> str:
    package = Path(name).parent.name
    return FOLDERS.get(package, f"tests/unit/{package}")


class Minute:
    """Ends a run of tests after a minute, and says so."""

    def __init__(self) -> None:
        self._session: pytest.Session | None = None
        self._until = 0.0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_runtest_logreport(self) -> None:
        self._until = self._until or time.monotonic() + LIMIT
        if self._session is not None and time.monotonic() > self._until:
            self._session.shouldstop = "a minute is over: make test runs the rest"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
