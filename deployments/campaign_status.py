"""A campaign as `callsheet status` tells of it: its counts and figures, and who is at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from callsheet.tasks.engine.owner import is_dead
from callsheet.tasks.ledger.campaigns import Campaign, Tally
from callsheet.tasks.ledger.runs import LeftRows, RunDoor, RunRow, Step
from callsheet.tasks.values.amounts import count, say_date


@dataclass(frozen=True)
class CampaignStatus:
    """A campaign with its counts and figures."""

    campaign: Campaign
    tally: Tally
    #: Who is at work on it. The ledger also has processes that are gone.
    owner: str | None = None
    #: Its rows under way, where no process is at work on them.
    left: LeftRows | None = None
    #: How many rows wait for other videos, by reason.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Its newest runs, the newest first.
    runs: Sequence[RunRow] = ()
    #: The rows whose `deliver_by` has passed, with that moment (Unix seconds).
    late: Sequence[tuple[str, float]] = ()


def status_document(found: CampaignStatus) -> dict[str, Any]:
    """Return a campaign as JSON."""
    campaign, tally = found.campaign, found.tally
    return {
        "campaign": campaign.name,
        "sheet": campaign.sheet,
        "rows": tally.as_json(),
        "credits": tally.credits_as_json(),
        "owner": found.owner,
        "left_under_way": found.left.rows if found.left else 0,
        "runs": [_dated(run_document(run)) for run in found.runs],
        "waiting": dict(found.waiting),
        "late": [{"row": row, "deliver_by": say_date(by)} for row, by in found.late],
    }


def run_document(run: RunRow) -> dict[str, Any]:
    """Return a run as JSON, with moments in Unix seconds."""
    return {
        "id": run.id,
        "kind": run.kind,
        "door": run.door,
        "state": run.state(is_dead),
        "step": run.step if run.ended_at is None else None,
        "begun": run.asked_at,
        "ended": run.ended_at,
        "exit": run.exit,
        "words": run.words,
        "by": run.started_by,
    }


def _dated(document: dict[str, Any]) -> dict[str, Any]:
    moments = {name: document[name] for name in ("begun", "ended")}
    return document | {
        name: at and f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        for name, at in moments.items()
    }


#: The door that a run came in by, for people.
DOORS: Mapping[RunDoor, str] = {
    "terminal": "at a terminal",
    "flow": "in Prefect",
    "night": "in a nightly run",
    "board": "on the board",
    "worker": "as a worker",
}

#: What a run is at, for people; None of one that a board has not started yet.
AT: Mapping[Step | None, str] = {
    None: "about to start",
    "reading": "reading its sheet",
    "planning": "planning",
    "quoting": "asking for prices",
    "approving": "waiting for approval",
    "producing": "making videos",
    "reporting": "writing its report",
    "waiting": "waiting for another run",
}


def say_run(run: RunRow) -> str:
    """Say which run it is: `the retake at a terminal by ann`."""
    return f"the {run.kind} {DOORS[run.door]} by {run.started_by}"


def say_left(left: LeftRows) -> str:
    """Say that rows are under way and no process is at work on them."""
    return f"{count(left.rows, 'row')} under way, nobody is at work"


def run_again(campaign: Campaign) -> str:
    """Return the command that runs a campaign again."""
    # Few campaigns are left, and every status would pay for the import.
    from callsheet.tasks.aftercare.explain import run_line

    return run_line(campaign)


def resume_command(left: LeftRows) -> str:
    """Say what resumes rows that were left."""
    sheet, line = left.campaign.sheet, run_again(left.campaign)
    words = f"`{line}` resumes them"
    if sheet and Path(sheet).is_absolute() and not Path(sheet).exists():
        line = run_again(replace(left.campaign, sheet=None))
        words = f"`{line}` resumes them, with the sheet that was {sheet}, which is not there"
    return f"an open board resumes them by itself; {words}, too" if left.board_resumes else words
