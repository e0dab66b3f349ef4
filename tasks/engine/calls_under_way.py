"""The visits under way: when a run is stopped they are waited for, and paid calls the longest."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator

from callsheet.tasks.engine.carried import Carried
from callsheet.tasks.service.sending import LONGEST

log = logging.getLogger("callsheet.engine")

#: How long calls under way may take to end when the run is stopped, in seconds.
GRACE = 5.0


class CallsUnderWay:
    """Who is being visited, and which of those pay without a key."""

    def __init__(self) -> None:
        self._busy: set[Carried] = set()
        #: Of those, the rows whose paid call takes no key: cut off, nobody knows what became of it.
        self._paying: set[Carried] = set()
        self._ended = asyncio.Event()

    @property
    def paying(self) -> list[str]:
        """The rows whose paid call without a key is under way."""
        return sorted(carried.row.row for carried in self._paying)

    @contextlib.contextmanager
    def noted(self, carried: Carried) -> Iterator[None]:
        """Note that a row is being visited, until its visit is over."""
        self._busy.add(carried)
        try:
            yield
        finally:
            self._busy.discard(carried)
            self._paying.discard(carried)
            self._ended.set()

    def pays(self, carried: Carried) -> None:
        """Note that a row's paid call without a key is begun."""
        self._paying.add(carried)

    async def let_finish(self) -> None:
        """Wait for calls under way: to cut one off would only make its outcome unknown.

        The same bytes may be sent again under their key. A paid call without one may not: it is
        waited for as long as it may take.
        """
        await self._ends(self._busy, GRACE)
        if self._paying:
            words = "a paid call without a key is under way, and its answer is waited for: %s"
            log.warning(words, ", ".join(self.paying))
            await self._ends(self._paying, LONGEST)

    async def _ends(self, calls: set[Carried], longest: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                while calls:
                    self._ended.clear()
                    await self._ended.wait()
