"""What a sheet means for a row, before anything is written.

A row of the ledger and a brief of the sheet in, an action in plain words out. A plan shows it and
`sync` executes it, so that what was shown is what happens.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from callsheet.tasks.ledger.attempts import failed_before
from callsheet.tasks.ledger.figures import Outline, outlines_of, pages_of
from callsheet.tasks.ledger.renames import find_renamed
from callsheet.tasks.ledger.service_state import changed_by_hand
from callsheet.tasks.ledger.values import (
    NOT_BEGUN,
    UNDER_WAY,
    CampaignRow,
    State,
    Take,
    last_made,
    rows_of,
    takes_of,
)
from callsheet.tasks.values.amounts import is_above, say_date
from callsheet.tasks.values.briefs import CREATE, Brief, Json, canonical_json
from callsheet.tasks.values.edits import OPERATIONS, Edit, EditOf, Edits, edit_between, edit_of

Action = Literal[
    "make", "retake", "edit", "fetch", "adopt", "wait", "none", "retire", "person", "cancel"
]

#: What each action of a plan that can be saved means to a person.
ACTIONS: dict[Action, str] = {
    "make": "a first video is made and paid for",
    "retake": "the row changed: a new video is made and paid for",
    "edit": "the row changed: its video is edited, which costs credits",
    "adopt": "made elsewhere: taken over and delivered, no charge",
    "fetch": "already paid for or started: continues, no new charge",
    "none": "delivered and unchanged, or switched off",
    "wait": "waits for its date, or until the first videos are kept",
    "person": "skipped until it is fixed; nothing is spent on it",
    "retire": "left the sheet: kept in the ledger, nothing is deleted",
}


@dataclass(frozen=True, slots=True)
class Diff:
    """What happens to a row: the action, the state it rests in before the run, and why.

    `drifts` says that the sheet differs from what is under way: the ledger keeps its brief.
    `edit` is the part of the video that is edited.
    """

    action: Action
    state: State
    why: str | None = None
    drifts: bool = False
    edit: EditOf | None = None


class RowDiff(NamedTuple):
    """A row as the ledger and the sheet have it (None: not there), and what happens to it.

    `row` is read where digests do not tell all. `earlier` is an earlier take of exactly this brief,
    where the sheet was changed back to it; `given_up` is the last attempt at it that was given up;
    `base` is the number of the take whose video is edited (0: none).
    """

    outline: Outline | None
    brief: Brief | None
    diff: Diff
    row: CampaignRow | None = None
    earlier: Take | None = None
    given_up: int = 0
    base: int = 0

    def is_synced(self, position: int) -> bool:
        """Whether the ledger has all that the sheet says of the row, which is its nth."""
        outline, brief, row = self.outline, self.brief, self.row
        if outline is None or self.diff.state != outline.state:
            return False
        if brief is None:
            return True
        if outline.row != brief.row:
            return False
        if (outline.position, outline.line) != (position, brief.line):
            return False
        return outline.wishes == brief.wishes and not (
            row is not None and (self.reason != row.reason or self.renews)
        )

    @property
    def renews(self) -> bool:
        """Whether the ledger's row gets the sheet's brief, or is made in another way."""
        if self.row is None or self.brief is None or self.diff.drifts:
            return False
        same = self.row.digest == self.brief.digest and self.row.operation == self.operation
        # A row that only a manifest told of has no brief.
        return not same or self.row.request == "{}"

    @property
    def operation(self) -> str:
        """How the row is made: as its brief says, or by an edit."""
        assert self.brief is not None, "a row that left the sheet is not made"
        if self.diff.edit:
            return OPERATIONS[self.diff.edit]
        brief, earlier = self.brief, self.earlier
        if earlier is not None and not earlier.keyed and brief.operation == CREATE:
            # Any edit will do: the service may still hand out the video from before it.
            return OPERATIONS["scene"]
        same = self.row is not None and self.row.digest == brief.digest
        kept = same and self.diff.action not in ("make", "retake", "adopt")
        return self.row.operation if self.row and kept else brief.operation

    @property
    def reason(self) -> str | None:
        """What stands next to the row once the sheet is taken in."""
        row, diff = self.row, self.diff
        return row.reason if row and diff.state == row.state != "planned" else diff.why


_NEW = Diff("make", "planned")
_UNMADE: frozenset[State] = NOT_BEGUN | {"held", "retired"}
_SETTLED = Diff("none", "delivered")


def diff_sheet(
    connection: Connection,
    campaign_id: int | None,
    briefs: Sequence[Brief],
    *,
    skipped: Collection[str] = (),
    edits: Edits = "cheapest",
) -> Iterator[RowDiff]:
    """Yield what a run would do with every row of the sheet and of the ledger; write nothing.

    First the rows of the sheet, in its order, then those that have left it. Rows that are
    `skipped` are in the sheet, but not to be touched: nothing is said of them.
    """
    known = outlines_of(connection, campaign_id) if campaign_id is not None else {}
    renamed = find_renamed(connection, campaign_id, known, briefs, skipped)
    for old in renamed.values():
        del known[old.row]
    for page in pages_of(briefs):
        pairs: list[tuple[Outline | None, Brief | None]]
        pairs = [(known.pop(brief.row, None), brief) for brief in page]
        pairs = [(renamed.get(brief.row, outline), brief) for outline, brief in pairs if brief]
        yield from _diff_page(connection, campaign_id, pairs, edits)
    left = [
        outline
        for outline in known.values()
        if outline.state != "retired" and outline.row not in skipped
    ]
    for gone in pages_of(left):
        yield from _diff_page(connection, campaign_id, [(one, None) for one in gone], edits)


def diff_rows(
    connection: Connection,
    campaign_id: int,
    briefs: Sequence[Brief],
    left: Sequence[str],
    *,
    edits: Edits = "cheapest",
) -> Iterator[RowDiff]:
    """Yield as `diff_sheet`, of these rows of the sheet alone, and of these that have left it."""
    for page in pages_of(briefs):
        known = outlines_of(connection, campaign_id, named=[brief.row for brief in page])
        pairs = [(known.get(brief.row), brief) for brief in page]
        yield from _diff_page(connection, campaign_id, pairs, edits)
    for gone in pages_of(left):
        known = outlines_of(connection, campaign_id, named=gone)
        several = [(known[row], None) for row in gone if row in known]
        yield from _diff_page(connection, campaign_id, several, edits)


def _diff_page(
    connection: Connection,
    campaign_id: int | None,
    pairs: Sequence[tuple[Outline | None, Brief | None]],
    edits: Edits,
) -> Iterator[RowDiff]:
    unsettled = [o.id for o, brief in pairs if o is not None and not _is_settled(o, brief)]
    found: dict[int, CampaignRow] = {}
    takes: dict[int, list[Take]] = defaultdict(list)
    if unsettled and campaign_id is not None:
        found = {row.id: row for row in rows_of(connection, campaign_id, numbers=unsettled)}
        changed = [o.id for o, b in pairs if o and b and o.digest != b.digest]
        # What is not made yet may be an edit of what was made before.
        changed += [row.id for row in found.values() if row.take and row.state in _UNMADE]
        if changed:
            for number, take in takes_of(connection, campaign_id, numbers=changed):
                takes[number].append(take)
    by_hand = changed_by_hand(connection) if takes else set[str]()
    failed = failed_before(connection, [n for n, row in found.items() if _waits_again(row)])
    for outline, brief in pairs:
        row = found.get(outline.id) if outline else None
        if outline is None:
            plain = brief is not None and _is_due(brief) and brief.video_id is None
            yield RowDiff(None, brief, _NEW if plain else diff_row(None, brief))
        elif row is None:
            yield RowDiff(outline, brief, _SETTLED)
        else:
            mine = takes.get(row.id, [])
            alike = [one for one in reversed(mine) if brief and one.digest == brief.digest]
            past = next((take for take in alike if take.stands), None)
            given_up = next((take.nth for take in alike if take.abandoned_at), 0)
            made = None if edits == "retake" else last_made(mine)
            made = None if made is None or made.video_id in by_hand else made
            diff = diff_row(row, brief, past, made, failed=failed.get(row.id, 0))
            base = made.number if made and diff.edit else 0
            yield RowDiff(outline, brief, diff, row, past, given_up, base)


def _waits_again(row: CampaignRow) -> bool:
    """Whether a row waits for another attempt at the brief that its take was made of."""
    take = row.take
    return take is not None and row.state in _UNMADE and take.digest == row.digest


def _is_settled(outline: Outline, brief: Brief | None) -> bool:
    """Whether the digests say it all: delivered and unchanged."""
    return brief is not None and outline.state == "delivered" and outline.digest == brief.digest


def diff_row(
    row: CampaignRow | None,
    brief: Brief | None,
    past: Take | None = None,
    made: Take | None = None,
    *,
    failed: int = 0,
) -> Diff:
    """Return what a run of the sheet does with one row.

    `row` is None for a row the ledger does not know, `brief` None for one the sheet no longer
    has. `past` is an earlier take of exactly this brief and attempt, if there is one; `made` the
    take whose video an edit may change. `failed` is how often its render failed.
    """
    if brief is None:
        return _left(row)
    if row is None:
        return _first(brief, "planned") if _is_due(brief) else _not_due(brief)
    if row.state in UNDER_WAY or row.state == "uncertain":
        return _under_way(row, brief)
    if row.digest != brief.digest:
        return _changed(row, brief, past, made)
    return _unchanged(row, brief, made, failed)


def changed_fields(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    """Return the names of the fields in which one request differs from another."""
    old, new = (json.loads(canonical_json(request)) for request in (old, new))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _left(row: CampaignRow | None) -> Diff:
    assert row is not None, "a row is in the sheet, in the ledger, or in both"
    if row.state in UNDER_WAY or row.state == "uncertain":
        return Diff("fetch", row.state, "left the sheet, but is under way: it is finished")
    return Diff("retire", "retired")


def _is_due(brief: Brief) -> bool:
    return brief.enabled and not brief.waits


def _not_due(brief: Brief) -> Diff:
    """Say that a row is switched off, or waits for its date."""
    if not brief.enabled:
        return Diff("none", "planned", "switched off in the sheet (enabled)")
    return Diff("wait", "planned", f"waits until {say_date(brief.deliver_after or 0)}")


def _under_way(row: CampaignRow, brief: Brief) -> Diff:
    action: Action = "person" if row.state == "uncertain" else "fetch"
    if row.digest == brief.digest:
        return Diff(action, row.state, row.reason)
    fields = ", ".join(changed_fields(row.asked(), brief.request))
    why = f"changed in the sheet ({fields}) while under way: the next run takes it up"
    return Diff(action, row.state, why, drifts=True)


def _changed(row: CampaignRow, brief: Brief, past: Take | None, made: Take | None) -> Diff:
    if past is not None and past.stands:
        return Diff("fetch", resting_state(past), "changed back to a video already paid for")
    return _wanted(row, brief, "planned", _edit(row, brief, made))


def _unchanged(row: CampaignRow, brief: Brief, made: Take | None, failed: int) -> Diff:
    if row.state == "delivered":
        return Diff("none", "delivered")
    if row.state in ("rejected", "failed", "cancelled"):
        return Diff("person", row.state, row.reason)
    take = row.take
    if take is not None and take.stands and take.digest == row.digest and take.nth == row.nth:
        # Held, stalled or retired with a take that stands: looking again costs nothing.
        resting = resting_state(take)
        return Diff("none" if resting == "delivered" else "fetch", resting, row.reason)
    edit = _edit(row, brief, made)
    stays = _stays(row, brief) and (edit and edit.of) == edit_of(row.operation)
    wanted = _wanted(row, brief, row.state if stays else "planned", edit)
    retakes = failed and wanted.action == "retake"
    return replace(wanted, why=_say_failed(failed)) if retakes else wanted


def _say_failed(failed: int) -> str:
    often = "once" if failed == 1 else f"{failed} times"
    return f"its render failed {often}: this is attempt {failed + 1}"


def _stays(row: CampaignRow, brief: Brief) -> bool:
    """Whether an unchanged row that is not paid for stays in its state until it has a new price.

    A row on hold does until the sheet changes its limit, so that a run of other rows leaves it.
    What was approved for one cost center is approved again for another.
    """
    if row.state == "held":
        return row.max_credits == brief.max_credits
    if row.state == "approved" and row.cost_center != brief.cost_center:
        return False
    # A limit that is below the quote now has the row judged again.
    return row.state in ("quoted", "approved") and not is_above(row.quoted, brief.max_credits)


def _edit(row: CampaignRow, brief: Brief, made: Take | None) -> Edit | None:
    """Return the edit of a made video that is enough; None where a new one was approved."""
    if made is None or brief.operation != CREATE:
        return None
    if row.state == "approved" and row.digest == brief.digest and not edit_of(row.operation):
        return None
    return edit_between(made.asked(), brief.request)


def _wanted(row: CampaignRow, brief: Brief, state: State, edit: Edit | None) -> Diff:
    """Say that a video is made or edited, unless the row is switched off."""
    if not _is_due(brief):
        return _not_due(brief)
    if edit is not None:
        return Diff("edit", state, edit.words, edit=edit.of)
    take = row.take
    if take is None or not take.stands:
        return _first(brief, state)
    fields = ", ".join(changed_fields(take.asked(), brief.request))
    return Diff("retake", state, f"changed: {fields}" if fields else "another take")


def _first(brief: Brief, state: State) -> Diff:
    """Say that a row without a video is made, or takes over the video that the sheet names."""
    if brief.video_id is None:
        return Diff("make", state)
    return Diff("adopt", state, f"takes over {brief.video_id}")


def resting_state(take: Take) -> State:
    """Return the state in which a row with this take rests."""
    if take.delivered_at is not None:
        return "delivered"
    return "rendering" if take.video_id else "submitting"
