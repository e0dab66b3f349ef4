"""What is left of somebody who was killed is found by its mark, and ended."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count

import pytest

from callsheet.deployments.up.orphans import VARIABLE, end_leftovers, marked

#: Starts a child in a session of its own, says its number, and goes on.
PARENT = """
import subprocess, sys, time
child = [sys.executable, "-c", "import time; time.sleep(600)"]
print(subprocess.Popen(child, start_new_session=True).pid, flush=True)
time.sleep(600)
"""
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(1, flush=True)
time.sleep(600)
"""
#: Ends its child by itself, when asked to end.
ORDERLY = """
import signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
def end(*_):
    time.sleep(0.5)
    child.kill()
    sys.exit(0 if child.wait() == -9 else 1)
signal.signal(signal.SIGTERM, end)
print(child.pid, flush=True)
time.sleep(600)
"""

#: Ends half a second after it was asked to, with how often it was asked.
COUNTS = """
import signal, sys, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(time.monotonic()))
print(1, flush=True)
while not asked or time.monotonic() < asked[0] + 0.5:
    time.sleep(0.02)
sys.exit(len(asked))
"""


@pytest.fixture
def mark() -> Iterator[str]:
    made = secrets.token_hex(8)
    yield made
    for pid in marked(made):
        with suppress(ProcessLookupError):
            os.kill(pid, 9)


def start(mark: str, text: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, VARIABLE: mark},
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, int(process.stdout.readline())


def test_a_child_in_another_session_whose_parent_is_gone_is_found(mark: str) -> None:
    parent, child = start(mark, PARENT)
    assert set(marked(mark)) == {parent.pid, child}

    parent.kill()
    parent.wait()

    assert set(marked(mark)) == {child}
    assert end_leftovers(mark) == 1
    assert marked(mark) == {}


def test_what_does_not_listen_is_killed(mark: str) -> None:
    process, _ = start(mark, DEAF)

    end_leftovers(mark, grace=1.0)

    assert process.wait(10) == -9


def test_what_does_not_listen_is_killed_however_slowly_it_is_looked_for(mark: str) -> None:
    process, _ = start(mark, DEAF)
    each_look_takes_a_minute = count(step=60).__next__

    end_leftovers(mark, grace=1, clock=each_look_takes_a_minute)

    assert process.wait(10) == -9


def test_whoever_ends_its_own_children_is_let_do_so(mark: str) -> None:
    parent, _ = start(mark, ORDERLY)

    end_leftovers(mark)

    assert parent.wait(10) == 0


def test_each_is_asked_once(mark: str) -> None:
    process, _ = start(mark, COUNTS)

    end_leftovers(mark)

    assert process.wait(10) == 1


def test_whoever_is_killed_leaves_nothing(mark: str) -> None:
    process, _ = start(mark, PARENT)
    guard = subprocess.Popen(
        [sys.executable, "-m", "callsheet.deployments.up.orphans", mark], stdin=subprocess.PIPE
    )

    guard.stdin.close()

    assert guard.wait(30) == 0
    assert process.wait(10) == -15
    assert marked(mark) == {}


def test_others_are_left_alone(mark: str) -> None:
    other, _ = start(secrets.token_hex(8), DEAF)

    assert end_leftovers(mark) == 0
    assert other.poll() is None
    other.kill()
