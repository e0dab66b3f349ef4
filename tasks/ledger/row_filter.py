"""Which rows are meant: the one language of `--select`, of the board's addresses and of the API.

Terms, `name:pattern`, must all hold: `tag:launch,language:en|de`. `|` offers alternatives, `*` and
`?` are wildcards, and a leading `!` leaves rows out: `draft-*,!draft-7`. Ids are one term, since a
row has one: `r1,r2` are alternatives. Text in double quotes is meant exactly: `tag:"tea, hot"`.

Knows neither SQL nor HTTP: `row_selection` has the ledger find the rows that match, and a row of a
sheet, which the ledger may not have, is tested by `RowFilter.matches`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import reduce
from typing import Literal, NamedTuple, Protocol, get_args

from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.runtime.errors import BadInput, did_you_mean
from callsheet.tasks.values.briefs import Json

#: How a video stands with people: kept, rejected, or not reviewed yet.
ReviewFilter = Literal["keep", "reject", "none"]

#: What a row of a sheet says of itself, and what it asks of the service.
OWN = ("row", "state", "tag", "cost_center", "operation")
ASKED = ("tool", "title", "topic", "mode", "style", "voice_id", "music_id", "caption_style",
         "aspect_ratio", "language", "video_model", "duration_seconds")  # fmt: skip
#: What the ledger alone knows of a row. What is said of a video is said of the newest that the row
#: has: `review` by the team, `client` by the client; `since` and `until` are when it was delivered
#: (Unix seconds: later than the one, no later than the other). `takes` is how many a row has at
#: least, `q` is looked for in id, title and reason, `called` in id and title.
KNOWN = ("review", "client", "flagged", "video", "takes", "since", "until", "q", "called")
NAMES = OWN + ASKED + KNOWN
#: What is one of a few words.
CHOICES: Mapping[str, Sequence[str]] = {
    "state": STATES,
    "review": get_args(ReviewFilter),
    "client": get_args(ReviewFilter),
    "flagged": ("yes", "no"),
    "video": ("yes", "no"),
}

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
#: What a word may have that is read otherwise where it stands in no quotes.
_SPECIAL = re.compile(r'[,|*?"]|^!|^\s|\s$')
_ALTERNATIVE = r'(?:\s*"(?:[^"]|"")*"\s*(?=[,|])|[^,|]*)'
_TERM = re.compile(rf'\s*(!?)(?:([^:,|"]*):)?({_ALTERNATIVE}(?:\|{_ALTERNATIVE})*),')
_PATTERN = re.compile(rf"({_ALTERNATIVE})\|")


class Selectable(Protocol):
    """A row of a sheet or of the ledger."""

    @property
    def row(self) -> str: ...
    @property
    def tags(self) -> Sequence[str]: ...
    @property
    def cost_center(self) -> str | None: ...
    @property
    def operation(self) -> str: ...
    def asked(self) -> Mapping[str, Json]: ...


class Pattern(NamedTuple):
    """Text that is the same (`exact`, in quotes), or has wildcards and no upper and lower case."""

    text: str
    exact: bool = False

    @classmethod
    def read(cls, typed: str) -> Pattern:
        """Read a pattern as it is typed."""
        quoted = _QUOTED.fullmatch(typed.strip())
        return cls(quoted[1].replace('""', '"'), True) if quoted else cls(typed.strip())

    def __str__(self) -> str:
        """Return it as it is typed."""
        return '"' + self.text.replace('"', '""') + '"' if self.exact else self.text

    @property
    def is_word(self) -> bool:
        """Whether it has no wildcards."""
        return self.exact or not ("*" in self.text or "?" in self.text)

    def fits(self, value: str) -> bool:
        """Whether it matches a value."""
        if self.exact:
            return value == self.text
        # A bracket is no wildcard.
        return fnmatchcase(value.lower(), self.text.lower().replace("[", "[[]"))


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: a row has one of `patterns` under `name`, or, if not `wanted`, none of them.

    Raises BadInput for a name that is none, and a word that makes no sense under it.
    """

    name: str
    patterns: tuple[Pattern, ...]
    wanted: bool = True

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            hint = did_you_mean(self.name, NAMES).removeprefix("; ")
            raise BadInput(
                f'--select does not know "{self.name[:80]}"; nothing was spent',
                remedy=f"{hint} select by ".lstrip() + ", ".join(NAMES),
            )
        for pattern in self.patterns:
            if fault := _fault(self.name, pattern):
                raise BadInput(
                    f'{self.name} "{pattern.text[:80]}" is {fault}; nothing was spent',
                    remedy=_choice(self.name, pattern.text),
                )

    def __str__(self) -> str:
        """Return the term as it is typed."""
        bare = self.name == "row" and not any(":" in one.text for one in self.patterns)
        sign, name = "" if self.wanted else "!", "" if bare else f"{self.name}:"
        return f"{sign}{name}{'|'.join(map(str, self.patterns))}"

    @property
    def names_rows(self) -> bool:
        """Whether it is ids that a row may have."""
        return self.wanted and self.name == "row"

    @property
    def words(self) -> list[str]:
        """Its patterns without wildcards."""
        return [one.text for one in self.patterns if one.text and one.is_word]

    @property
    def has_only_words(self) -> bool:
        """Whether none of its patterns has wildcards."""
        return all(one.is_word for one in self.patterns)

    @property
    def choices(self) -> list[str]:
        """The words of `CHOICES` that its patterns match."""
        return [word for word in CHOICES[self.name] if any(p.fits(word) for p in self.patterns)]

    def holds(self, row: Selectable, state: str) -> bool:
        """Whether it holds for a row of a sheet; raise BadInput for what no sheet says."""
        values = self.values(row, state)
        return self.wanted == any(one.fits(value) for one in self.patterns for value in values)

    def values(self, row: Selectable, state: str = "") -> Sequence[str]:
        """Return what a row of a sheet has under its name."""
        if self.name in ASKED:
            return [str(row.asked().get(self.name) or "")]
        own: dict[str, Sequence[str]] = {
            "row": [row.row],
            "state": [state],
            "tag": row.tags,
            "cost_center": [row.cost_center or ""],
            "operation": [row.operation],
        }
        if self.name in own:
            return own[self.name]
        raise BadInput(
            f"--select {self} is about rows that were made, and chooses none of a sheet; "
            "nothing was spent",
            remedy="select by " + ", ".join(OWN + ASKED),
        )


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Terms that must all hold; without any it lets every row through."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> RowFilter:
        """Read a selection as it is typed; None lets every row through.

        Raises BadInput for an unknown name, a word that makes no sense, and where nothing is
        selected by.
        """
        found = [] if text is None else _TERM.findall(f"{text},")
        terms = [
            _term(name.strip() or "row", _patterns(typed), wanted=not sign)
            for sign, name, typed in found
            if name or typed.strip()
        ]
        if text is not None and not terms:
            raise BadInput(
                "--select is empty; nothing was spent",
                remedy="leave it out for every row, or name rows, as in --select r1,r2",
            )
        return _joined(terms)

    @classmethod
    def of(cls, **words: str | Collection[str] | None) -> RowFilter:
        """Return the filter by these words, each as it is; what is empty asks for nothing.

        An id has to be the same, of others upper and lower case do not matter. Raises BadInput as
        `parse`.
        """
        terms = []
        for name, said in words.items():
            several = [said] if isinstance(said, str) else list(said or ())
            is_id = name == "row"
            made = (Pattern(word, is_id or bool(_SPECIAL.search(word))) for word in several)
            if patterns := [one for one in made if one.text]:
                terms.append(_term(name, patterns))
        return _joined(terms)

    def __and__(self, other: RowFilter) -> RowFilter:
        """Return a filter that lets through what both do.

        Raises BadInput where both have ids with wildcards: no selection says that of one id.
        """
        both = (*self.terms, *other.terms)
        ids = dict.fromkeys(term for term in both if term.names_rows)
        terms = [term for term in both if not term.names_rows]
        return _joined((*terms, *([reduce(_common, ids)] if ids else [])))

    def __str__(self) -> str:
        """Return it as `--select` takes it."""
        return ",".join(map(str, self.terms))

    def but(self, **words: str | Collection[str] | None) -> RowFilter:
        """Return it with other words under these names, or with none."""
        kept = (term for term in self.terms if term.name not in words)
        return _joined((*kept, *RowFilter.of(**words).terms))

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words that `of` makes its terms of this name from; none if it cannot."""
        terms = tuple(term for term in self.terms if term.name == name)
        words = tuple(word for term in terms for word in term.words)
        return words if RowFilter.of(**{name: words}).terms == terms else ()

    def word(self, name: str) -> str | None:
        """Return the only word that it has under a name."""
        words = self.words(name)
        return words[0] if len(words) == 1 else None

    @property
    def is_empty(self) -> bool:
        """Whether it lets every row through."""
        return not self.terms

    @property
    def states(self) -> list[State] | None:
        """The states that it lets through; None where it does not speak of states."""
        several = [(t.wanted, t.choices) for t in self.terms if t.name == "state"]
        if not several:
            return None
        return [one for one in STATES if all(wanted == (one in of) for wanted, of in several)]

    @property
    def named(self) -> frozenset[str]:
        """The ids that it names, also those that it leaves out, in lower case."""
        terms = (term for term in self.terms if term.name == "row")
        return frozenset(word.lower() for term in terms for word in term.words)

    @property
    def lasting(self) -> RowFilter:
        """It without what may hold for other rows tomorrow: states, and what the ledger knows."""
        return self.but(**dict.fromkeys(("state", *KNOWN)))

    def matches(self, row: Selectable, state: str) -> bool:
        """Whether it lets a row of a sheet through, which is in a state.

        Raises BadInput for terms of what no sheet says (`KNOWN`).
        """
        return all(term.holds(row, state) for term in self.terms)


def _joined(terms: Iterable[Term]) -> RowFilter:
    """Return the filter by these terms: in one order, and ids that a row may have in one term."""
    several = list(dict.fromkeys(terms))
    if ids := dict.fromkeys(one for term in several if term.names_rows for one in term.patterns):
        others = [term for term in several if not term.names_rows]
        several = [Term("row", tuple(ids)), *others]
    return RowFilter(tuple(sorted(several, key=lambda t: (NAMES.index(t.name), not t.wanted))))


def _common(one: Term, other: Term) -> Term:
    """Return the term for the ids that both let through."""
    words, others = (one, other) if one.has_only_words else (other, one)
    if not words.has_only_words:
        raise BadInput(
            f"{one} and {other} both choose ids by wildcards; nothing was spent",
            remedy="choose by one of them",
        )
    pairs = itertools.product(words.patterns, others.patterns)
    found = dict.fromkeys(met for word, pattern in pairs if (met := _met(word, pattern)))
    # No row has an empty id.
    return Term("row", tuple(found) or (Pattern("", exact=True),))


def _met(word: Pattern, other: Pattern) -> Pattern | None:
    """Return the pattern for the ids that both fit, one of which has no wildcards."""
    if other.is_word and word.fits(other.text):
        return other if other.exact else word
    return word if other.fits(word.text) else None


def _patterns(typed: str) -> Iterable[Pattern]:
    return map(Pattern.read, _PATTERN.findall(f"{typed}|"))


def _term(name: str, patterns: Iterable[Pattern], *, wanted: bool = True) -> Term:
    """Return a term; words of which there are a few are in one order, however they were typed."""
    known = CHOICES.get(name, ())
    places = {word: place for place, word in enumerate(known)}
    ordered = sorted(dict.fromkeys(patterns), key=lambda one: places.get(one.text, len(known)))
    return Term(name, tuple(ordered), wanted)


def _fault(name: str, pattern: Pattern) -> str | None:
    """Return why a pattern makes no sense under a name, if it does not."""
    text = pattern.text
    if name in CHOICES and not any(map(pattern.fits, CHOICES[name])):
        return "none that there is"
    if name == "takes" and not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        return "no whole number of 1 or more"
    if name in ("since", "until") and not _is_moment(text):
        return "no moment in Unix seconds"
    return None


def _choice(name: str, text: str) -> str | None:
    """Return which words there are under a name, if there are a few."""
    if (known := CHOICES.get(name)) is None:
        return None
    hint = did_you_mean(text[:40], known).removeprefix("; ")
    more = "; to explain them: `callsheet help states`" if name == "state" else ""
    return f"{hint} it is one of {', '.join(known)}{more}".lstrip()


def _is_moment(text: str) -> bool:
    """Whether a text is a moment in some calendar."""
    try:
        return 0 <= float(text) < 1e11
    except ValueError:
        return False
