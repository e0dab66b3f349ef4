"""How flow runs and task runs end: by their type for people who look, by their name for alarms."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import cast

import pytest
from prefect.client.schemas.objects import State

from callsheet.flows.endings import end, ended, ending, park
from callsheet.flows.interface import NeedsPerson as NeedsPersonEnds
from callsheet.flows.shown.artifacts import percent_delivered
from callsheet.tasks.campaign.shown_states import (
    NAMES,
    ShownState,
    state_of_end,
    state_of_rows,
    words_of,
)
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.ledger.campaigns import Tally
from callsheet.tasks.ledger.values import State as RowState
from callsheet.tasks.runtime.errors import BadInput, CallsheetError, NeedsPerson, SpendRefused

LATER = datetime.now(UTC) + timedelta(hours=1)

#: An exit status, the setting, and the state.
OUTCOMES = [
    (0, "failed", "COMPLETED", "Completed"),
    (3, "failed", "FAILED", "NeedsPerson"),
    (3, "completed", "COMPLETED", "NeedsPerson"),
    (5, "failed", "COMPLETED", "Parked"),
]


@pytest.mark.parametrize(("status", "setting", "kind", "name"), OUTCOMES)
async def test_an_outcome_is_a_state_that_alarms_can_use(status, setting, kind, name):
    outcome = RunOutcome(
        campaign="spring",
        tally=Tally(rows={"delivered": 2, "failed": 1}),
        charged_this_run=Decimal(3),
        exit_status=status,
    )

    state = await end(outcome, cast(NeedsPersonEnds, setting))

    assert (state.type.value, state.name) == (kind, name)
    assert state.message == "2 delivered, 1 failed"
    if setting == "failed":
        # A run of the command line ends on its page as a flow run does.
        shown = state_of_end(status, words_of(outcome))
        assert (shown.type, _name_of(shown), shown.message) == (kind, name, state.message)
    if kind == "FAILED":
        assert isinstance(state.data, NeedsPerson)
        assert state.data.document["rows"] == {"total": 3, "delivered": 2, "failed": 1}


#: What stops a run, and the state.
ERRORS: list[tuple[CallsheetError, str, str]] = [
    (BadInput("no such campaign"), "FAILED", "Invalid"),
    (SpendRefused("beyond the budget"), "FAILED", "Refused"),
    (CallsheetError("a fault"), "FAILED", "Failed"),
]


@pytest.mark.parametrize(("error", "kind", "name"), ERRORS)
def test_what_stops_a_run_is_a_state_with_its_words(error, kind, name):
    state = ending(error.exit_status, "why", error)

    assert (state.type.value, state.name, state.message) == (kind, name, "why")
    assert state.data is error
    shown = state_of_end(error.exit_status, "why")
    assert (shown.type, _name_of(shown), shown.message) == (kind, name, "why")


async def test_a_fault_that_nobody_expected_passes():
    async def run() -> State[None]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ended(run())


async def test_a_run_that_nobody_calls_back_says_when_to_run_it_again():
    state = await park("the service asks for no requests", LATER)

    assert state.name == NAMES[5]
    assert f"run it again after {LATER:%Y-%m-%d %H:%M}" in str(state.message)


@pytest.mark.parametrize(
    ("after", "at_once", "again"),
    [(-60, False, False), (0.5, False, False), (60, False, True), (-60, True, True)],
)
async def test_nobody_is_called_back_for_now_unless_that_is_said(after, at_once, again):
    moment = datetime.now(UTC) + timedelta(seconds=after)

    state = await park("why", moment, at_once=at_once)

    # A run that is called back for now, time after time, would never come to rest.
    assert ("run it again after" in str(state.message)) is again


#: The rows of a task run, why, what befell the run, and the state.
ROWS: list[tuple[Mapping[RowState, int], str | None, str | None, str, str]] = [
    ({"delivered": 1}, None, None, "COMPLETED", "Completed"),
    ({"failed": 1}, "the render failed", None, "FAILED", "Failed"),
    ({"rejected": 1}, "no such voice", None, "FAILED", "Rejected"),
    ({"held": 1}, "402", None, "FAILED", "Held"),
    ({"stalled": 1}, "3h", None, "FAILED", "Stalled"),
    ({"uncertain": 1}, None, None, "FAILED", "Uncertain"),
    ({"quoted": 1}, None, None, "FAILED", "NeedsPerson"),
    ({"rendering": 1}, None, None, "CANCELLED", "Parked"),
    ({"rendering": 1}, None, "cancelled on Prefect's page", "CANCELLED", "Cancelled"),
    ({"cancelled": 1}, "by a person", None, "CANCELLED", "Cancelled"),
    ({"delivered": 30, "cancelled": 2}, None, None, "COMPLETED", "Completed"),
    ({"delivered": 30, "failed": 2}, None, None, "FAILED", "NeedsPerson"),
    ({"delivered": 30, "approved": 2}, None, None, "CANCELLED", "Parked"),
]


@pytest.mark.parametrize(("rows", "reason", "interrupted", "kind", "name"), ROWS)
def test_a_task_run_ends_as_its_rows_did(rows, reason, interrupted, kind, name):
    state = state_of_rows(rows, reason, interrupted=interrupted)

    assert (state.type, _name_of(state)) == (kind, name)
    assert (reason or "") in (state.message or "")


def _name_of(state: ShownState) -> str:
    """Return the name that Prefect shows."""
    return state.name or state.type.capitalize()


#: Rows by state, and how much is delivered, in percent.
PROGRESS: list[tuple[Mapping[RowState, int], float]] = [
    ({"failed": 4}, 0),
    ({"delivered": 1, "failed": 3}, 25),
    ({"delivered": 2, "cancelled": 3, "retired": 5}, 100),
    ({"cancelled": 2}, 0),
]


@pytest.mark.parametrize(("rows", "percent"), PROGRESS)
def test_progress_is_what_is_delivered(rows, percent):
    total = sum(rows.values())
    snapshot = Snapshot(
        campaign="spring", rows=rows, total=total, to_do=total, done=total, charged=Decimal(0),
        reserved=Decimal(0), budget=None, seconds=1, seconds_left=0,
    )  # fmt: skip

    assert percent_delivered(snapshot) == percent
