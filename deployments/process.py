"""Signals, locks and sockets of a command."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from callsheet.tasks.runtime.redact import say

if TYPE_CHECKING:
    from callsheet.tasks.campaign.run import Run
    from callsheet.tasks.campaign.workers import Workers
    from callsheet.tasks.engine.engine import Engine
    from callsheet.tasks.engine.progress import Snapshot

# What a signal means: Ctrl-C ends a command in order; a run first lets go of what is under way.


T = TypeVar("T")

#: Why a run that a signal stopped begins nothing more.
STOPPED = "stopped by a signal"


def run_command(main: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end; Ctrl-C cancels it at once, whatever it waits for.

    `asyncio.run` alone hears of Ctrl-C at the next turn of its loop. One that goes to sleep in the
    same moment sleeps on: a question would stand there until Enter was pressed.
    """

    async def stoppable() -> T:
        # Whoever started us with Ctrl-C ignored, in the background of a script, means it.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            _cancel_on_interrupt()
        return await main

    try:
        return asyncio.run(stoppable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _cancel_on_interrupt() -> None:
    task = asyncio.current_task()
    assert task is not None
    # Windows' loop has no handlers and wakes up by itself; in a thread there are no signals.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)


@contextmanager
def on_signal(stop: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Have `stop` called at SIGINT and SIGTERM; yield what takes the signals back if need be."""
    loop = asyncio.get_running_loop()

    def arm() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)

    arm()
    try:
        yield arm
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        _cancel_on_interrupt()


@contextmanager
def stopping(run: Run) -> Iterator[Callable[[Snapshot], None]]:
    """First signal: end in order. Second: at once. What is under way is in the ledger.

    Yields what listens to the run: at the start of a flow Prefect hangs its own handler on
    SIGTERM, which cuts off calls that are under way, and the signals are taken back from it.
    """
    main = asyncio.current_task()
    assert main is not None

    def stop() -> None:
        if run.engine is None or run.engine.parked_because or run.outcome is not None:
            main.cancel()
        else:
            say(f"stopping: {_waits_for(run.engine)}")
            run.stop(STOPPED)

    with on_signal(stop) as arm:
        ours = signal.getsignal(signal.SIGTERM)

        def hear(_: Snapshot) -> None:
            if signal.getsignal(signal.SIGTERM) != ours:
                arm()

        yield hear


def _waits_for(engine: Engine | Workers) -> str:
    if not engine.paying:
        return "finishing what has started, a few seconds"
    return (
        f"waiting for the answer of a paid call that cannot be repeated "
        f"({', '.join(engine.paying)}), minutes at most; Ctrl-C again leaves it, and it may "
        "have made a video"
    )


# A lock that the kernel takes back from whoever was killed: it is of an open file.


def try_lock(file: int) -> bool:
    """Take the lock of an open file if it is free; it is given back when the file is closed.

    Windows has none of it: there it is always free.
    """
    if os.name == "nt":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# A socket that a server of ours listens on, and the address that others reach it by.


def listen_on(family: int, place: Any, *, backlog: int) -> socket.socket:
    """Return a socket that listens; raises OSError or OverflowError where that cannot be had."""
    # The protocol is named because asyncio turns off Nagle's delay, 40 ms an answer, only then.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # Elsewhere it would let two programs have the same port.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(backlog)
    except (OSError, OverflowError):
        made.close()
        raise
    return made


def inherited(number: int) -> socket.socket:
    """Return the socket that whoever started this process listens on, by the number of its file."""
    os.set_inheritable(number, False)
    return socket.socket(fileno=number)


def origin_of(listening: socket.socket) -> str:
    """Return the address that a socket listens on, as a URL."""
    return origin_at(*listening.getsockname()[:2])


def origin_at(host: str, port: int) -> str:
    """Return the URL of what listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
