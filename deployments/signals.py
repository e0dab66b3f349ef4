"""What a signal means: Ctrl-C ends a command in order; a run first lets go of what is under way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from callsheet.tasks.visible import say

if TYPE_CHECKING:
    from callsheet.tasks.campaign.crews import Crews
    from callsheet.tasks.campaign.run import Run
    from callsheet.tasks.engine.engine import Engine
    from callsheet.tasks.engine.progress import Snapshot

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


def _waits_for(engine: Engine | Crews) -> str:
    if not engine.paying:
        return "finishing what has started, a few seconds"
    return (
        f"waiting for the answer of a paid call that cannot be repeated "
        f"({', '.join(engine.paying)}), minutes at most; Ctrl-C again leaves it, and it may "
        "have made a video"
    )
