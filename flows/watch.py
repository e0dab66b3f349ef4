"""Watches the flow run at hand: shows its run, and stops it when a person cancels or pauses it.

A Prefect worker that stops is heard as well. Prefect kills the process, immediately or after 30
seconds, and marks every step as crashed. So Callsheet handles the signal while a run lasts: it
records a cancellation in the ledger, then starts nothing more and stops work in progress cleanly.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn

import httpx
from prefect import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import CancelledRun, Pause, PrefectException
from prefect.states import Cancelled

from callsheet.flows.endings import (
    ATTENDED,
    NOT_APPROVED,
    Ended,
    completed,
    is_called_back,
    park,
    run_at_hand,
)
from callsheet.flows.interface import QUESTION
from callsheet.flows.interruption import ASK, Interruption, Kind
from callsheet.flows.shown import Showing, publish_report, table_of_rows
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.shown_states import PRODUCE, STEPS
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.prefect_tasks import as_task
from callsheet.tasks.runtime.errors import NotApproved, Parked
from callsheet.tasks.values.amounts import as_number

#: What asking Prefect's server may end in.
TROUBLE = (httpx.HTTPError, PrefectException, OSError)


@asynccontextmanager
async def shown(run: Run, *, leaves: bool = False) -> AsyncIterator[None]:
    """Show a run in Prefect and let Prefect stop it.

    With `leaves`, it leaves a campaign to the run that has its lease. Raise Ended with the final
    state of a flow run that ends otherwise than its run.
    """
    try:
        async with showing(run), interruptible(run):
            yield
    except NotApproved as refusal:
        raise Ended(completed(NOT_APPROVED, str(refusal), await _unapproved(run))) from refusal
    except Parked as other:
        if run.has_begun or not leaves:
            raise
        raise Ended(completed(ATTENDED, str(other), {"campaign": run.options.campaign})) from other
    await publish_report(PAGE, run)


@asynccontextmanager
async def showing(run: Run) -> AsyncIterator[None]:
    """Show a run in Prefect while it lasts: its steps as task runs, tags, progress and messages."""
    run.takes = _as_task_run
    shown = Showing(run, PAGE)
    shown.begin()
    try:
        yield
    finally:
        await shown.end()


async def _as_task_run(run: Run, key: str, step: Any, ids: tuple[Any, ...]) -> Any:
    """Take a step as a task run, which may have its own final state."""
    table = table_of_rows(PAGE, str(ids[0])) if key == PRODUCE else None
    label = STEPS[key].format(*ids)
    state: State[Any] = await as_task(key, step)(label, ids, table, return_state=True)
    # Rows that failed end no run; the error of the step itself does.
    found = await state.aresult(raise_on_failure=False)
    if isinstance(found, BaseException):
        raise found
    return found


async def _unapproved(run: Run) -> dict[str, Any]:
    """Return the `CampaignResult` of a campaign whose plan is not approved."""
    assert run.campaign is not None
    assert run.plan is not None
    tally = await run.at.ledger.read(tally_of, campaign=run.campaign)
    outcome = RunOutcome(
        campaign=run.campaign.name, tally=tally, charged_this_run=Decimal(0), exit_status=4
    )
    return {**outcome.as_json(), "asked": as_number(run.plan.total)}


@asynccontextmanager
async def interruptible(run: Run) -> AsyncIterator[None]:
    """Stop the run cleanly if the flow run is interrupted while this context lasts.

    Raise Ended with the final state of the flow run, or Pause if it is to be resumed.
    """
    interruption = Interruption(run, PAGE)
    watch = FlowWatch(interruption.hear)
    with watch.listening():
        try:
            yield
        except (asyncio.CancelledError, CancelledRun, Pause):
            if interruption.kind is None:
                raise
            interruption.is_told()
        if interruption.kind is not None:
            await watch.leave(await interruption.settle())


class FlowWatch:
    """Hears once that the flow run is cancelled or paused, or that its Prefect worker stops."""

    def __init__(self, hear: Callable[[Kind], None]) -> None:
        self.kind: Kind | None = None
        self._hear = hear
        self._state: State[Any] | None = None
        self._signal = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to Prefect and to the signal of a Prefect worker."""
        self._asking = asyncio.create_task(self._ask(), name="state of the flow run")
        try:
            with on_sigterm(self._signal):
                yield
        finally:
            if not self._signal.is_set():
                self._asking.cancel()

    async def settled(self) -> Kind | None:
        """Return what was heard, if anything, once it is known what a signal meant."""
        if self._signal.is_set() and self._asking is not None:
            await asyncio.wait({self._asking})
        return self.kind

    async def leave(self, words: str) -> NoReturn:
        """End the flow run in the state that was asked for; `words` say what became of it."""
        if self.kind == "paused":
            raise Pause(words, state=self._state)
        if self.kind == "stopped":
            raise Ended(await park(words, datetime.now(UTC), at_once=True))
        raise Ended(Cancelled(message=words))

    async def _ask(self) -> None:
        while self.kind is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK):
                    await self._signal.wait()
            # A Prefect worker sends it to cancel a run, and when it stops.
            is_signalled = self._signal.is_set()
            kind, self._state = await ask_prefect()
            if is_signalled:
                kind = kind or "stopped"
            elif is_question(self._state):
                # After its own question the run ends by itself, once Prefect has the form.
                kind = None
            if kind is not None:
                self.kind = kind
                self._hear(kind)


async def ask_prefect() -> tuple[Kind | None, State[Any] | None]:
    """Ask Prefect for the state of the flow run; no answer changes nothing."""
    run = run_at_hand()
    assert run is not None
    state: State[Any] | None = None
    with suppress(*TROUBLE):
        async with get_client() as client:
            state = (await client.read_flow_run(run.id)).state
    if state is not None and state.is_paused() and state.state_details.pause_reschedule:
        return "paused", state
    if state is not None and (state.is_cancelling() or state.is_cancelled()):
        return "cancelled", state
    return None, state


def is_question(state: State[Any] | None) -> bool:
    """Return whether the flow run has suspended itself to wait for an answer."""
    return state is not None and (state.state_details.pause_key or "").startswith(QUESTION)


@contextmanager
def on_sigterm(heard: asyncio.Event) -> Iterator[None]:
    """Set an event at SIGTERM instead of Prefect's handler, which cuts off calls in progress.

    Other code in this process that the signal would end, such as a calling flow, still ends.
    """
    before = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    loop = asyncio.get_running_loop()
    try:
        # Threads get no signals, and on Windows the event loop has none.
        loop.add_signal_handler(signal.SIGTERM, heard.set)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)
        if heard.is_set() and not is_called_back():
            signal.raise_signal(signal.SIGTERM)
