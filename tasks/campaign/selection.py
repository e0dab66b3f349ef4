"""The rows that a command is about: those that are named, and those that `--select` chooses.

What is misspelled in either is told with what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.row_filter import RowFilter, Selectable
from callsheet.tasks.ledger.row_pages import names_shown, numbers_shown
from callsheet.tasks.ledger.row_selection import rows_matching
from callsheet.tasks.ledger.values import CampaignRow, rows_by_number, rows_of
from callsheet.tasks.runtime.errors import BadInput, NotHere, did_you_mean
from callsheet.tasks.runtime.suggest import suggest

#: Ids and other values that a refusal lists, and what they are called there.
SHOWN = 8
KINDS = {"row": "rows", "tag": "tags", "cost_center": "cost centers", "language": "languages"}


def check_selection(which: RowFilter, rows: Iterable[Selectable]) -> None:
    """Raise BadInput when a filter names a row that is not there, or matches no row at all.

    `rows` are all there are. What matches no row only because of its state, or of what the ledger
    knows of it, is no mistake: there is nothing to do now.
    """
    if which.is_empty:
        return
    rows = list(rows)
    ids = {row.row.lower(): row.row for row in rows}
    for word in (word for term in which.terms if term.name == "row" for word in term.words):
        if word.lower() not in ids:
            raise BadInput(
                f'the selection names "{word}", and there is no such row; nothing was spent',
                remedy=_remedy(word, "row", list(ids.values())),
            )
    lasting = which.lasting
    if any(lasting.matches(row, "") for row in rows):
        return
    for term in lasting.terms:
        if not any(term.holds(row, "") for row in rows):
            there = dict.fromkeys(value for row in rows for value in term.values(row) if value)
            word = next(iter(term.words), term.patterns[0].text)
            raise BadInput(
                f"{term} matches no row; nothing was spent",
                remedy=_remedy(word, term.name, list(there)),
            )
    raise BadInput(
        f"no row matches all of {which}; nothing was spent",
        remedy=_remedy("", "row", list(ids.values())),
    )


def check_chosen(connection: Connection, campaign: Campaign, which: RowFilter) -> None:
    """Raise BadInput as `check_selection` does of all rows that a campaign has in the ledger."""
    lasting, named = which.lasting, which.named
    if lasting.is_empty:
        return
    there = map(str.lower, names_shown(connection, campaign.id)) if named else ()
    found = connection.execute(rows_matching(connection, campaign.id, lasting).limit(1))
    if named.difference(there) or found.first() is None:
        check_selection(which, rows_of(connection, campaign.id))


def rows_asked(
    connection: Connection,
    campaign: Campaign,
    named: Sequence[str] | None,
    select: str | None,
    *,
    end: str = "",
) -> list[CampaignRow]:
    """Return the rows of a campaign that are named and selected, in the order of the sheet.

    Raise NotHere for one that is not there, in a sentence with this end; BadInput for a selection
    that cannot be meant.
    """
    pages = pages_of(dict.fromkeys(named or ()))
    found = [row for page in pages for row in rows_of(connection, campaign.id, named=page)]
    there, which = {row.row for row in found}, RowFilter.parse(select)
    if missing := [row for row in dict.fromkeys(named or ()) if row not in there]:
        words = ", ".join(f'"{row}"' for row in missing[:20])
        raise NotHere(
            f"campaign {campaign.name} has no row {words}{end}",
            remedy=f"`{suggest('rows', campaign.name)}` lists them",
        )
    if which.is_empty and not named:
        return rows_of(connection, campaign.id)
    check_chosen(connection, campaign, which)
    numbers = numbers_shown(connection, campaign.id, which)
    if not named:
        return rows_by_number(connection, numbers)
    chosen = {row.id: row for row in found}
    return [chosen[number] for number in numbers if number in chosen]


def _remedy(word: str, name: str, there: Sequence[str]) -> str:
    """Say what was meant, and some of the values that rows have."""
    hint = did_you_mean(word, there).removeprefix("; ") if word else ""
    if not there:
        return f"no row has a {name}"
    more = f" and {len(there) - SHOWN:,} more" if len(there) > SHOWN else ""
    listed = ", ".join(there[:SHOWN])
    return f"{hint} {KINDS.get(name, name)} that exist: {listed}{more}".lstrip()
