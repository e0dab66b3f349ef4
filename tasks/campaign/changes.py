"""What a plan changes besides the videos that it makes, for the person who approves it.

It is shown wherever the plan is approved, and no allowance covers it. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection

from callsheet.tasks.campaign.values import Change, Plan
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.sync import NO_FILES, RowFiles, files_of
from callsheet.tasks.ledger.values import texts_of
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.sheet.headers import is_kept_only, is_translation
from callsheet.tasks.values.amounts import count, in_credits, say_duration
from callsheet.tasks.values.briefs import Brief

#: Rows that a sentence names at most.
NAMED = 5


def changes_of(
    connection: Connection | None, campaign: Campaign | None, sheet: Sheet, plan: Plan
) -> tuple[Change, ...]:
    """Return what executing a plan of a sheet changes besides making videos, a sentence each.

    `campaign` is as the ledger has it before the plan; None for a new one.
    """
    # A row that is switched off makes no files, and keeps those that it has.
    unsynced = (sheet.briefs[place - 1] for place in plan.unsynced)
    briefs = [brief for brief in unsynced if brief.enabled]
    before = dict(plan.renamed)
    known: Mapping[str, RowFiles] = {}
    if connection is not None and campaign is not None and briefs:
        ids = [before.get(brief.row, brief.row) for brief in briefs]
        known = files_of(connection, campaign.id, ids)
    pairs = [(brief, known.get(before.get(brief.row, brief.row), NO_FILES)) for brief in briefs]
    return (
        *_reread(connection, campaign, sheet, plan),
        *_retired(plan),
        *_renamed(plan),
        *_retention(campaign, sheet),
        *_copies(sheet, pairs),
        *_names(sheet, pairs),
        *_budget(campaign, plan),
    )


def _reread(
    connection: Connection | None, campaign: Campaign | None, sheet: Sheet, plan: Plan
) -> Iterator[Change]:
    """Yield that rows are paid for again with the same cells, of which some are other columns.

    Of all of them: where only some have moved texts, somebody has edited these.
    """
    if connection is None or campaign is None:
        return
    before = dict(plan.renamed)
    ids = {before.get(line.row, line.row): line.row for line in plan.spending if line.charged}
    briefs = {brief.row: brief for brief in sheet.briefs} if ids else {}
    first: tuple[str, str, str, str] | None = None
    for page in pages_of(ids):
        for row, cells in texts_of(connection, campaign.id, page):
            brief = briefs[ids[row]]
            if (found := _moved(cells, dict(brief.cells))) is None:
                return
            first = first or (brief.row, *found)
    if first is not None:
        row, text, old, now = first
        words = f'the sheet is read differently than before: "{shorten(text, 60)}" of row {row}'
        yield Change("columns", f"{words} was {old} and is {now} now")


#: Which row it is, and not what its video shows: a renamed row names its first id in `was`.
_IDS = frozenset({"id", "was"})


def _moved(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return a text that stood in one column and stands in another now, if no text is new."""
    before, now = (
        {column: text for column, text in cells.items() if text.strip() and column not in _IDS}
        for cells in (old, new)
    )
    if sorted(before.values()) != sorted(now.values()):
        return None
    for column, text in before.items():
        for other, same in now.items():
            is_moved = now.get(column) != text == same != before.get(other)
            if is_moved and _meaning(column) != _meaning(other):
                return text, column, other
    return None


def _meaning(column: str) -> str:
    """Return what a column says, in whatever language and for however many rows."""
    if is_kept_only(column):
        return "x_"
    column = column.removeprefix("matrix.")
    return column.partition(".")[0] if is_translation(column) else column


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - NAMED
    return ", ".join([*texts[:NAMED], *([f"and {more:,} more"] if more > 0 else [])])


def _retired(plan: Plan) -> Iterator[Change]:
    if left := plan.retiring:
        words = f"{count(len(left), 'row')} left the sheet and {_be(left)} retired ({_some(left)})"
        yield Change("retire", f"{words}; videos and history stay")


def _be(several: Sequence[object]) -> str:
    return "is" if len(several) == 1 else "are"


def _renamed(plan: Plan) -> Iterator[Change]:
    if plan.renamed:
        several = [f"{old} becomes {new}" for new, old in plan.renamed]
        rows = count(len(several), "row gets another id", "rows get other ids")
        yield Change("ids", f"{rows}: {_some(several)}")


def _retention(campaign: Campaign | None, sheet: Sheet) -> Iterator[Change]:
    before = None if campaign is None else campaign.keep_at_service
    now = sheet.keep_at_service
    if now == before:
        return
    if now is None:
        words = "the sheet no longer says when the service deletes delivered videos, so the "
        words += "setting keep_at_service counts"
    else:
        words = f"delivered videos are deleted at the service after {say_duration(now)}"
    until = "" if before is None else f" (so far: after {say_duration(before)})"
    yield Change("retention", words + until)


def _copies(sheet: Sheet, pairs: Sequence[tuple[Brief, RowFiles]]) -> Iterator[Change]:
    moved = [(brief, known) for brief, known in pairs if brief.copies != known.copies]
    places: dict[str, list[str]] = {}
    for brief, known in moved:
        for place, name in brief.copies:
            if (place, name) not in known.copies:
                places.setdefault(place, []).append(name)
    settings = not sheet.says_copies
    for place, names in places.items():
        like = names[0].replace("{campaign}", sheet.campaign)
        words = f"files of {count(len(names), 'row')} are copied to {place} (like {like})"
        yield Change("copies", words, settings)
    if ended := [brief.row for brief, known in moved if not set(known.copies) <= {*brief.copies}]:
        rows = f"{count(len(ended), 'row')} ({_some(ended)})"
        words = f"files of {rows} are no longer copied where they were; old copies stay"
        yield Change("copies", words, settings)


def _names(sheet: Sheet, pairs: Sequence[tuple[Brief, RowFiles]]) -> Iterator[Change]:
    if moved := [(brief, known) for brief, known in pairs if brief.name != known.name]:
        brief, known = moved[0]
        words = f"new files of {count(len(moved), 'row')} get other names: "
        words += brief.name or "the usual ones"
        until = f" (so far: {known.name})" if known.name else ""
        yield Change("names", words + until, not sheet.says_names)


def _budget(campaign: Campaign | None, plan: Plan) -> Iterator[Change]:
    if campaign is None or plan.budget is None or plan.budget == campaign.budget:
        return
    if campaign.budget is not None or campaign.reserved or campaign.charged:
        # The first plan says its budget itself.
        before = "none" if campaign.budget is None else in_credits(campaign.budget)
        words = f"the budget of the campaign becomes {in_credits(plan.budget)} (so far: {before})"
        yield Change("budget", words)
