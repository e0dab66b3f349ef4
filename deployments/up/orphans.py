"""What outlives whoever started it, found by a mark in its environment, and ended.

`python -m callsheet.deployments.up.orphans MARK` waits until its standard input ends, as it does
when `up` is gone however it went, and ends every process with the mark: parts, the flow runs of a
worker, the runs of a board, whatever session they are in. Imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

#: The variable that holds the mark; not one of Callsheet's settings.
VARIABLE = "_CALLSHEET_UP"
#: How long what is left has to end in order, in seconds.
GRACE = 5.0
#: How often is looked whether anything is left, in seconds.
OFTEN = 0.1


def end_leftovers(
    mark: str,
    *,
    grace: float = GRACE,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """End every process with the mark, in order if it can; return how many there were.

    Each is asked once, after the one that started it: a second request would be a hard one for a
    worker or a run, which end what they have begun.
    """
    seen: set[int] = set()
    asked: set[int] = set()
    begun = clock()
    while (left := marked(mark)) and clock() - begun < 2 * grace:
        seen |= set(left)
        for pid, parent in left.items():
            if clock() - begun > grace:
                _send(pid, signal.SIGKILL)
            elif parent not in left and pid not in asked:
                _send(pid, signal.SIGTERM)
                asked.add(pid)
        sleep(OFTEN)
    return len(seen)


def marked(mark: str) -> dict[int, int]:
    """Return every other process with the mark, and its parent."""
    return processes_with(f"{VARIABLE}={mark}")


def processes_with(wanted: str) -> dict[int, int]:
    """Return every other process with `NAME=VALUE` in its environment, and its parent."""
    found = _in_proc(wanted) if Path("/proc/self/environ").exists() else _by_ps(wanted)
    found.pop(os.getpid(), None)
    return found


def _in_proc(wanted: str) -> dict[int, int]:
    found = {}
    for folder in Path("/proc").iterdir():
        # Gone by now, or somebody else's.
        with contextlib.suppress(OSError, ValueError, IndexError):
            if folder.name.isdecimal() and _has(folder, wanted.encode()):
                # The name in field 2 may hold spaces and brackets: count from the last bracket.
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                found[int(folder.name)] = int(parent)
    return found


def _has(folder: Path, wanted: bytes) -> bool:
    # That of a process that has ended, and is only waited for, is empty.
    return wanted in (folder / "environ").read_bytes().split(b"\0")


def _by_ps(wanted: str) -> dict[int, int]:
    """Ask `ps`, which shows environments on the systems that have no `/proc`."""
    words = ["ps", "-axww", "-E", "-o", "pid=,ppid=,command="]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [line.split(None, 2) for line in done.stdout.splitlines()]
    return {int(line[0]): int(line[1]) for line in lines if wanted in line[-1].split()}


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def main() -> None:
    """Wait for the end of whoever started this, then leave nothing of it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Whoever ends `up` by its whole group, terminal or session does not end this.
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 1024):
        pass
    end_leftovers(sys.argv[1])


if __name__ == "__main__":
    main()
