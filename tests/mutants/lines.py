"""Records which lines of the program each test runs, in its own process and in those it starts.

`tests.mutants.plugin` turns it to each test, `site/sitecustomize.py` begins it in processes. It
needs a Python with `sys.monitoring` (3.12), which tells of each line once and costs next to nothing
from then on. One file for each test and process: the test's name on the first line, then pairs of
unsigned shorts, the number of a source file and of a line in it, written as the lines are first
run, so that a process that is killed leaves what it had done.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from tests.repository import PROGRAM, ROOT

#: Names the folder that records are written to; processes that tests start inherit it.
FOLDER = "RECORDED_LINES"
#: Where `python -m tests.mutants record` keeps them, and how long each test took.
RECORD = ROOT / "build" / "lines"
SECONDS = "seconds.tsv"
_PAIR = struct.Struct("<HH")
_TOOL = 4
#: How pytest names a test and what it does with it just now.
_CURRENT = re.compile(r"(?P<test>.+) \((?P<phase>setup|call|teardown)\)")


def sources() -> list[str]:
    """Return the files of the program, relative to the repository; a record has their numbers."""
    found = (path for folder in PROGRAM for path in (ROOT / folder).rglob("*.py"))
    return sorted(str(path.relative_to(ROOT)) for path in found)


@dataclass
class Recorder:
    """Writes the lines that this process runs to the record of the test that is on."""

    folder: Path
    numbers: Mapping[str, int] = field(default_factory=lambda: _by_place())
    _file: int | None = None

    def listen(self) -> None:
        """Hear of every function that begins, and of the lines of ours."""
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(_TOOL, "lines of tests")
        sys.monitoring.register_callback(_TOOL, events.PY_START, self._begins)
        sys.monitoring.register_callback(_TOOL, events.LINE, self._line)
        sys.monitoring.set_events(_TOOL, events.PY_START)

    def turn_to(self, test: str) -> None:
        """Have what is run from now on written for this test."""
        self.leave()
        name = f"{os.getpid()}-{time.monotonic_ns()}.lines"
        self._file = os.open(self.folder / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(self._file, f"{test}\n".encode())
        # Each line is told once again.
        sys.monitoring.restart_events()

    def leave(self) -> None:
        """Write for nobody, until another test begins."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def _begins(self, code: CodeType, offset: int) -> Any:
        if code.co_filename in self.numbers:
            sys.monitoring.set_local_events(_TOOL, code, sys.monitoring.events.LINE)
        return sys.monitoring.DISABLE

    def _line(self, code: CodeType, line: int) -> Any:
        if self._file is not None:
            # A program may close whatever is open before it goes on alone.
            with suppress(OSError):
                os.write(self._file, _PAIR.pack(self.numbers[code.co_filename], line))
        return sys.monitoring.DISABLE


def _by_place() -> dict[str, int]:
    return {str(ROOT / "src/callsheet" / name): n for n, name in enumerate(sources())}


def record_process() -> None:
    """Record this process, which a test started, if records are kept.

    What a fixture starts may serve other tests of the file as well: it counts for all of them.
    """
    folder, current = os.environ.get(FOLDER), os.environ.get("PYTEST_CURRENT_TEST", "")
    found = _CURRENT.fullmatch(current)
    if not folder or found is None or not hasattr(sys, "monitoring"):
        return
    test = found["test"]
    recorder = Recorder(Path(folder))
    if sys.monitoring.get_tool(_TOOL) is None:
        recorder.listen()
        recorder.turn_to(test.partition("::")[0] if found["phase"] == "setup" else test)


Place = tuple[str, int]


def tests_of(folder: Path, places: Collection[Place]) -> Mapping[Place, Counter[str]]:
    """Return for each (file, line) the tests, or files of tests, that ran it.

    A line that is run when its file is imported alone belongs to no test: for it, see `(file, 0)`,
    which has how many lines of the file each test ran.
    """
    names, found = sources(), defaultdict[Place, Counter[str]](Counter)
    wanted = defaultdict[int, set[int]](set)
    for name, line in places:
        wanted[names.index(name)].add(line)
    for path in folder.glob("*.lines"):
        head, _, pairs = path.read_bytes().partition(b"\n")
        test = head.decode()
        whole = len(pairs) - len(pairs) % _PAIR.size
        for number, line in _PAIR.iter_unpack(pairs[:whole]):
            if number in wanted:
                for one in {line, 0} & wanted[number]:
                    found[names[number], one][test] += 1
    return found


@dataclass(frozen=True)
class Timed:
    """A recorded test: what it took in seconds, its fixtures included, and who runs it."""

    seconds: float
    is_of_merge: bool


def timed(folder: Path) -> dict[str, Timed]:
    """Return each recorded test by its name."""
    lines = (line.rsplit("\t", 2) for line in (folder / SECONDS).read_text().splitlines())
    return {test: Timed(float(took), part == "merge") for test, part, took in lines}
