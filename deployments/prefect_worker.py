"""Prefect's worker, whose runs let go.

    python -P -m callsheet.deployments.prefect_worker --pool POOL ...

A process worker that is told to stop kills its flow runs at once: no one tells Prefect, which shows
them as running, and what they have claimed lapses only by itself. This one holds the Prefect
worker still
first and tells the runs: a worker lets go, a run of a campaign parks, and others take them up.
Takes the options of `prefect worker start`. Imports nothing of Prefect.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

from callsheet.deployments.up.orphans import processes_with

#: A Prefect worker of Prefect's, which does not outlive this process.
COMMAND = (
    *(sys.executable, "-P", "-m", "callsheet.deployments.servers"),
    *("prefect", "worker", "start"),
)
#: In the environment of the Prefect worker and of every flow run it processes; none of Callsheet's
#: settings.
MARK = "_CALLSHEET_WORKER"
#: How long flow runs may take to let go, in seconds; anyone who kills this has to wait longer.
LIMIT = 20.0
#: How often it is looked how things are, in seconds.
LOOK = 0.1


def main(words: Sequence[str] | None = None, *, command: Sequence[str] | None = None) -> int:
    """Process flow runs until the Prefect worker ends or this is told to stop; return its exit
    status.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    worker = Worker(sys.argv[1:] if words is None else words, command=command)
    told = False

    def hear(*_: object) -> None:
        nonlocal told
        told = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, hear)
    while worker.status is None:
        if told:
            return worker.stop()
        time.sleep(LOOK)
    return worker.status


class Worker:
    """A worker as a process of ours."""

    def __init__(self, words: Sequence[str], *, command: Sequence[str] | None = None) -> None:
        self._mark = uuid4().hex
        self._process = subprocess.Popen(
            [*(command or COMMAND), *words],
            stdin=subprocess.PIPE,
            env={**os.environ, MARK: self._mark},
            # Ctrl-C in a terminal is for this process, which tells the others.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The worker's own number."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """How it ended; None while it lasts."""
        return self._process.poll()

    def stop(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> int:
        """Have every flow run let go, then end the Prefect worker; return 0.

        It is killed where it stands still: let on for its own end, it may take up once more what
        has just been let go of.
        """
        if sys.platform == "win32":
            raise NotImplementedError
        # Standing still it takes up nothing more, not even what has just been let go of.
        self._send(signal.SIGSTOP)
        asked: set[int] = set()
        until = clock() + LIMIT
        while (left := self._flow_runs()) and clock() < until:
            for pid in left - asked:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            asked |= left
            sleep(LOOK)
        self._process.kill()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        return 0

    def _flow_runs(self) -> set[int]:
        """Return the processes that the Prefect worker has started itself."""
        found = processes_with(f"{MARK}={self._mark}")
        return {pid for pid, parent in found.items() if parent == self._process.pid}

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, number)


if __name__ == "__main__":
    sys.exit(main())
