"""What a sheet means for a row, before anything is written.

Pure: a row of the ledger and a brief of the sheet in, an action in plain words out. `plan` shows
it and `adopt` carries it out, so that what was shown is what happens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tasks.brief import Brief, Json, canonical_json
from tasks.ledger.states import UNDER_WAY, State
from tasks.ledger.values import CampaignRow, Take

Action = Literal["make", "remake", "continue", "nothing", "person", "off", "retire"]

#: What each action means to a person.
ACTIONS: dict[Action, str] = {
    "make": "a first film is made and paid for",
    "remake": "the row changed: a new film is made and paid for",
    "continue": "already paid for or under way: carried on, no new charge",
    "nothing": "delivered and unchanged",
    "person": "waits for a person; no run spends on it by itself",
    "off": "switched off in the sheet",
    "retire": "left the sheet: kept in the ledger, nothing is deleted",
}


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What happens to a row: the action, the state it rests in before the run, and why.

    `drifts` says that the sheet differs from what is under way: the ledger keeps its brief.
    """

    action: Action
    state: State
    why: str | None = None
    drifts: bool = False


def foresee(row: CampaignRow | None, brief: Brief | None, past: Take | None = None) -> Foreseen:
    """Return what a run of the sheet does with one row.

    `row` is None for a row the ledger does not know, `brief` None for one the sheet no longer
    has. `past` is an earlier take of exactly this brief and attempt, if there is one.
    """
    if brief is None:
        return _left(row)
    if row is None:
        return Foreseen("make", "planned") if brief.enabled else _off("planned")
    if row.state in UNDER_WAY or row.state == "uncertain":
        return _under_way(row, brief)
    if row.digest != brief.digest:
        return _changed(row, brief, past)
    return _unchanged(row, brief)


def changed_fields(old: Mapping[str, Json], brief: Brief) -> list[str]:
    """Return the names of the request fields in which the brief differs from an older request."""
    new = json.loads(canonical_json(brief.request))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _left(row: CampaignRow | None) -> Foreseen:
    assert row is not None, "a row is in the sheet, in the ledger, or in both"
    if row.state in UNDER_WAY or row.state == "uncertain":
        return Foreseen("continue", row.state, "left the sheet, but is under way: it is finished")
    return Foreseen("retire", "retired")


def _off(state: State) -> Foreseen:
    return Foreseen("off", state, "switched off in the sheet (enabled)")


def _under_way(row: CampaignRow, brief: Brief) -> Foreseen:
    action: Action = "person" if row.state == "uncertain" else "continue"
    if row.digest == brief.digest:
        return Foreseen(action, row.state, row.reason)
    fields = ", ".join(changed_fields(row.asked(), brief))
    why = f"changed in the sheet ({fields}) while under way: the next run takes it up"
    return Foreseen(action, row.state, why, drifts=True)


def _changed(row: CampaignRow, brief: Brief, past: Take | None) -> Foreseen:
    if past is not None and past.stands:
        return Foreseen("continue", resting_state(past), "changed back to a film already paid for")
    return _wanted(row, brief, "planned")


def _unchanged(row: CampaignRow, brief: Brief) -> Foreseen:
    if row.state == "delivered":
        return Foreseen("nothing", "delivered")
    if row.state in ("rejected", "failed", "cancelled"):
        return Foreseen("person", row.state, row.reason)
    take = row.take
    if take is not None and take.stands and take.digest == row.digest and take.nth == row.nth:
        # Held, stalled or retired with a take that stands: looking again costs nothing.
        resting = resting_state(take)
        return Foreseen("nothing" if resting == "delivered" else "continue", resting, row.reason)
    kept = row.state in ("quoted", "approved") and not _too_dear(row, brief)
    return _wanted(row, brief, row.state if kept else "planned")


def _wanted(row: CampaignRow, brief: Brief, state: State) -> Foreseen:
    """Say that a film is to be made, unless the row is switched off."""
    if not brief.enabled:
        return _off("planned")
    take = row.take
    if take is None or not take.stands:
        return Foreseen("make", state)
    fields = ", ".join(changed_fields(take.asked(), brief))
    return Foreseen("remake", state, f"changed: {fields}" if fields else "another take")


def _too_dear(row: CampaignRow, brief: Brief) -> bool:
    """Whether the sheet's limit has come to be below the quote: then it is to be judged anew."""
    limit = brief.max_credits
    return limit is not None and (row.quoted is None or row.quoted > limit)


def resting_state(take: Take) -> State:
    """Return where a row with this take is on the road."""
    if take.delivered_at is not None:
        return "delivered"
    return "rendering" if take.video_id else "submitting"
