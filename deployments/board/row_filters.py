"""Which rows a page's address asks for, and the same in words.

The address of a page and of a call say it in the same words, and what is not known in them is
refused: a filter that were left out would show, and a bulk act would take, more rows than meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.refusals import refuse_unknown
from callsheet.tasks.ledger.row_pages import MOST, PAGE, SORTS, Sort
from callsheet.tasks.ledger.row_selection import ReviewFilter, RowFilter
from callsheet.tasks.ledger.values import NEEDS_PERSON, STATES, State
from callsheet.tasks.runtime.errors import did_you_mean

#: Conditions that are a few words each, by their names in an address and in a filter.
WORDS = ("tag", "q", "language", "ratio", "tool")
TRUTHS = ("flagged", "video")
MOMENTS = ("since", "until")
FILTERS = ("state", "review", "client", "row", "takes", *WORDS, *TRUTHS, *MOMENTS)
#: What else an address says of a page of rows.
PAGED = ("sort", "after", "limit")
#: Characters of one of them at most.
LONG = 200


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """A page of rows that an address asks for."""

    which: RowFilter
    sort: Sort = "sheet"
    after: str | None = None
    limit: int = PAGE


def rows_in(query: QueryParams, *also: str) -> AskedRows:
    """Read which page of which rows an address asks for; raise ProblemDetails 422 for no sense.

    `also` are names that it may have for something else.
    """
    return AskedRows(
        which=filter_in(query, *PAGED, *also),
        sort=cast(Sort, _one_of(query, "sort", SORTS) or "sheet"),
        after=query.get("after") or None,
        limit=min(_number(query, "limit", least=1) or PAGE, MOST),
    )


def filter_in(query: QueryParams, *also: str) -> RowFilter:
    """Read which rows an address asks for; raise ProblemDetails 422 for what makes no sense.

    A name that is neither a filter nor in `also` is refused. `state` and `row` may stand several
    times; states may also stand with commas between.
    """
    refuse_unknown(query, (*FILTERS, *also))
    named = [word for text in query.getlist("state") for word in text.split(",") if word]
    for word in named:
        if word not in STATES:
            raise _no_sense("state", word, STATES)
    words = {name: query.get(name) or None for name in WORDS}
    for name, text in words.items():
        if text is not None and len(text) > LONG:
            raise ProblemDetails(422, f"{name} is longer than {LONG} characters")
    return RowFilter(
        states=tuple(cast(State, word) for word in dict.fromkeys(named)),
        review=cast("ReviewFilter | None", _one_of(query, "review", get_args(ReviewFilter))),
        client=cast("ReviewFilter | None", _one_of(query, "client", get_args(ReviewFilter))),
        rows=tuple(row for row in query.getlist("row") if row),
        takes=_number(query, "takes", least=1),
        **words,
        flagged=_truth(query, "flagged"),
        video=_truth(query, "video"),
        since=_moment(query, "since"),
        until=_moment(query, "until"),
    )


def pairs_of(which: RowFilter) -> list[tuple[str, str]]:
    """Return a filter as an address has it, for a link to the same rows."""
    found: list[tuple[str, Any]] = [("state", state) for state in which.states]
    found += [("review", which.review), ("client", which.client), ("takes", which.takes)]
    found += [(name, getattr(which, name)) for name in WORDS]
    for name in TRUTHS:
        value = getattr(which, name)
        found.append((name, None if value is None else "yes" if value else "no"))
    # Every bit counts: it says which videos someone has seen.
    found += [(name, getattr(which, name)) for name in MOMENTS]
    found += [("row", row) for row in which.rows]
    return [(name, f"{value}") for name, value in found if value is not None]


def _one_of(query: QueryParams, name: str, words: Iterable[str]) -> str | None:
    word = query.get(name) or None
    if word is not None and word not in words:
        raise _no_sense(name, word, words)
    return word


def _truth(query: QueryParams, name: str) -> bool | None:
    known: Mapping[str, bool | None] = {
        "": None, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False,
    }  # fmt: skip
    word = query.get(name, "")
    if word not in known:
        raise _no_sense(name, word, ("yes", "no"))
    return known[word]


def _number(query: QueryParams, name: str, *, least: int) -> int | None:
    word = query.get(name, "")
    if not word:
        return None
    if not (word.isascii() and word.isdigit() and len(word) < 10) or int(word) < least:
        raise ProblemDetails(422, f'{name} "{word[:40]}" is no whole number of {least} or more')
    return int(word)


def _moment(query: QueryParams, name: str) -> float | None:
    """Read Unix seconds; what is no moment in any calendar is refused."""
    word = query.get(name, "")
    try:
        moment = float(word) if word else None
    except ValueError:
        moment = float("nan")
    if moment is not None and not 0 <= moment < 1e11:
        raise ProblemDetails(422, f'{name} "{word[:40]}" is no moment in Unix seconds')
    return moment


def _no_sense(name: str, word: str, known: Iterable[str]) -> ProblemDetails:
    words = list(known)
    hint = did_you_mean(word[:40], words)
    return ProblemDetails(
        422, f'{name} "{word[:40]}" is none that there is{hint}', remedy=", ".join(words)
    )


# How a page puts into its addresses which rows of a campaign it shows, and says it in words.
#
# What an address asks for is read by `asked`. Knows neither SQL nor HTTP.


#: The states that wait for a person, as an address has them together.
FOR_A_PERSON = ",".join(state for state in STATES if state in NEEDS_PERSON)
_VERDICTS = {"keep": "kept", "reject": "rejected on review", "none": "undecided"}


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
    def state(self) -> str:
        """The states asked for as an address has them; empty for all."""
        return ",".join(state for state in STATES if state in self.which.states)

    @property
    def words(self) -> str:
        """What is asked for, for people: `failed, with “tea”`; nothing where all rows are."""
        which, state = self.which, self.state
        found = ["waiting for a person" if state == FOR_A_PERSON else " or ".join(which.states)]
        found += [_VERDICTS[which.review] if which.review else ""]
        found += ["to look at" if which.flagged else "", f"with “{which.q}”" if which.q else ""]
        named = {name: getattr(which, name) for name in ("tag", "language", "ratio", "tool")}
        found += [f"{name} {value}" for name, value in named.items() if value]
        return ", ".join(filter(None, found))

    def pairs(self) -> dict[str, str]:
        """Return it as pairs of an address, without the page."""
        found = dict(pairs_of(self.which)) | ({"state": self.state} if self.state else {})
        return found | ({} if self.sort == "sheet" else {"sort": self.sort})

    def query(self, **changed: str | None) -> str:
        """Return the part of an address behind the path, with some of it changed; None drops."""
        kept: Mapping[str, str] = {k: v for k, v in self.pairs().items() if k not in changed}
        found = {**kept, **{name: value for name, value in changed.items() if value}}
        return f"?{urlencode(found)}" if found else ""
