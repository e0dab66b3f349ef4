"""`--select`: which rows a command is about.

Ids and terms are separated by commas. Ids are alternatives: a row has to be one of them (`r1,r2`).
Terms, `name:pattern`, must all hold: `tag:launch,language:en|de`. `|` in a pattern offers
alternatives, `*` and `?` are wildcards, and a leading `!` leaves rows out: `draft-*,!draft-7`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.row_selection import RowFilter
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import BadInput, NotHere, did_you_mean
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.briefs import Brief

#: Names that are not fields of the request.
OWN = ("row", "state", "tag", "cost_center", "operation")
#: Fields of the request worth selecting by.
ASKED = ("tool", "title", "topic", "mode", "style", "voice_id", "music_id", "caption_style",
         "aspect_ratio", "language", "video_model", "duration_seconds")  # fmt: skip
#: Ids and other values that a refusal lists, and what they are called there.
SHOWN = 8
KINDS = {"row": "rows", "tag": "tags", "cost_center": "cost centers", "language": "languages"}


#: A row of a sheet or of the ledger.
Selectable = Brief | CampaignRow
Selection = Callable[[Selectable, Mapping[str, Any], str], bool]
#: A row, what it asks for, and its state.
Asked = tuple[Selectable, Mapping[str, Any], str]


@dataclass(frozen=True)
class _Term:
    """One id or term of a selection, as it is written in `text`."""

    text: str
    name: str
    patterns: tuple[str, ...]
    wanted: bool

    @classmethod
    def read(cls, text: str) -> _Term:
        name, colon, pattern = text.removeprefix("!").partition(":")
        if not colon:
            name, pattern = "row", name
        if name not in OWN + ASKED:
            hint = did_you_mean(name, OWN + ASKED).removeprefix("; ")
            raise BadInput(
                f'--select does not know "{name}"; nothing was spent',
                remedy=f"{hint} select by ".lstrip() + ", ".join(OWN + ASKED),
            )
        patterns = tuple(alternative.strip() for alternative in pattern.split("|"))
        return cls(text, name, patterns, not text.startswith("!"))

    @property
    def names_rows(self) -> bool:
        """Whether it is an id that a row may have."""
        return self.wanted and self.name == "row"

    @property
    def words(self) -> list[str]:
        """Its alternatives without wildcards."""
        return [one for one in self.patterns if one and "*" not in one and "?" not in one]

    def holds(self, row: Selectable, request: Mapping[str, Any], state: str) -> bool:
        values = [value.casefold() for value in _values(self.name, row, request, state)]
        # A bracket is no wildcard.
        patterns = [one.casefold().replace("[", "[[]") for one in self.patterns]
        return self.wanted == any(fnmatchcase(v, p) for v in values for p in patterns)


def parse_selection(text: str | None) -> Selection:
    """Return a test of (row, its request, its state).

    None chooses every row. Raises BadInput for an unknown name, or when nothing is selected by.
    """
    return _test_of(_terms(text))


def check_selection(text: str | None, rows: Iterable[Asked]) -> None:
    """Raise BadInput when a selection names a row that is not there, or matches no row at all.

    `rows` are all there are. What matches no row only because of its `state:` terms is no mistake:
    there is nothing to do now.
    """
    if text is None:
        return
    terms, rows = _terms(text), list(rows)
    ids = {row.row.casefold(): row.row for row, *_ in rows}
    for term in terms:
        for word in term.words if term.name == "row" else ():
            if word.casefold() not in ids:
                raise BadInput(
                    f'--select names "{word}", and there is no such row; nothing was spent',
                    remedy=_remedy(word, "row", list(ids.values())),
                )
    lasting = [term for term in terms if term.name != "state"]
    if any(_test_of(lasting)(*row) for row in rows):
        return
    for term in lasting:
        if not any(term.holds(*row) for row in rows):
            there = dict.fromkeys(v for row in rows for v in _values(term.name, *row) if v)
            word = next(iter(term.words), term.patterns[0])
            raise BadInput(
                f"--select {term.text} matches no row; nothing was spent",
                remedy=_remedy(word, term.name, list(there)),
            )
    raise BadInput(
        f"no row matches all of --select {text}; nothing was spent",
        remedy=_remedy("", "row", list(ids.values())),
    )


def names_in(text: str | None) -> frozenset[str]:
    """Return the ids that a selection names, without regard to upper and lower case."""
    terms = _terms(text)
    return frozenset(w.casefold() for term in terms if term.name == "row" for w in term.words)


def choose_rows(
    known: Sequence[CampaignRow], named: Collection[str] | None, select: str | None
) -> list[CampaignRow]:
    """Return those rows that are named, if any are, and chosen by a selection, if there is one.

    `known` are all rows. Raises BadInput as `check_selection`.
    """
    chosen, ids = parse_selection(select), frozenset(named or ())
    check_selection(select, ((row, row.asked(), row.state) for row in known))
    return [
        row for row in known if (not ids or row.row in ids) and chosen(row, row.asked(), row.state)
    ]


def rows_shown(
    connection: Connection, campaign: Campaign, which: RowFilter, select: str | None
) -> list[CampaignRow]:
    """Return the rows of a campaign that a filter lets through and `--select` chooses.

    A selection is checked against all rows. Raises BadInput as `check_selection`.
    """
    states = None if select else which.states or None
    rows = choose_rows(rows_of(connection, campaign.id, states=states), None, select)
    if which.is_empty:
        return rows
    # Who only selects does not pay for reading pages of rows.
    from callsheet.tasks.ledger.row_pages import names_shown

    shown = frozenset(names_shown(connection, campaign.id, which))
    return [row for row in rows if row.row in shown]


def rows_asked(
    connection: Connection,
    campaign: Campaign,
    named: Sequence[str] | None,
    select: str | None,
    *,
    end: str = "",
) -> list[CampaignRow]:
    """Return the rows of a campaign that are named and selected, as the ledger has them.

    Raise NotHere for one that is not there, in a sentence with this end.
    """
    known = rows_of(connection, campaign.id)
    there = {row.row for row in known}
    if missing := [row for row in dict.fromkeys(named or ()) if row not in there]:
        words = ", ".join(f'"{row}"' for row in missing[:20])
        raise NotHere(
            f"campaign {campaign.name} has no row {words}{end}",
            remedy=f"`{suggest('rows', campaign.name)}` lists them",
        )
    return choose_rows(known, named, select)


def _terms(text: str | None) -> list[_Term]:
    parts = [part.strip() for part in (text or "").split(",")]
    if text is not None and not any(parts):
        raise BadInput(
            "--select is empty; nothing was spent",
            remedy="leave it out for every row, or name rows, as in --select r1,r2",
        )
    return [_Term.read(part) for part in parts if part]


def _test_of(terms: Sequence[_Term]) -> Selection:
    ids = [term for term in terms if term.names_rows]
    others = [term for term in terms if not term.names_rows]

    def chosen(row: Selectable, request: Mapping[str, Any], state: str) -> bool:
        if ids and not any(term.holds(row, request, state) for term in ids):
            return False
        return all(term.holds(row, request, state) for term in others)

    return chosen


def _remedy(word: str, name: str, there: Sequence[str]) -> str:
    """Say what was meant, and some of the values that rows have."""
    hint = did_you_mean(word, there).removeprefix("; ") if word else ""
    if not there:
        return f"no row has a {name}"
    more = f" and {len(there) - SHOWN:,} more" if len(there) > SHOWN else ""
    listed = ", ".join(there[:SHOWN])
    return f"{hint} {KINDS.get(name, name)} that exist: {listed}{more}".lstrip()


def _values(name: str, row: Selectable, request: Mapping[str, Any], state: str) -> Sequence[str]:
    own: dict[str, Sequence[str]] = {
        "row": [row.row],
        "state": [state],
        "tag": row.tags,
        "cost_center": [row.cost_center or ""],
        "operation": [row.operation],
    }
    return own[name] if name in OWN else [str(request.get(name, ""))]
