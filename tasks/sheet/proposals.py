"""What the headers of a sheet may mean, told from all of them and from what is in their cells.

Proposed and never applied. Where two headers could be one column, neither is proposed: the wrong
one would be paid for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from callsheet.tasks.sheet.columns import BODY
from callsheet.tasks.sheet.headers import (
    KNOWN_COLUMNS,
    OURS_TO_SET,
    TRANSLATED,
    canonical_header,
    is_usable,
)
from callsheet.tasks.sheet.synonyms import is_loose, meant_exactly, proposed
from callsheet.tasks.sheet.table import Findings
from callsheet.tasks.sheet.text import LANGUAGE_CODES, LANGUAGES, language_code

#: Columns whose cells have no `|` of their own: with one, they are several values of an axis.
_SEVERAL = ("language", "aspect_ratio", "duration_seconds", "voice_id", "music_id", "character_id",
            "tool", "video_model", "caption_style", "mode", "style")  # fmt: skip
#: What a video says: where one of them is told, a looser word for it means something else.
_SPOKEN = ("script", "narration")
_FIELD = re.compile(r"fields?[._]+(?P<name>.+)")
#: A header and the language of its text: `Headline DE`, `Titel (Deutsch)`, `VO script pt-BR`.
_IN_LANGUAGE = re.compile(
    r"(?P<base>.+?)[\s_.:/\-\u2010-\u2015]+"
    r"(?:[(\[]\s*(?P<inside>[^()\[\]]+?)\s*[)\]]|(?P<bare>[^\W\d_]+(?:-[A-Z]{2})?))"
)
_NAMED = {name.casefold(): code for name, code in LANGUAGES.items()}


@dataclass(frozen=True, slots=True)
class Likely:
    """The column that a header is proposed for (None: none is), and why there is a doubt.

    `open` says that a person has to choose between several headers.
    """

    column: str | None = None
    doubt: str | None = None
    open: bool = False


def likely_columns(
    cells: Mapping[str, Sequence[str]], *, rows: int | None = None
) -> dict[str, Likely]:
    """Return what each unknown header of a sheet may mean, by header.

    `cells` are the texts below each header, those that are not empty; without `rows`, how many
    rows there are, the headers alone are looked at.
    """
    return _Sheet(cells, rows).likely()


@dataclass(frozen=True, slots=True)
class _Meant:
    column: str | None
    loose: bool = False

    @property
    def base(self) -> str:
        return (self.column or "").removeprefix("matrix.").partition(".")[0]


@dataclass
class _Sheet:
    cells: Mapping[str, Sequence[str]]
    rows: int | None
    taken: set[str] = field(default_factory=set)

    def likely(self) -> dict[str, Likely]:
        named = {header: canonical_header(header) for header in self.cells}
        known = {header: _Meant(name) for header, name in named.items() if is_usable(name)}
        self.taken = {one.column for one in known.values() if one.column}
        meant = {header: self._meant(header) for header in named if header not in known}
        meant |= self._first_language({**known, **meant})
        return {header: self._one(header, meant) for header in meant}

    def _first_language(self, meant: Mapping[str, _Meant]) -> dict[str, _Meant]:
        """Return what is in the one language of the sheet that no header names, by header.

        Of `Headline`, `Headline DE` and cells that say `en|de`, the first is the English one.
        """
        spoken = {code for header, one in meant.items() if one.column == "matrix.language"
                  for text in self.cells[header] for code in _codes(text)}  # fmt: skip
        found: dict[str, _Meant] = {}
        for header, one in meant.items():
            columns = {other.column for other in meant.values()}
            left = [code for code in spoken if f"{one.column}.{code}" not in columns]
            translated = one.column in TRANSLATED and len(left) < len(spoken)
            if translated and len(left) == 1 and one.column not in self.taken:
                found[header] = _Meant(f"{one.column}.{left[0]}", one.loose)
        return found

    def _one(self, header: str, meant: Mapping[str, _Meant]) -> Likely:
        own = meant[header]
        if own.column is None or own.column in self.taken:
            return Likely()
        if own.loose and (closer := self._closer(own, meant)):
            return Likely(doubt=f'could be {own.column}, but "{closer}" is closer to it')
        same = (one for one, other in meant.items() if other == own and one != header)
        if rivals := " and ".join(f'"{one}"' for one in same):
            return Likely(doubt=f"could be {own.column}, and so could {rivals}", open=True)
        return Likely(own.column)

    def _closer(self, own: _Meant, meant: Mapping[str, _Meant]) -> str | None:
        """Return the header that is a better fit for what a loose one may mean."""
        spoken = own.base in _SPOKEN
        for header, other in self._all(meant):
            if other.loose or header == own.column:
                continue
            if other.column == own.column or (spoken and other.base in _SPOKEN):
                return header
        return None

    def _all(self, meant: Mapping[str, _Meant]) -> Iterator[tuple[str, _Meant]]:
        for header in self.cells:
            yield header, meant.get(header) or _Meant(canonical_header(header))

    def _meant(self, header: str) -> _Meant:
        """Return what a header may mean with these cells."""
        own = _meant(header)
        texts = self.cells[header]
        if own.column is None or not is_usable(own.column):
            return _Meant(None)
        if own.column in _SEVERAL and any("|" in text for text in texts):
            return _Meant(f"matrix.{own.column}")
        # A number of the agency's own is a row's id where no two rows share it.
        if own.column == "id" and own.loose and self.rows is not None:
            return own if len(set(texts)) == len(texts) == self.rows else _Meant(None)
        return own


def _codes(text: str) -> Iterator[str]:
    for part in text.split("|"):
        if code := language_code(part.strip()):
            yield code.casefold()


@lru_cache(maxsize=4096)
def _meant(header: str) -> _Meant:
    if exactly := meant_exactly(header):
        return _Meant(exactly, is_loose(header))
    if translated := _translation(header):
        return translated
    if said := proposed(header):
        return _Meant(said, is_loose(header))
    column = canonical_header(header)
    if named := _FIELD.fullmatch(column):
        return _Meant(f"fields.{named['name']}")
    close = difflib.get_close_matches(column, KNOWN_COLUMNS, n=1, cutoff=0.7)
    return _Meant(close[0] if close and _is_misspelt(column, close[0]) else None)


def _is_misspelt(column: str, meant: str) -> bool:
    """Say whether each word is almost as it should be: a `Video topic` is no video_id.

    `Description` has all letters of script, and is none.
    """
    words, known = column.split("_"), meant.split("_")
    if len(words) != len(known):
        return column[0] == meant[0] and _alike("".join(words), "".join(known)) > 0.85
    pairs = zip(words, known, strict=True)
    return all(one[:1] == two[:1] and _alike(one, two) >= 0.7 for one, two in pairs)


def _alike(one: str, two: str) -> float:
    return difflib.SequenceMatcher(None, one, two).ratio()


def _translation(header: str) -> _Meant | None:
    """Return the translated column that a header names with its language, as `Headline DE`."""
    said = _IN_LANGUAGE.fullmatch(header.strip())
    code = said and _language(said["inside"] or said["bare"], bare=said["inside"] is None)
    if not said or not code:
        return None
    base = proposed(said["base"]) or canonical_header(said["base"])
    if base not in TRANSLATED:
        return None
    return _Meant(f"{base}.{code.lower()}", is_loose(said["base"]))


def _language(said: str, *, bare: bool) -> str | None:
    """Return the code of a language; bare, `no` and `id` are a number or a name."""
    if named := _NAMED.get(said.casefold()):
        return named
    code, _, region = said.replace("_", "-").partition("-")
    if code.casefold() not in LANGUAGE_CODES or (region and not region.isalpha()):
        return None
    if code.casefold() in ("id", "no") and not region:
        return None
    # In small letters it may be a word: `Script to do`.
    return said.replace("_", "-") if region or code.isupper() or not bare else None


# What is said of a header that is no column.


def check_header(
    header: str,
    findings: Findings,
    *,
    line: int | None,
    where: str = "",
    others: Iterable[str] = (),
) -> bool:
    """Say whether the column may be used; note the problem when it may not.

    `others` are the other headers of the sheet, as they are written.
    """
    column = canonical_header(header)
    if is_usable(column):
        return True
    named = [findings.names.named(one.strip()) for one in others]
    message = explain_column(column, header.strip(), others=named)
    findings.refuse(message or "", line=line, cell=where or "column", value=header.strip())
    return False


def explain_column(column: str, header: str = "", *, others: Sequence[str] = ()) -> str | None:
    """Return what is wrong with a column, by its canonical name; None for one that may be used."""
    if is_usable(column):
        return None
    if column.removeprefix(f"{BODY}.") in OURS_TO_SET:
        return "is set by Callsheet itself; remove the column"
    if column == "matrix":
        return "is not a column: write it once, next to rows, or as columns such as matrix.language"
    return f"is not a column Callsheet knows; {_suggestion(column, header or column, others)}"


def _suggestion(column: str, header: str, others: Sequence[str]) -> str:
    told = likely_columns(dict.fromkeys((header, *others), ())).get(header, Likely())
    if told.column:
        return f"did you mean {told.column}?"
    if told.open:
        return f"it {told.doubt}: say which one is"
    keep = f"call it x_{column} to keep it for yourself"
    return f"it {told.doubt}: {keep}" if told.doubt else f"remove it, or {keep}"
