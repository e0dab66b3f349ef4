"""What a test hangs on the crash points of a process: a list of visits, and an end.

    python -m tests.torture.hook ORDER WORD ...    the command line, started plainly and armed

Every visit is a line `point<TAB>row` of a file, written before anything else happens, so that the
list is whole whatever becomes of the process. The commit of a group is a visit for every change
in it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.tasks.runtime.crash_points import arm

#: In place of a point: the visits of all of them are counted together.
ANY = "*"


@dataclass(frozen=True)
class Hook:
    """An order to a process: list visits in `trace`; end at the `nth` visit of `point`, if any.

    With `linger` it goes on for so many seconds after that visit.
    """

    trace: Path
    point: str | None = None
    nth: int = 1
    linger: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the order as it is handed to a process."""
        return {**asdict(self), "trace": str(self.trace)}


@dataclass(frozen=True)
class Visit:
    """One visit of a point; `row` is the row it is about, where that is known."""

    point: str
    row: str


def visits(trace: Path) -> list[Visit]:
    """Return what a process listed, in order; nothing if it came to no point."""
    if not trace.exists():
        return []
    return [Visit(*line.split("\t")) for line in trace.read_text().splitlines()]


def hang_on(order: Mapping[str, Any]) -> None:
    """Arm this process as an order says."""
    handle = os.open(order["trace"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    counts: Counter[str] = Counter()
    one_at_a_time = threading.Lock()

    def visited(name: str, of: object) -> None:
        with one_at_a_time:
            for visit in _visits(name, of):
                counts.update((visit.point, ANY))
                os.write(handle, f"{visit.point}\t{visit.row}\n".encode())
            # A group is one moment: all of it is listed before the end.
            if counts[order["point"]] >= order["nth"]:
                _end(order["linger"])

    arm(visited)


def _end(linger: float) -> None:
    def kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if linger:
        threading.Timer(linger, kill).start()
    else:
        kill()


def _visits(name: str, of: object) -> Iterable[Visit]:
    if isinstance(of, list):
        for pending in of:
            yield _change(name, pending.change)
    else:
        yield Visit(f"{name} ({of})" if of else name, "")


def _change(name: str, change: Any) -> Visit:
    """Name a change of the ledger by its function."""
    given = change.keywords if isinstance(change, partial) else {}
    function = change.func if isinstance(change, partial) else change
    what = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    row = given.get("row") or getattr(given.get("quoted"), "row", None)
    return Visit(f"{name} ({what})", row.row if row is not None else "")


if __name__ == "__main__":
    from callsheet.deployments.cli import main as callsheet

    hang_on(json.loads(sys.argv.pop(1)))
    callsheet(sys.argv[1:])
