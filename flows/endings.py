"""How flow runs end: in states that alarms understand, also when they are canceled or paused.

Prefect's pages and most alarms use the type of a state, events use its name: both must be right.
The table of states is in `docs/prefect.md`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn

import httpx
from prefect import get_client
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import Abort, CancelledRun, Pause, PrefectException
from prefect.states import Cancelled, Completed, Failed, Scheduled

from callsheet.flows.interface import QUESTION
from callsheet.flows.interface import NeedsPerson as NeedsPersonEnds
from callsheet.flows.interruption import ASK, Interruption, Kind
from callsheet.flows.shown import publish_problems, publish_report, showing
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.campaign.run import Door, Run
from callsheet.tasks.campaign.shown_states import NAMES, counts, is_ahead, until_words
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.runtime.errors import CallsheetError, NeedsPerson, NotApproved, Parked
from callsheet.tasks.values.amounts import as_number

#: Names for a run that is not approved, and for one that leaves the campaign to another run.
NOT_APPROVED, ATTENDED = "NotApproved", "Attended"


class Ended(Exception):
    """The run was ended from outside; `state` is its final state."""

    def __init__(self, state: State[Any]) -> None:
        super().__init__(state.message)
        self.state = state


async def ended(run: Awaitable[State[Any]]) -> State[Any]:
    """Return the final state of a flow run: that of `run`, or of the error that stopped it.

    An expected refusal becomes a state with its message. Any other exception is a bug and is not
    caught.
    """
    try:
        return await run
    except Ended as stopped:
        return stopped.state
    except Parked as error:
        return await park(await publish_problems(PAGE, error), error.until)
    except CallsheetError as error:
        return refusal(error, await publish_problems(PAGE, error))


async def end(outcome: RunOutcome, needs: NeedsPersonEnds = "failed") -> State[Any]:
    """Return the state for an outcome; Prefect resumes a parked run if it can."""
    if outcome.exit_status == 5:
        words = "; ".join(filter(None, (outcome.words, counts(outcome))))
        return await park(words, outcome.parked_until, data=outcome.as_json())
    return ending(outcome, needs)


def ending(outcome: RunOutcome, needs: NeedsPersonEnds = "failed") -> State[Any]:
    """Return the state for an outcome, in a flow that is not resumed by Prefect."""
    document, words = outcome.as_json(), counts(outcome)
    if outcome.exit_status == 3:
        return needs_person(words, document, needs)
    name = NAMES.get(outcome.exit_status, "Completed")
    return Completed(name=name, message=words, data=document)


def needs_person(
    words: str, document: dict[str, Any], needs: NeedsPersonEnds = "failed"
) -> State[Any]:
    """Return the state of a run that needs attention: failed, or as `needs` says.

    The result of a failed one is a `NeedsPerson` error with the document.
    """
    if needs == "completed":
        return Completed(name=NAMES[3], message=words, data=document)
    error = NeedsPerson(words)
    error.document = document
    return Failed(name=NAMES[3], message=words, data=error)


def not_approved(words: str, document: dict[str, Any] | None = None) -> State[Any]:
    """Return the state of a run whose plan waits for approval, which is not an alarm."""
    return Completed(name=NOT_APPROVED, message=words, data=document or {})


def attended(words: str, document: dict[str, Any] | None = None) -> State[Any]:
    """Return the state of a run that leaves the campaign to another run."""
    return Completed(name=ATTENDED, message=words, data=document or {})


def refusal(error: CallsheetError, words: str) -> State[Any]:
    """Return the state for an error with a clear message; the result is the error."""
    return Failed(name=NAMES.get(error.exit_status, "Failed"), message=words, data=error)


async def park(
    words: str,
    until: datetime | None,
    *,
    data: dict[str, Any] | None = None,
    at_once: bool = False,
) -> State[Any]:
    """End a run that resumes at a known time, when Prefect starts it again.

    Only runs of a deployment are started again; others return a state of the same name. A run
    resumes immediately only with `at_once`; otherwise it could restart forever.
    """
    if until is not None and (at_once or is_ahead(until)):
        if is_called_back():
            await _call_back(words, until)
        words = until_words(words, until)
    return Completed(name=NAMES[5], message=words, data=data or {})


def is_called_back() -> bool:
    """Return whether a Prefect worker or `serve` started this process and would restart it."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return run is not None and bool(run.deployment_id) and run.parent_task_run_id is None


async def _call_back(words: str, until: datetime) -> None:
    """Schedule this flow run again, and end it."""
    context = FlowRunContext.get()
    assert context is not None
    assert context.flow_run is not None
    state: State[Any] = Scheduled(name=NAMES[5], message=words, scheduled_time=until)
    async with get_client() as client:
        answer = await client.set_flow_run_state(context.flow_run.id, state)
    if answer.state is None or not answer.state.is_scheduled():
        # For example, it was cancelled meanwhile: then it ends as cancelled.
        return
    context.flow_run.state = answer.state
    raise Abort(words)


async def unapproved(run: Run) -> dict[str, Any]:
    """Return the `CampaignResult` of a campaign whose plan is not approved."""
    assert run.campaign is not None
    assert run.plan is not None
    tally = await run.at.ledger.read(tally_of, campaign=run.campaign)
    outcome = RunOutcome(
        campaign=run.campaign.name, tally=tally, charged_this_run=Decimal(0), exit_status=4
    )
    return {**outcome.as_json(), "asked": as_number(run.plan.total)}


class ShownDoor(Door):
    """Shows a run in Prefect and lets Prefect stop it; approves nothing."""

    @asynccontextmanager
    async def watch(self, run: Run) -> AsyncIterator[None]:
        try:
            async with showing(run, PAGE), interruptible(run):
                yield
        except NotApproved as refusal:
            raise Ended(not_approved(str(refusal), await unapproved(run))) from refusal
        await publish_report(PAGE, run)


# Interruptions of a flow run: a person cancels or pauses it, or its Prefect worker stops.
#
# Prefect kills the process, immediately or after 30 seconds, and marks every step as crashed. So
# Callsheet handles the signal while a run lasts: it records a cancellation in the ledger, then
# starts nothing more and stops work in progress cleanly.


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
        self._signal: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to Prefect and to the signal of a Prefect worker."""
        asking = asyncio.create_task(self._ask(), name="state of the flow run")
        try:
            with on_sigterm(self._signalled):
                yield
        finally:
            asking.cancel()

    async def settled(self) -> Kind | None:
        """Return what was heard, if anything, once it is known what a signal meant."""
        if self._signal is not None:
            await asyncio.wait({self._signal})
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
            await asyncio.sleep(ASK)
            kind, state = await ask_prefect()
            # After its own question the run ends by itself, once Prefect has the form.
            if kind is not None and not is_question(state):
                self._told(kind, state)

    def _signalled(self) -> None:
        """Handle the signal that a Prefect worker sends to cancel a run, or when it stops."""
        if self._signal is None:
            self._signal = asyncio.create_task(self._find_out(), name="signal")

    async def _find_out(self) -> None:
        kind, state = await ask_prefect()
        self._told(kind or "stopped", state)

    def _told(self, kind: Kind, state: State[Any] | None) -> None:
        if self.kind is None:
            self.kind, self._state = kind, state
            self._hear(kind)


async def ask_prefect() -> tuple[Kind | None, State[Any] | None]:
    """Ask Prefect for the state of the flow run; no answer changes nothing."""
    context = FlowRunContext.get()
    assert context is not None
    assert context.flow_run is not None
    state: State[Any] | None = None
    with suppress(httpx.HTTPError, PrefectException, OSError):
        async with get_client() as client:
            state = (await client.read_flow_run(context.flow_run.id)).state
    if state is not None and state.is_paused() and state.state_details.pause_reschedule:
        return "paused", state
    if state is not None and (state.is_cancelling() or state.is_cancelled()):
        return "cancelled", state
    return None, state


def is_question(state: State[Any] | None) -> bool:
    """Return whether the flow run has suspended itself to wait for an answer."""
    return state is not None and (state.state_details.pause_key or "").startswith(QUESTION)


@contextmanager
def on_sigterm(hear: Callable[[], None]) -> Iterator[None]:
    """Handle SIGTERM instead of Prefect's handler, which cuts off calls in progress.

    Other code in this process that the signal would end, such as a calling flow, still ends.
    """
    heard = False

    def note() -> None:
        nonlocal heard
        heard = True
        hear()

    before = _handler()
    loop = asyncio.get_running_loop()
    try:
        # Threads get no signals, and on Windows the event loop has none.
        loop.add_signal_handler(signal.SIGTERM, note)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)
        if heard and not is_called_back():
            signal.raise_signal(signal.SIGTERM)


def _handler() -> Any:
    return signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
