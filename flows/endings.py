"""How flow runs end: in states that alarms understand, also when they are canceled or paused."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal

import httpx
from prefect import get_client, get_run_logger
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import Abort, CancelledRun, Pause, PrefectException
from prefect.states import Cancelled, Completed, Failed, Scheduled

from callsheet.flows.interface import QUESTION
from callsheet.flows.interface import NeedsPerson as NeedsPersonEnds
from callsheet.flows.shown import publish_problems, publish_report, showing
from callsheet.flows.shown.artifacts import key_of, out_of_the_way, put_words
from callsheet.tasks.aftercare.cancel import cancel_approved, cancel_rest, words_of_rest
from callsheet.tasks.campaign.run import Door, Run
from callsheet.tasks.campaign.steps import report_step
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.runtime.errors import CallsheetError, NeedsPerson, NotApproved, Parked
from callsheet.tasks.values.amounts import as_number

# How flow runs end: in states that alarms can use, and without a traceback where nothing broke.
#
# Prefect's pages and most of its alarms go by the type of a state, events by its name: a run ends
# in a state that says the truth by both. The table of states is in `docs/prefect.md`.


#: The names of states that a run ends in, by exit status, where they are not Prefect's own.
NAMES: Final = {2: "Invalid", 3: "NeedsPerson", 4: "Refused", 5: "Parked"}
#: Of a run that is not approved, and of one that leaves the work to whoever is at it.
NOT_APPROVED, ATTENDED = "NotApproved", "Attended"

#: A moment that is no later than this is now: nobody is called back for it, in seconds.
SOON = 1.0


class Ended(Exception):
    """Somebody ended the run from outside; `state` is what it ends in."""

    def __init__(self, state: State[Any]) -> None:
        super().__init__(state.message)
        self.state = state


async def ended(run: Awaitable[State[Any]]) -> State[Any]:
    """Return the state that a flow run ends in: that of `run`, or what stopped it.

    A refusal that was to be expected is a state with its words. Whatever else is raised is a fault
    of ours, and passes.
    """
    try:
        return await run
    except Ended as stopped:
        return stopped.state
    except Parked as error:
        return await park(await publish_problems(error), error.until)
    except CallsheetError as error:
        return refusal(error, await publish_problems(error))


async def end(outcome: RunOutcome, needs: NeedsPersonEnds = "failed") -> State[Any]:
    """Return the state for an outcome; one that is parked is called back by Prefect if it can."""
    if outcome.exit_status == 5:
        words = "; ".join(filter(None, (outcome.words, counts(outcome))))
        return await park(words, outcome.parked_until, data=outcome.as_json())
    return ending(outcome, needs)


def ending(outcome: RunOutcome, needs: NeedsPersonEnds = "failed") -> State[Any]:
    """Return the state for an outcome, in a flow whose runs something else calls back."""
    document, words = outcome.as_json(), counts(outcome)
    if outcome.exit_status == 3:
        return needs_person(words, document, needs)
    name = NAMES.get(outcome.exit_status, "Completed")
    return Completed(name=name, message=words, data=document)


def needs_person(
    words: str, document: dict[str, Any], needs: NeedsPersonEnds = "failed"
) -> State[Any]:
    """Return the state of a run after which a person is needed: failed, or as `needs` says.

    Whoever asks for the result of a failed one gets a `NeedsPerson` with the document.
    """
    if needs == "completed":
        return Completed(name=NAMES[3], message=words, data=document)
    error = NeedsPerson(words)
    error.document = document
    return Failed(name=NAMES[3], message=words, data=error)


def not_approved(words: str, document: dict[str, Any] | None = None) -> State[Any]:
    """Return the state of a run whose plan nobody approved: it waits for that, and is no alarm."""
    return Completed(name=NOT_APPROVED, message=words, data=document or {})


def attended(words: str, document: dict[str, Any] | None = None) -> State[Any]:
    """Return the state of a run that somebody else does."""
    return Completed(name=ATTENDED, message=words, data=document or {})


def refusal(error: CallsheetError, words: str) -> State[Any]:
    """Return the state for an error that says itself what it is; the result is the error."""
    return Failed(name=NAMES.get(error.exit_status, "Failed"), message=words, data=error)


async def park(
    words: str,
    until: datetime | None,
    *,
    data: dict[str, Any] | None = None,
    at_once: bool = False,
) -> State[Any]:
    """End a run that goes on at a moment, if one is known: Prefect starts it again then.

    Only a deployment's runs are started again; others return a state of the same name. A run is
    not started again `at_once` unless that is said: it would never come to rest.
    """
    if until is not None and (at_once or until - datetime.now(UTC) > timedelta(seconds=SOON)):
        if is_called_back():
            await _call_back(words, until)
        words = f"{words}; run it again after {until:%Y-%m-%d %H:%M:%S} UTC"
    return Completed(name=NAMES[5], message=words, data=data or {})


def is_called_back() -> bool:
    """Whether a Prefect worker, or `serve`, started this process, and would again."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return run is not None and bool(run.deployment_id) and run.parent_task_run_id is None


def counts(outcome: RunOutcome) -> str:
    """Return how many rows are in which state, for people."""
    return ", ".join(f"{count} {state}" for state, count in outcome.tally.rows.items())


async def _call_back(words: str, until: datetime) -> None:
    """Have this flow run started again, and leave it there."""
    context = FlowRunContext.get()
    assert context is not None
    assert context.flow_run is not None
    state: State[Any] = Scheduled(name=NAMES[5], message=words, scheduled_time=until)
    async with get_client() as client:
        answer = await client.set_flow_run_state(context.flow_run.id, state)
    if answer.state is None or not answer.state.is_scheduled():
        # It was cancelled meanwhile, for one: then that is how it ends.
        return
    context.flow_run.state = answer.state
    raise Abort(words)


async def unapproved(run: Run) -> dict[str, Any]:
    """Return how a campaign stands whose plan nobody has approved: a `CampaignResult`."""
    assert run.campaign is not None
    assert run.plan is not None
    tally = await run.at.ledger.read(partial(tally_of, campaign=run.campaign))
    outcome = RunOutcome(
        campaign=run.campaign.name, tally=tally, charged_this_run=Decimal(0), exit_status=4
    )
    return {**outcome.as_json(), "asked": as_number(run.plan.total)}


class ShownDoor(Door):
    """Shows a run in Prefect, and has it stopped from there; approves nothing."""

    @asynccontextmanager
    async def watch(self, run: Run) -> AsyncIterator[None]:
        try:
            async with showing(run), interruptible(run):
                yield
        except NotApproved as refusal:
            raise Ended(not_approved(str(refusal), await unapproved(run))) from refusal
        await publish_report(run)


# What befalls a flow run from outside while it lasts: somebody cancels or pauses it on Prefect's
# page, or the Prefect worker that carries it is stopped.
#
# Prefect kills the process, at once or half a minute later, and calls every step crashed. So the
# signal is ours while a run lasts: the run begins nothing more, lets go of what is under way in
# order, and what a cancelling asks for is in the ledger before anything else.


#: How often Prefect is asked how it has the flow run, in seconds.
ASK = 5.0
#: How long takes that are cancelled too may take to be: Prefect kills 30 s after its signal.
LIMIT = 15.0

Kind = Literal["cancelled", "paused", "stopped"]
#: What is said of rows and steps that a run left undone.
WORDS: dict[Kind, str] = {
    "cancelled": "cancelled on Prefect's page",
    "paused": "paused on Prefect's page",
    "stopped": "its worker was stopped",
}


@asynccontextmanager
async def interruptible(run: Run) -> AsyncIterator[None]:
    """Have what befalls the flow run from outside stop the run in order, while this lasts.

    Raises Ended with the state that the flow run ends in, or Pause where it is to be resumed.
    """
    interruption = _Interruption(run)
    with interruption.listening():
        try:
            yield
        except (asyncio.CancelledError, CancelledRun, Pause):
            if interruption.kind is None:
                raise
            interruption.is_told()
        if interruption.kind is not None:
            await interruption.settle()


class _Interruption:
    """Hears of an interruption, and brings the run to its end."""

    def __init__(self, run: Run) -> None:
        self.kind: Kind | None = None
        self._run = run
        self._state: State[Any] | None = None
        main = asyncio.current_task()
        assert main is not None
        self._main = main
        self._leaves = False
        self._cancelled: int | None = None
        self._acting: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to Prefect, and to the signal that a Prefect worker sends."""
        asking = asyncio.create_task(self._ask(), name="state of the flow run")
        try:
            # A run of the command line has the signals itself.
            with nullcontext() if self._run.followed else on_sigterm(self._signalled):
                yield
        finally:
            asking.cancel()

    def is_told(self) -> None:
        """Go on after the run was left in the middle."""
        if self._leaves:
            self._main.uncancel()

    async def settle(self) -> None:
        """Say how things stand, and end the flow run as it was asked to."""
        assert self.kind is not None
        if self._acting is not None:
            await asyncio.wait({self._acting})
        if self.kind == "cancelled" and not self._run.has_begun:
            await self._cancel(cancel_approved(self._run))
        words = f"{WORDS[self.kind]}: {await words_of_rest(self._run, self._cancelled)}"
        await self._say(words)
        if self.kind == "paused":
            raise Pause(words, state=self._state)
        if self.kind == "stopped":
            raise Ended(await park(words, datetime.now(UTC), at_once=True))
        raise Ended(Cancelled(message=words))

    async def _ask(self) -> None:
        while True:
            await asyncio.sleep(ASK)
            kind = await self._kind()
            # After a question of its own the run leaves by itself, once Prefect has the form.
            if kind is not None and not is_question(self._state):
                self._hear(kind)
                return

    def _signalled(self) -> None:
        """Act on the signal that a Prefect worker sends to cancel a run, or when it stops."""
        if self._acting is None:
            self._acting = asyncio.create_task(self._find_out(), name="signal")

    async def _find_out(self) -> None:
        await self._act(await self._kind() or "stopped")

    def _hear(self, kind: Kind) -> None:
        if self._acting is None:
            self._acting = asyncio.create_task(self._act(kind), name=kind)

    async def _kind(self) -> Kind | None:
        kind, self._state = await ask_prefect()
        return kind

    async def _act(self, kind: Kind) -> None:
        """Have the run stop: the ledger first, so that it holds whatever becomes of this process.

        A run that has begun nothing yet is left where it is.
        """
        self.kind = kind
        run, words = self._run, WORDS[kind]
        run.interrupted = words
        if not run.has_begun:
            # Nor does it begin anything later, whatever takes no notice of being left.
            run.lose(words)
            self._leaves = self._main.cancel()
            return
        if kind == "cancelled":
            begun = run.at.settings.prefect_cancel == "all"
            await self._cancel(cancel_rest(run, begun=begun))
            if begun:
                # The engine sees to it that the service hears of it, as long as there is time.
                asyncio.get_running_loop().call_later(LIMIT, run.stop, words)
                return
        run.stop(words)

    async def _cancel(self, rest: Awaitable[int | None]) -> None:
        try:
            self._cancelled = await rest
        except CallsheetError as error:
            get_run_logger().error("not all could be cancelled: %s", error)

    async def _say(self, words: str) -> None:
        """Say it in the log and in an artifact, and bring the report in the store up to date."""
        get_run_logger().warning(words)
        run = self._run
        if run.campaign is None:
            return
        await _publish(key_of(run.campaign.name, "interruption"), words)
        if run.engine is not None and run.outcome is None:
            with suppress(CallsheetError):
                await report_step(run, run.campaign.name)


@out_of_the_way
async def _publish(key: str, words: str) -> None:
    await put_words(key, [words], words="What ended this run, and what continues")


async def ask_prefect() -> tuple[Kind | None, State[Any] | None]:
    """Ask Prefect how it has the flow run, and whether it goes on; no answer says nothing."""
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
    """Whether this is the state of a flow run that has suspended itself for an answer."""
    return state is not None and (state.state_details.pause_key or "").startswith(QUESTION)


@contextmanager
def on_sigterm(hear: Callable[[], None]) -> Iterator[None]:
    """Have SIGTERM heard instead of Prefect's handler, which cuts off calls that are under way.

    Whoever else in this process would have been ended by it, is: a flow that calls this one, say.
    """
    heard = False

    def note() -> None:
        nonlocal heard
        heard = True
        hear()

    before = _handler()
    loop = asyncio.get_running_loop()
    try:
        # In a thread there are no signals, and on Windows the loop has none.
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
