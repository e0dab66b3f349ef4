"""Finds processes that outlive their parent by an environment tag, and ends them.

`python -m callsheet.deployments.up.orphans MARK` waits until its standard input ends, as it does
when `up` ends in any way, and ends every process with the tag: parts, the flow runs of a Prefect
worker, the runs of a board, in any session. Imports only the standard library.
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

#: The environment variable with the tag; not a setting of Callsheet.
VARIABLE = "_CALLSHEET_UP"
#: How long orphans have to end cleanly, in seconds.
GRACE = 5.0
#: How often to look for orphans, in seconds.
OFTEN = 0.1


def end_leftovers(
    mark: str,
    *,
    grace: float = GRACE,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """End every process with the tag, cleanly if possible; return how many there were.

    Each gets one signal, after its parent: a second one would stop a worker or a run immediately,
    although they finish what they have started.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    seen: set[int] = set()
    asked: set[int] = set()
    begun, killed = clock(), False
    # On a slow machine, one search may take longer than both times: kill what is left all the same.
    while (left := marked(mark)) and not (killed and clock() - begun >= 2 * grace):
        seen |= set(left)
        killed = clock() - begun > grace
        for pid, parent in left.items():
            if killed:
                _send(pid, signal.SIGKILL)
            elif parent not in left and pid not in asked:
                _send(pid, signal.SIGTERM)
                asked.add(pid)
        sleep(OFTEN)
    return len(seen)


def marked(mark: str) -> dict[int, int]:
    """Return every other process with the tag, and its parent."""
    return processes_with(f"{VARIABLE}={mark}")


def processes_with(wanted: str) -> dict[int, int]:
    """Return every other process with `NAME=VALUE` in its environment, and its parent."""
    found = _in_proc(wanted) if Path("/proc/self/environ").exists() else _by_ps(wanted)
    found.pop(os.getpid(), None)
    return found


def is_suspended(pid: int) -> bool:
    """Return whether a process is suspended (SIGSTOP); False where no one can tell."""
    with contextlib.suppress(OSError, IndexError):
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        return state in "Tt"
    return False


def _in_proc(wanted: str) -> dict[int, int]:
    found = {}
    for folder in Path("/proc").iterdir():
        # It has ended, or belongs to another user.
        with contextlib.suppress(OSError, ValueError, IndexError):
            if folder.name.isdecimal() and _has(folder, wanted.encode()):
                # The name in field 2 may contain spaces and brackets: count from the last bracket.
                parent = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()[1]
                found[int(folder.name)] = int(parent)
    return found


def _has(folder: Path, wanted: bytes) -> bool:
    # The environment of a zombie process is empty.
    return wanted in (folder / "environ").read_bytes().split(b"\0")


def _by_ps(wanted: str) -> dict[int, int]:
    """Ask `ps`, which shows environments on systems without `/proc`."""
    words = ["ps", "-axww", "-E", "-o", "pid=,ppid=,command="]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    lines = [line.split(None, 2) for line in done.stdout.splitlines()]
    return {int(line[0]): int(line[1]) for line in lines if wanted in line[-1].split()}


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def main() -> None:
    """Wait until the parent process ends, then end its orphans."""
    if sys.platform == "win32":
        raise NotImplementedError
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A signal to the process group, terminal or session of `up` does not reach this process.
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 1024):
        pass
    end_leftovers(sys.argv[1])


if __name__ == "__main__":
    main()
