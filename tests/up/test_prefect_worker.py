"""A worker that is told to stop has its flow runs let go first, and takes up nothing meanwhile."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from callsheet.deployments.prefect_worker import Worker

#: Carries one flow run and counts as long as it may. Told to stop, it kills the run and takes up
#: another, as Prefect's does.
WORKER = """
import signal, subprocess, sys, time
run = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]])
def end(*_):
    run.kill()
    open(sys.argv[2], "a").write("; another is taken up")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
for count in range(100_000):
    with open(sys.argv[2] + ".counts", "a") as file:
        print(count, file=file)
    time.sleep(0.01)
"""
#: Lets go when it is told to; says how far it is.
FLOW_RUN = """
import signal, sys, time
def end(*_):
    counted = open(sys.argv[1] + ".counts").read()
    time.sleep(0.5)
    same = counted == open(sys.argv[1] + ".counts").read()
    open(sys.argv[1], "a").write(f"let go, and the Prefect worker stood still: {same}")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(sys.argv[1], "w").write("at work; ")
time.sleep(600)
"""
DEAF = FLOW_RUN.replace(
    "signal.signal(signal.SIGTERM, end)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note"


def start(flow_run: str, note: Path) -> Worker:
    worker = Worker([flow_run, str(note)], command=[sys.executable, "-c", WORKER])
    wait_until(lambda: note.exists() and note.read_text() != "")
    return worker


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.safeguard(
    "deployments/prefect_worker.py",
    "self._process.kill()\n        for",
    "self._send(signal.SIGTERM)\n        self._send(signal.SIGCONT)\n        for",
)
def test_a_flow_run_that_does_not_listen_is_ended_with_it(note: Path) -> None:
    worker = start(DEAF, note)
    run = psutil.Process(worker.pid).children()[0]

    # Each look at the clock is ten seconds later.
    assert worker.stop(clock=itertools.count(0, 10).__next__, sleep=lambda _: None) == 0

    assert note.read_text() == "at work; "
    # The kernel ends what was killed a moment later.
    until = time.monotonic() + 10
    while run.is_running() and run.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.merge
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_as_a_whole(note: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", WORKER]
    text = f"""if True:
        import sys
        from callsheet.deployments.prefect_worker import main
        sys.exit(main(sys.argv[1:], command={command!r}))
    """
    program = subprocess.Popen([sys.executable, "-c", text, FLOW_RUN, str(note)])
    wait_until(lambda: note.exists() and note.read_text() != "")

    program.send_signal(number)

    assert program.wait(60) == 0
    assert note.read_text() == "at work; let go, and the Prefect worker stood still: True"
