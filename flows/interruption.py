"""What a person does to a flow run on Prefect's pages stops its run: Cancel, Suspend.

It is in the ledger first, so that it holds even if this process dies. Knows nothing of Prefect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from typing import Literal

from callsheet.flows.shown.artifacts import key_of, out_of_the_way, put_words
from callsheet.flows.shown.page import Page
from callsheet.tasks.aftercare.cancel import cancel_approved, cancel_rest, words_of_rest
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.steps import report_step
from callsheet.tasks.runtime.errors import CallsheetError

#: How often to ask Prefect for the state of the flow run, in seconds.
ASK = 5.0
#: Time limit for cancelling takes, in seconds: Prefect kills 30 s after its signal.
LIMIT = 15.0

Kind = Literal["cancelled", "paused", "stopped"]
#: Reasons for rows and steps that a run did not finish.
WORDS: dict[Kind, str] = {
    "cancelled": "cancelled on Prefect's page",
    "paused": "paused on Prefect's page",
    "stopped": "its worker was stopped",
}


class Interruption:
    """Stops a run of the current task, once; `kind` says why."""

    def __init__(self, run: Run, page: Page) -> None:
        self.kind: Kind | None = None
        self._run = run
        self._page = page
        main = asyncio.current_task()
        assert main is not None
        self._main = main
        self._leaves = False
        self._cancelled: int | None = None
        self._acting: asyncio.Task[None] | None = None

    def hear(self, kind: Kind) -> None:
        """Stop the run, unless it is being stopped already."""
        if self._acting is None:
            self._acting = asyncio.create_task(self._act(kind), name=kind)

    def is_told(self) -> None:
        """Continue after the run was stopped in the middle."""
        if self._leaves:
            self._main.uncancel()

    async def acted(self) -> None:
        """Wait until all that was heard is in the ledger."""
        if self._acting is not None:
            await asyncio.wait({self._acting})

    async def settle(self) -> str:
        """Show what became of the rows; return it in words."""
        await self.acted()
        assert self.kind is not None
        if self.kind == "cancelled" and not self._run.has_begun:
            await self._cancel(cancel_approved(self._run))
        words = f"{WORDS[self.kind]}: {await words_of_rest(self._run, self._cancelled)}"
        await self._say(words)
        return words

    async def _act(self, kind: Kind) -> None:
        """Stop the run: in the ledger first, so that it holds even if this process dies.

        A run that has started nothing yet is only left.
        """
        self.kind = kind
        run, words = self._run, WORDS[kind]
        run.interrupted = words
        if not run.has_begun:
            # It also starts nothing later, even if a step ignores the cancellation.
            run.lose(words)
            self._leaves = self._main.cancel()
            return
        if kind == "cancelled":
            begun = run.at.settings.prefect_cancel == "all"
            await self._cancel(cancel_rest(run, begun=begun))
            if begun:
                # The engine tells the service, as long as there is time.
                asyncio.get_running_loop().call_later(LIMIT, run.stop, words)
                return
        run.stop(words)

    async def _cancel(self, rest: Awaitable[int | None]) -> None:
        try:
            self._cancelled = await rest
        except CallsheetError as error:
            self._page.log(f"not all could be cancelled: {error}", logging.ERROR)

    async def _say(self, words: str) -> None:
        """Report it in the log and in an artifact, and update the report in the store."""
        self._page.log(words, logging.WARNING)
        run = self._run
        if run.campaign is None:
            return
        key = key_of(run.campaign.name, "interruption")
        title = "What ended this run, and what continues"
        await out_of_the_way(put_words)(self._page, key, [words], words=title)
        if run.engine is not None and run.outcome is None:
            with suppress(CallsheetError):
                await report_step(run, run.campaign.name)
