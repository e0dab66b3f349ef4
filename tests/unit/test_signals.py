"""Ctrl-C ends what waits, at once, and what waits in order."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

from callsheet.deployments.process import on_signal, run_command
from callsheet.deployments.terminal import read_line


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    """A pseudo-terminal: where somebody types, and what a program reads."""
    ours, theirs = pty.openpty()
    with open(theirs) as typed:
        yield ours, typed
    os.close(ours)


def test_a_question_is_left_at_once_wherever_the_signal_arrives(terminal):
    """It may arrive in another thread, or just as the loop goes to sleep: nothing wakes it then."""
    ours, typed = terminal
    left, in_time = threading.Event(), []

    def interrupt() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        in_time.append(left.wait(10))
        os.write(ours, b"y\n")

    async def question() -> str:
        asyncio.get_running_loop().call_later(0.1, lambda: threading.Timer(0.2, interrupt).start())
        return await read_line(typed)

    with pytest.raises(KeyboardInterrupt):
        run_command(question())
    left.set()
    until = threading.Event()
    while not in_time:
        until.wait(0.01)
    assert in_time == [True]


def test_a_loop_that_watches_no_terminal_reads_all_the_same(terminal):
    """The loop of Windows is such a one."""
    ours, typed = terminal
    os.write(ours, b"yes\n")
    with asyncio.Runner(loop_factory=Blind) as runner:
        assert runner.run(read_line(typed)) == "yes\n"


class Blind(asyncio.SelectorEventLoop):
    def add_reader(self, *_: object) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_goes_to_whoever_asked_for_it_and_then_to_the_command(number):
    heard = []

    async def command() -> None:
        with on_signal(lambda: heard.append(number)):
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        run_command(command())
    assert heard == [number]
