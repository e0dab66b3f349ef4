"""Which rows a page's address asks for.

The address of a page and of a call say it in the same words, each of which is a term of `--select`,
or as that says it: `state=failed` is `select=state:failed`. What is not known in them is refused: a
filter that were left out would show, and a bulk act would take, more rows than meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.refusals import refuse_unknown
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import MOST, PAGE, SORTS, Sort
from callsheet.tasks.ledger.values import NEEDS_PERSON, STATES
from callsheet.tasks.runtime.errors import did_you_mean

#: Terms that an address may say one by one, each by its name there.
FILTERS = {name: name for name in (
    "state", "review", "client", "takes", "tag", "q", "language", "ratio", "tool", "flagged",
    "video", "since", "until", "row",
)} | {"ratio": "aspect_ratio"}  # fmt: skip
#: Those of a guest, who finds and orders videos by what their page shows of them.
GUEST_SORTS: tuple[Sort, ...] = ("sheet", "since")
GUEST_FILTERS = ("client", "q", "language", "ratio", "video", "since", "until", "row")
#: The term for all others, and for anything that cannot be said one by one.
SELECT = "select"
#: What else an address says of a page of rows.
PAGED = ("sort", "after", "limit")
#: Words for yes and no that programs use.
_TRUTHS = {"true": "yes", "1": "yes", "false": "no", "0": "no"}
#: Characters of one of them, and of a selection, at most.
LONG, SELECTION = 200, 4000


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """A page of rows that an address asks for."""

    which: RowFilter
    sort: Sort = "sheet"
    after: str | None = None
    limit: int = PAGE


def rows_in(query: QueryParams, *also: str, guest: bool = False) -> AskedRows:
    """Read which page of which rows an address asks for; raise as `filter_in`."""
    return AskedRows(
        which=filter_in(query, *PAGED, *also, guest=guest),
        sort=_sort(query.get("sort") or "sheet", GUEST_SORTS if guest else SORTS),
        after=query.get("after") or None,
        limit=_limit(query.get("limit") or str(PAGE)),
    )


def filter_in(query: QueryParams, *also: str, guest: bool = False) -> RowFilter:
    """Read which rows an address asks for; raise ProblemDetails 422 or BadInput for no sense.

    A name that is neither a filter nor in `also` is refused. What stands several times, or for
    states with commas between, is alternatives, while selections must all hold. A guest chooses by
    nothing that their page does not show.
    """
    known = GUEST_FILTERS if guest else (*FILTERS, SELECT)
    refuse_unknown(query, (*known, *also))
    found = RowFilter()
    for name, term in FILTERS.items():
        said = query.getlist(name)
        if name == "state":
            said = [word for text in said for word in text.split(",")]
        if name in ("flagged", "video"):
            said = [_TRUTHS.get(word, word) for word in said]
        found &= RowFilter.of(**{term: [_short(name, word, LONG) for word in said]})
    for text in filter(None, query.getlist(SELECT)):
        found &= RowFilter.parse(_short(SELECT, text, SELECTION))
    return found


def pairs_of(which: RowFilter) -> list[tuple[str, str]]:
    """Return a filter as an address has it, for a link to the same rows."""
    pairs, rest = list[tuple[str, str]](), which
    for name, term in FILTERS.items():
        words = which.words(term)
        if words and (len(words) == 1 or name in ("state", "row")):
            rest = rest.but(**{term: None})
            pairs += [(name, ",".join(words))] if name == "state" else [(name, w) for w in words]
    return pairs if rest.is_empty else [*pairs, (SELECT, str(rest))]


def typed(which: RowFilter) -> str:
    """Return a filter as a person types it behind a command; empty for every row."""
    return "" if which.is_empty else f"--select {quote(str(which))}"


def _short(name: str, word: str, most: int) -> str:
    if len(word) > most:
        raise ProblemDetails(422, f"{name} is longer than {most} characters")
    return word


def _sort(word: str, known: Sequence[Sort]) -> Sort:
    found = next((one for one in known if one == word), None)
    if found is None:
        hint = did_you_mean(word[:40], known)
        words = f'sort "{word[:40]}" is none that there is{hint}'
        raise ProblemDetails(422, words, remedy=", ".join(known))
    return found


def _limit(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10) or int(word) < 1:
        raise ProblemDetails(422, f'limit "{word[:40]}" is no whole number of 1 or more')
    return min(int(word), MOST)


# What a page of rows was asked for, for its links, its forms and its reader.


#: The states that wait for a person, as an address has them together.
FOR_A_PERSON = ",".join(state for state in STATES if state in NEEDS_PERSON)


@dataclass(frozen=True)
class RowView:
    """What a page of rows was asked for."""

    asked: AskedRows

    @property
    def which(self) -> RowFilter:
        """The rows that match."""
        return self.asked.which

    @property
    def sort(self) -> str:
        """Their order."""
        return self.asked.sort

    @property
    def typed(self) -> str:
        """The same rows for the command line."""
        return typed(self.which)

    def pairs(self) -> list[tuple[str, str]]:
        """Return it as pairs of an address, without the page."""
        return pairs_of(self.which) + ([] if self.sort == "sheet" else [("sort", self.sort)])

    def said(self, name: str) -> str:
        """Return what its address says under a name; empty where it says nothing."""
        return dict(self.pairs()).get(name, "")

    def query(self, **changed: str | None) -> str:
        """Return the part of an address behind the path, with some of it changed; None drops."""
        found = [(name, value) for name, value in self.pairs() if name not in changed]
        found += [(name, value) for name, value in changed.items() if value]
        return f"?{urlencode(found)}" if found else ""
