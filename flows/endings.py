"""How flow runs end: in states that alarms can use, and without a traceback where nothing broke.

Prefect's pages and most of its alarms go by the type of a state, events by its name: a run ends in
a state that says the truth by both. The table of states is in `docs/prefect.md`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from prefect import get_client
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import Abort
from prefect.states import Completed, Failed, Scheduled

from callsheet.flows.shown import publish_problems
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.errors import CallsheetError, NeedsPerson, Parked
from callsheet.tasks.settings import Settings

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


async def end(outcome: RunOutcome, settings: Settings) -> State[Any]:
    """Return the state for an outcome; one that is parked is called back by Prefect if it can."""
    if outcome.exit_status == 5:
        words = "; ".join(filter(None, (outcome.words, counts(outcome))))
        return await park(words, outcome.parked_until, data=outcome.as_json())
    return ending(outcome, settings)


def ending(outcome: RunOutcome, settings: Settings) -> State[Any]:
    """Return the state for an outcome, in a flow whose runs something else calls back."""
    document, words = outcome.as_json(), counts(outcome)
    if outcome.exit_status == 3:
        return needs_person(words, document, settings)
    name = NAMES.get(outcome.exit_status, "Completed")
    return Completed(name=name, message=words, data=document)


def needs_person(words: str, document: dict[str, Any], settings: Settings) -> State[Any]:
    """Return the state of a run after which a person is needed: failed, or as it is set.

    Whoever asks for the result of a failed one gets a `NeedsPerson` with the document.
    """
    if settings.prefect_needs_person == "completed":
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
    """Whether a worker, or `serve`, started this process for the flow run, and would again."""
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
