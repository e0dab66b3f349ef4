"""How the steps of a run ended, for a process that shows the run and does not hold it up.

The run takes its steps here (`Taken`). The other process follows them (`Followed`): it calls the
same steps, and each of its calls ends as the step did here. Nothing in it can plan, pay or deliver.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.runtime.errors import CallsheetError

T = TypeVar("T")
Step = Callable[..., Awaitable[T]]
Ids = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class StepEnd:
    """How one step ended: with a result, with an error, or `cancelled`."""

    step: str
    ids: Ids
    result: Any = None
    error: BaseException | None = None
    cancelled: bool = False


class Taken:
    """The steps that a run has taken; `on_end` is told of each from then on."""

    def __init__(self) -> None:
        self.ends: list[StepEnd] = []
        self.on_end: Callable[[StepEnd], None] | None = None

    def clear(self) -> None:
        """Forget the steps of an earlier run."""
        self.ends.clear()
        self.on_end = None

    async def take(self, step: Step[T], run: object, *ids: str | int) -> T:
        """Take a step, and note how it ended."""
        try:
            result = await step(run, *ids)
        except asyncio.CancelledError:
            self._note(StepEnd(step=step.__name__, ids=ids, cancelled=True))
            raise
        except BaseException as error:
            self._note(StepEnd(step=step.__name__, ids=ids, error=_portable(error)))
            raise
        self._note(StepEnd(step=step.__name__, ids=ids, result=result))
        return result

    def _note(self, end: StepEnd) -> None:
        self.ends.append(end)
        if self.on_end is not None:
            self.on_end(end)


class Followed:
    """A run of another process: its steps, its last snapshot, and how to ask it to stop.

    `labels` name the shards that it produces. Used on one event loop.
    """

    def __init__(
        self, snapshot: Snapshot, labels: list[str], *, stop: Callable[[str], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self.snapshot = snapshot
        self.labels = labels
        #: Asks the run to begin nothing more, because of this.
        self.stop = stop
        self._ends: defaultdict[tuple[str, Ids], asyncio.Future[Any]]
        self._ends = defaultdict(loop.create_future)
        self._gone: Exception | None = None

    def note(self, end: StepEnd) -> None:
        """Take in how a step ended."""
        future = self._ends[end.step, end.ids]
        if end.cancelled:
            future.cancel()
        elif end.error is not None:
            _fail(future, end.error)
        else:
            future.set_result(end.result)

    def lose(self, error: Exception) -> None:
        """Fail every step that has not ended: the process of the run is gone."""
        self._gone = error
        for future in self._ends.values():
            if not future.done():
                _fail(future, error)

    async def end_of(self, step: Step[T], *ids: str | int) -> T:
        """Wait for the end of a step; return or raise what it does."""
        key = step.__name__, ids
        if self._gone is not None and key not in self._ends:
            raise self._gone
        result: T = await asyncio.shield(self._ends[key])
        return result


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    future.set_exception(error)
    # Retrieved: no one need follow.
    future.exception()


def _portable(error: BaseException) -> BaseException:
    """Return an error that another process can be told; most can, as they are."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return CallsheetError(str(error) or type(error).__name__)
    return error
