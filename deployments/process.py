"""Signals and sockets of a command."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from callsheet.tasks.runtime.redact import say

if TYPE_CHECKING:
    from callsheet.tasks.campaign.run import Run
    from callsheet.tasks.campaign.workers import Workers
    from callsheet.tasks.engine.engine import Engine

T = TypeVar("T")

#: Why a run that a signal stopped begins nothing more.
STOPPED = "stopped by a signal"


def run_command(main: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end; Ctrl-C cancels it at once, whatever it waits for.

    `asyncio.run` alone is told of Ctrl-C at the next turn of its loop. One that goes to sleep in
    the same moment sleeps on: a question would stand there until Enter was pressed.
    """

    async def stoppable() -> T:
        # Anyone who started us with Ctrl-C ignored, in the background of a script, means it.
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
    # In a thread there are no signals.
    with suppress(RuntimeError, ValueError):
        handle_signals(task.cancel, signal.SIGINT)


def handle_signals(stop: Callable[[], object], *numbers: int) -> None:
    """Have the event loop call `stop` at each of these signals."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # the event loop of Windows, which wakes up all the same
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def handle_stops(stop: Callable[[], object]) -> None:
    """Have `stop` called at SIGINT and SIGTERM, and when the terminal is closed."""
    handle_signals(stop, signal.SIGINT, signal.SIGTERM)
    _handle_hangup(stop)


def _handle_hangup(stop: Callable[[], object]) -> None:
    """Have `stop` called once when the terminal is closed, unless `nohup` started this process.

    Both the system and the shell tell of that: the second time is no wish to end at once.
    """
    if sys.platform == "win32" or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return

    def hang_up() -> None:
        handle_signals(lambda: None, signal.SIGHUP)
        stop()

    handle_signals(hang_up, signal.SIGHUP)


@contextmanager
def on_signal(stop: Callable[[], object]) -> Iterator[None]:
    """Have `stop` called at the signals that end a command."""
    loop = asyncio.get_running_loop()
    handle_stops(stop)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _cancel_on_interrupt()
        # What is left is to say how it ended.
        _handle_hangup(lambda: None)


@contextmanager
def stopping(run: Run) -> Iterator[None]:
    """First signal: end in order. Second: at once. What is under way is in the ledger."""
    main = asyncio.current_task()
    assert main is not None

    def stop() -> None:
        if run.engine is None or run.engine.parked_because or run.outcome is not None:
            main.cancel()
        else:
            say(f"stopping: {_waits_for(run.engine)}")
            run.stop(STOPPED)

    with on_signal(stop):
        yield


def _waits_for(engine: Engine | Workers) -> str:
    if not engine.paying:
        return "finishing what has started, a few seconds"
    return (
        f"waiting for the answer of a paid call that cannot be repeated "
        f"({', '.join(engine.paying)}), minutes at most; Ctrl-C again leaves it, and it may "
        "have made a video"
    )


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
    """Return the socket on which the parent process listens, by the number of its file."""
    os.set_inheritable(number, False)
    return socket.socket(fileno=number)


def origin_of(listening: socket.socket) -> str:
    """Return the address that a socket listens on, as a URL."""
    return origin_at(*listening.getsockname()[:2])


def origin_at(host: str, port: int) -> str:
    """Return the URL of what listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
