"""How steps and runs end on Prefect's pages: the type is what alarms go by, the name is for events.

The table of states is in `docs/prefect.md`. Knows nothing of Prefect.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.values import NEEDS_PERSON, NOT_BEGUN, UNDER_WAY, CampaignRow, State
from callsheet.tasks.runtime.errors import CallsheetError, Parked

#: Names of final states by exit status, if they are not Prefect's own.
NAMES: Final = {2: "Invalid", 3: "NeedsPerson", 4: "Refused", 5: "Parked"}
#: The step of which a run takes many.
PRODUCE: Final = "produce-rows"
#: What each step is called, by its key, which is its name at Prefect, and with its ids.
STEPS: Final = {
    "read-sheet": "read the sheet",
    "plan-rows": "plan {0}",
    "quote-rows": "quote {0}",
    PRODUCE: "{2}",
    "report-campaign": "report {0}",
}
#: A resume time less than this many seconds ahead counts as now.
SOON = 1.0


class ShownState(NamedTuple):
    """A state of a flow run or task run; without a name it has Prefect's own."""

    type: Literal["RUNNING", "COMPLETED", "FAILED", "CANCELLED", "CRASHED"]
    message: str | None = None
    name: str | None = None


def state_of_rows(
    states: Mapping[State, int], reason: str | None, *, interrupted: str | None = None
) -> ShownState:
    """Return the state of a task run whose rows are in these states; `reason` is that of one,
    or says where the reasons are.

    A row that needs a person has failed, under its own name. One that is not done yet is neither:
    the run goes no further with it.
    """
    present = [state for state, count in states.items() if count]
    alone = present[0] if sum(states.values()) == 1 else None
    words = alone or ", ".join(f"{states[state]} {state}" for state in present)
    if reason is not None:
        words = reason if alone and reason.startswith(alone) else f"{words}; {reason}"
    if NEEDS_PERSON.intersection(present):
        return ShownState("FAILED", words, alone.capitalize() if alone else "NeedsPerson")
    if interrupted is None and "quoted" in present:
        return ShownState("FAILED", f"{words}; dearer than approved", "NeedsPerson")
    if (UNDER_WAY | NOT_BEGUN).intersection(present):
        words = "; ".join(filter(None, (words, interrupted)))
        return ShownState("CANCELLED", words, "Parked" if interrupted is None else None)
    if present == ["cancelled"]:
        return ShownState("CANCELLED", words)
    return ShownState("COMPLETED", None if alone == "delivered" else words)


async def state_of_shard(
    run: Run, states: Mapping[State, int], label: str, table: str | None
) -> ShownState:
    """Return the state of the task run of a shard.

    Its words name the `table`, an address, where several rows are found one by one.
    """
    row = await _only(run, states, label)
    if row is not None:
        # An engine that was stopped knows no more of what became of it.
        return state_of_rows({row.state: 1}, row.reason, interrupted=run.interrupted)
    page = f"{table} has them row by row" if table and sum(states.values()) > 1 else None
    return state_of_rows(states, page, interrupted=run.interrupted)


async def _only(run: Run, states: Mapping[State, int], label: str) -> CampaignRow | None:
    """Return the row that has the shard to itself, where it is not simply delivered."""
    if sum(states.values()) != 1 or states.get("delivered"):
        return None
    return next(iter(await run.named([label])), None)


def state_of_error(error: BaseException, run: Run) -> ShownState:
    """Return the state of a step that an error ended."""
    if isinstance(error, Parked):
        return ShownState("CANCELLED", str(error), NAMES[5])
    if isinstance(error, CallsheetError):
        return ShownState("FAILED", str(error))
    if run.interrupted is not None:
        return ShownState("CANCELLED", run.interrupted)
    return ShownState("CRASHED", "it was left before its end")


def state_of_end(
    status: int,
    words: str,
    *,
    until: datetime | None = None,
    needs: Literal["failed", "completed"] = "failed",
) -> ShownState:
    """Return the state of a run that ended with this exit status; `words` say how it ended.

    `until` is from when a parked run may go on. `needs` is what rows that need attention make of
    the run. A run that parked is no failure, since nobody has to do anything about it.
    """
    if until is not None and is_ahead(until):
        words = until_words(words, until)
    is_fine = status in (0, 5) or (status == 3 and needs == "completed")
    return ShownState("COMPLETED" if is_fine else "FAILED", words, NAMES.get(status))


def words_of(outcome: RunOutcome) -> str:
    """Return what the state of a run says: its rows by state, and why it is parked."""
    counts = ", ".join(f"{count} {state}" for state, count in outcome.tally.rows.items())
    why = outcome.words if outcome.exit_status == 5 else None
    return "; ".join(filter(None, (why, counts)))


def is_ahead(until: datetime) -> bool:
    """Return whether a resume time is worth waiting for."""
    return until - datetime.now(UTC) > timedelta(seconds=SOON)


def until_words(words: str, until: datetime) -> str:
    """Say from when a parked run may go on."""
    return f"{words}; run it again after {until:%Y-%m-%d %H:%M:%S} UTC"
