"""Which steps of a run have been taken: so that Prefect can show a run that does not wait for it.

One carrier takes the steps of a run. Another one may follow it: it calls the same steps, and each
of its calls ends as, and when, the step itself does.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")
Step = Callable[..., Awaitable[T]]
Ids = tuple[str | int, ...]


class Taken:
    """How the steps of one run ended, by step and ids; used on the run's own event loop."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._ends: defaultdict[tuple[str, Ids], asyncio.Future[Any]]
        self._ends = defaultdict(loop.create_future)

    async def take(self, step: Step[T], *ids: str | int) -> T:
        """Take a step, for those who follow to see."""
        end = self._ends[step.__name__, ids]
        try:
            result = await step(*ids)
        except asyncio.CancelledError:
            end.cancel()
            raise
        except BaseException as error:
            end.set_exception(error)
            # Retrieved: nobody need follow.
            end.exception()
            raise
        end.set_result(result)
        return result

    async def end_of(self, step: Step[T], *ids: str | int) -> T:
        """Wait for the end of a step that somebody else takes; return or raise what it does."""
        result: T = await asyncio.shield(self._ends[step.__name__, ids])
        return result
