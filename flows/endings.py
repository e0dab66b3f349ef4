"""How flow runs end: in states that alarms understand, also when they are canceled or paused.

Prefect's pages and most alarms use the type of a state, events use its name: both must be right.
The table of states is in `docs/prefect.md`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import datetime
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from prefect import Flow, flow, get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.exceptions import Abort
from prefect.states import Completed, Scheduled

from callsheet.flows.interface import NeedsPerson as NeedsPersonEnds
from callsheet.flows.shown import publish_problems
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.campaign.shown_states import (
    NAMES,
    is_ahead,
    state_of_end,
    until_words,
    words_of,
)
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    NeedsPerson,
    Parked,
    SpendRefused,
)

P = ParamSpec("P")
R = TypeVar("R")
#: Names for a run whose plan waits for approval, and for one that leaves the campaign to another.
NOT_APPROVED, ATTENDED = "NotApproved", "Attended"
#: What a caller of a flow gets for a run that failed, by its exit status.
_ERRORS: Final = {2: BadInput, 3: NeedsPerson, 4: SpendRefused}


def callsheet_flow(
    name: str, description: str, run_name: str | Callable[[], str] | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Flow[P, Coroutine[Any, Any, R]]]:
    """Make a flow of a function that returns a state.

    An expected refusal becomes a state with its message; any other exception is a bug. Prefect
    retries nothing: with retries, a run that fails for its rows or its budget would show as
    Crashed. A caller of the flow gets the data of its state.
    """

    def made(body: Callable[P, Coroutine[Any, Any, R]]) -> Flow[P, Coroutine[Any, Any, R]]:
        @wraps(body)
        async def run(*args: P.args, **kwargs: P.kwargs) -> Any:
            return await ended(body(*args, **kwargs))

        return flow(name=name, description=description, flow_run_name=run_name, retries=0)(run)

    return made


class Ended(Exception):
    """The run was ended from outside; `state` is its final state."""

    def __init__(self, state: State[Any]) -> None:
        super().__init__(state.message)
        self.state = state


async def ended(run: Awaitable[Any]) -> State[Any]:
    """Return the final state of a flow run: that of `run`, or of the error that stopped it.

    An expected refusal becomes a state with its message. Any other exception is a bug and is not
    caught.
    """
    try:
        found: State[Any] = await run
    except Ended as stopped:
        return stopped.state
    except CallsheetError as error:
        words = await publish_problems(PAGE, error)
        if isinstance(error, Parked):
            return await park(words, error.until)
        return ending(error.exit_status, words, error)
    return found


async def end(outcome: RunOutcome, needs: NeedsPersonEnds = "failed") -> Any:
    """Return the state for an outcome; Prefect resumes a parked run if it can."""
    if outcome.exit_status == 5:
        return await park(words_of(outcome), outcome.parked_until, data=outcome.as_json())
    return ending(outcome.exit_status, words_of(outcome), outcome.as_json(), needs)


def ending(
    status: int,
    words: str,
    result: Mapping[str, Any] | CallsheetError | None = None,
    needs: NeedsPersonEnds = "failed",
) -> State[Any]:
    """Return the final state for an exit status; the result of a failed run is an error.

    The error has the document that the run would have returned.
    """
    shown, data = state_of_end(status, words, needs=needs), result or {}
    if shown.type == "FAILED" and not isinstance(data, CallsheetError):
        error = _ERRORS.get(status, CallsheetError)(words)
        error.document = data
        data = error
    return State(type=StateType[shown.type], name=shown.name, message=words, data=data)


def completed(name: str, words: str, document: Mapping[str, Any] | None = None) -> State[Any]:
    """Return the state of a run that is no alarm, under a name of its own."""
    return Completed(name=name, message=words, data=document or {})


async def park(
    words: str,
    until: datetime | None,
    *,
    data: Mapping[str, Any] | None = None,
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
    return ending(5, words, data)


def run_at_hand() -> FlowRun | None:
    """Return the flow run of this code; None outside of one."""
    context = FlowRunContext.get()
    return context.flow_run if context else None


def is_called_back() -> bool:
    """Return whether a Prefect worker or `serve` started this process and would restart it."""
    run = run_at_hand()
    return run is not None and bool(run.deployment_id) and run.parent_task_run_id is None


async def _call_back(words: str, until: datetime) -> None:
    """Schedule this flow run again, and end it."""
    run = run_at_hand()
    assert run is not None
    state: State[Any] = Scheduled(name=NAMES[5], message=words, scheduled_time=until)
    async with get_client() as client:
        answer = await client.set_flow_run_state(run.id, state)
    if answer.state is None or not answer.state.is_scheduled():
        # For example, it was cancelled meanwhile: then it ends as cancelled.
        return
    run.state = answer.state
    raise Abort(words)
