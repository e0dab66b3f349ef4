"""Which rows wait on although somebody would approve them: their first videos are not good yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.waiting import first_videos_of
from callsheet.tasks.campaign.waits import canaries_of, wave_of
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import verdicts_of
from callsheet.tasks.ledger.values import NEEDS_PERSON, UNDER_WAY, CampaignRow, rows_of
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count


def say_waiting(connection: Connection, campaign: Campaign) -> list[str]:
    """Say of rows that no approval releases what they wait for, and what to do: a sentence each."""
    rows = [row for row in rows_of(connection, campaign.id) if row.enabled]
    released = first_videos_of(connection, campaign, rows)
    held = [row for row in rows if row.state == "held" and row.row not in released]
    waiting: dict[str, int] = defaultdict(int)
    for row in held:
        for first in canaries_of([row.reason]):
            waiting[first] += 1
    verdicts = verdicts_of(connection, campaign.id)
    known = {row.row: row for row in rows}
    found = [
        f"{_wait(number)} for the test video {first}, "
        + _stand(campaign, known.get(first), verdicts)
        for first, number in waiting.items()
    ]
    waves = [row for row in held if wave_of(row.reason)]
    # While rows wait for a canary, the next wave is not due.
    if waves and not waiting and (bad := _not_good(rows, verdicts)):
        numbers = [wave_of(row.reason) or 0 for row in waves]
        due = numbers.count(min(numbers))
        stand = _stand(campaign, bad[0], verdicts)
        found.append(f"{_wait(due)} for the videos of a wave: {bad[0].row}, {stand}")
    return found


def _wait(number: int) -> str:
    return count(number, "row waits", "rows wait")


def _not_good(rows: Sequence[CampaignRow], verdicts: Mapping[str, str]) -> list[CampaignRow]:
    """Return the rows whose videos hold back the next wave: rejected ones, and those to come."""
    bad = [row for row in rows if verdicts.get(row.row) == "reject" and row.state != "retired"]
    return bad or [row for row in rows if row.state in UNDER_WAY or row.state == "approved"]


def _stand(campaign: Campaign, row: CampaignRow | None, verdicts: Mapping[str, str]) -> str:
    """Say how a first video stands, as the end of a sentence."""
    if row is None:
        return "which is not in the sheet any more"
    of = (campaign.name, row.row)
    if verdicts.get(row.row) == "reject" and row.state == "delivered":
        retake = suggest("retake", *of, "--run", *service_of(campaign))
        return f"which is rejected: `{retake}` makes another one, or edit the row in the sheet"
    if row.state in NEEDS_PERSON:
        return f"which is {row.state}: `{suggest('explain', *of)}` shows what you can do"
    return f"which is {row.state}"
