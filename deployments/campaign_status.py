"""A campaign as `callsheet status` tells of it: its counts and figures, and who is at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from callsheet.tasks.ledger.campaigns import Campaign, Tally
from callsheet.tasks.values.amounts import say_date


@dataclass(frozen=True)
class CampaignStatus:
    """A campaign with its counts and figures."""

    campaign: Campaign
    tally: Tally
    #: Who is at work on it. The ledger also has processes that are gone.
    owner: str | None = None
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
        "waiting": dict(found.waiting),
        "late": [{"row": row, "deliver_by": say_date(by)} for row, by in found.late],
    }
