"""What a signal means to a run: the first ends it in order, the second at once."""

from __future__ import annotations

import asyncio
import signal
import sys
from types import TracebackType

from tasks.campaign.run import Run
from tasks.engine.engine import Engine
from tasks.engine.progress import Snapshot


class Signals:
    """First signal: end in order. Second: at once. What is under way is in the ledger."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._armed_for: Engine | None = None

    def __enter__(self) -> Signals:
        self._arm()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)
        if isinstance(error, asyncio.CancelledError):
            raise KeyboardInterrupt from None

    def hear(self, _: Snapshot) -> None:
        """Take the signals back: at the start of a flow Prefect hangs its own handler on SIGTERM,
        which cuts off calls that are under way."""
        if self._run.engine is not self._armed_for:
            self._armed_for = self._run.engine
            self._arm()

    def _arm(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._stop)

    def _stop(self) -> None:
        engine = self._run.engine
        if engine is None or engine.parked_because:
            assert self._main is not None
            self._main.cancel()
        else:
            print("stopping: what is under way is let finish, a few seconds", file=sys.stderr)
            self._run.stop("stopped by a signal")
