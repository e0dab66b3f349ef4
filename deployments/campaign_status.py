"""A campaign as `callsheet status` tells of it: its counts and figures, and who is at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from callsheet.tasks.ledger.campaigns import Campaign, Tally
from callsheet.tasks.ledger.runs import LeftRows
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
        "waiting": dict(found.waiting),
        "late": [{"row": row, "deliver_by": say_date(by)} for row, by in found.late],
    }


def say_left(left: LeftRows) -> str:
    """Say that rows are under way and no process is at work on them."""
    return f"{count(left.rows, 'row')} under way, nobody is at work"


def resume_command(left: LeftRows) -> str:
    """Say what resumes rows that were left."""
    # Few campaigns are left, and every status would pay for the import.
    from callsheet.tasks.aftercare.explain import run_line

    words = f"`{run_line(left.campaign)}` resumes them"
    return f"an open board resumes them by itself; {words}, too" if left.board_resumes else words
