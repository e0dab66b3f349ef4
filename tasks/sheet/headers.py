"""Finds the header of a table and matches its names to columns.

Known columns alone tell. A first line that is a header is never passed over, and where two lines
may be one nothing is guessed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet.columns import ASKED, BODY, FIELDS, Document, OwnColumns
from callsheet.tasks.sheet.synonyms import proposed
from callsheet.tasks.sheet.table import Findings, Line
from callsheet.tasks.sheet.text import MAX_COLUMNS, language_code, plain, tidy

#: A header stands among so many first lines with something in them.
SEARCHED = 20


#: Names a cell of a column for people, by the column's name, the line and the column's position.
Place = Callable[[str, int, int], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with a header; one that is not usable has its problem noted already."""

    position: int
    header: str
    name: str
    usable: bool
    kept_only: bool


class HeaderLines(NamedTuple):
    """Where the header may be, by index: nowhere, in one line, or in several that differ.

    `certain` says that most of its names are known columns.
    """

    lines: tuple[int, ...]
    certain: bool


class _Names(NamedTuple):
    known: int
    unknown: int

    @property
    def certain(self) -> bool:
        return self.known > max(1, self.unknown)


def pick_header(lines: Sequence[Line], findings: Findings, word: str) -> int:
    """Return the index of the header among the first lines; raise when it is not certain.

    `word` is what people call a line. What stands above the header is noted.
    """
    if not lines:
        findings.give_up("has no rows: it is empty")
    found, _ = find_header([line.cells for line in lines])
    if not found:
        return _unnamed(lines, findings, word)
    if len(found) > 1:
        several = " and ".join(str(lines[n].number) for n in found)
        findings.give_up(
            f"may have its header in {word}s {several}: keep one table in a sheet",
            line=lines[found[1]].number,
        )
    header = found[0]
    while header + 1 < len(lines) and _goes_on(lines[header], lines[header + 1]):
        header += 1
    if header > 0:
        above = lines[header].number - 1
        lost = f"{word} 1 above it is" if above == 1 else f"{word}s 1 to {above} above it are"
        findings.note(f"has its header in {word} {above + 1}; {lost} not read")
    return header


def _unnamed(lines: Sequence[Line], findings: Findings, word: str) -> int:
    """Return the line whose cells a person may say the columns of; raise if no line has two."""
    filled = [sum(map(bool, map(str.strip, line.cells))) for line in lines]
    header = filled.index(max(filled))
    message = (
        "has no column Callsheet knows (id, title, tool, script, ...) in its first "
        f"{SEARCHED} {word}s"
    )
    hint = ": is the delimiter right?" if word == "line" else ""
    if filled[header] < 2:
        names = ", ".join(f'"{shorten(cell, 20)}"' for cell in lines[header].cells if cell.strip())
        findings.give_up(f"{message}; this one says {names}{hint}", line=lines[header].number)
    # Each of its headers is a problem, until a person says which column it means.
    findings.note(f"{message}; {word} {lines[header].number} is taken for its header{hint}")
    return header


def _goes_on(header: Line, below: Line) -> bool:
    """Say whether a header goes on in the line below, as names merged over both tell."""
    tall = any(span.first_line <= header.number for span in below.spans.values())
    return tall and known_names(below.cells) >= known_names(header.cells)


def find_header(lines: Sequence[Sequence[str]]) -> HeaderLines:
    """Return which of the first lines may be the header."""
    names = {n: _names(cells) for n, cells in enumerate(lines) if any(map(str.strip, cells))}
    if not names:
        return HeaderLines((), False)
    first = min(names)
    if names[first].certain:
        return HeaderLines((first,), True)
    if certain := [n for n, found in names.items() if found.certain]:
        return HeaderLines(_different(lines, certain), True)
    if names[first].known:
        return HeaderLines((first,), False)
    most = max(found.known for found in names.values())
    # One known name among others is a word that happens to stand in a title.
    likely = [n for n, found in names.items() if found.known == most > min(1, found.unknown)]
    return HeaderLines(_different(lines, likely) if most else (), False)


def read_header(header: Line, findings: Findings, place: Place) -> tuple[Column, ...]:
    """Return the columns that have a header; what is wrong with them is noted."""
    columns: list[Column] = []
    first: dict[str, Column] = {}
    line = header.number
    for position, cell in enumerate(header.cells):
        try:
            text = tidy(cell)
        except ValueError as fault:
            findings.refuse(str(fault), line=line, cell=f"column {position + 1}")
            continue
        if not text:
            continue
        text = findings.names.named(text)
        name = canonical_header(text)
        where = place("column", line, position)
        usable = check_header(text, findings, line=line, where=where)
        column = Column(
            position, text, name, usable and name.casefold() not in first, is_kept_only(name)
        )
        if twin := first.get(name.casefold()):
            findings.refuse(
                f'and "{twin.header}" are the same column ({name}), in columns '
                f"{twin.position + 1} and {position + 1}: keep one",
                line=line,
                cell=where,
                value=text,
            )
        first.setdefault(name.casefold(), column)
        columns.append(column)
    if not columns:
        findings.give_up("has no names in its header: name its columns", line=line)
    if len(columns) > MAX_COLUMNS:
        findings.give_up(f"has {len(columns)} columns; {MAX_COLUMNS} is the limit")
    return tuple(columns)


def known_names(cells: Sequence[str]) -> int:
    """Return how many cells are the names of known columns."""
    return _names(cells).known


def _names(cells: Sequence[str]) -> _Names:
    written = [canonical_header(cell) for cell in cells if cell.strip()]
    # What people call a column tells a header as well as its name does.
    known = sum(is_known(name) or proposed(name) is not None for name in written)
    free = sum(is_kept_only(name) or is_ours(name) for name in written)
    return _Names(known, len(written) - known - free)


def _different(lines: Sequence[Sequence[str]], found: list[int]) -> tuple[int, ...]:
    """Return the lines that do not just repeat one above."""
    first: dict[tuple[str, ...], int] = {}
    for n in found:
        first.setdefault(tuple(map(str.strip, lines[n])), n)
    return tuple(first.values())


# Headers to columns: which names exist, what was meant, and what is refused.


#: The parts of a YAML or JSON sheet.
PARTS = tuple(Document.model_fields)
#: Names the schema of a JSON sheet to an editor.
SCHEMA = "$schema"
KNOWN_COLUMNS = (*OwnColumns.model_fields, *ASKED)
_OURS_TO_SET = ("idempotency_key", "start_generation")
_FREE = ("title", "topic", "script", "narration", "notes", FIELDS)
_FIELD = re.compile(r"fields?[._]+(?P<name>.+)")
#: Also with the language of a translation: `productName.pt-BR`.
_CAMEL = re.compile(r"[a-z0-9]+(?:[A-Z][a-z0-9]*)+(?:\.[A-Za-z]{2,3}(?:[_-]\w{2,4})?)?")


def canonical_header(header: str) -> str:
    """Return a header in canonical form: `  Aspect Ratio ` is `aspect_ratio`.

    A tool's own camelCase (`fields.productName`) is the service's spelling and is kept, and so is
    all that follows `body.`.
    """
    underscored = re.sub(r"[\s\-\u2010-\u2015]+", "_", plain(header))
    head, dot, name = underscored.partition(".")
    if dot and head.casefold() == FIELDS and _CAMEL.fullmatch(name):
        return f"{FIELDS}.{name}"
    if dot and head.casefold() == BODY:
        return f"{BODY}.{name}"
    # People call their own number of a video so: only the column's exact name is the service's id.
    if underscored.casefold() == "video_id" and "_" not in header:
        return "video id"
    return underscored.casefold()


def is_kept_only(column: str) -> bool:
    """Say whether a column is kept for people and never read."""
    return column.startswith("x_")


def is_ours(column: str) -> bool:
    """Say whether a column was written by a status sheet and is left out when read again."""
    return column.startswith("cs_")


def is_known(column: str) -> bool:
    """Say whether a column has a meaning."""
    head, _, name = column.partition(".")
    if head == BODY and name in _OURS_TO_SET:
        return False
    if column in KNOWN_COLUMNS or (head in (FIELDS, BODY) and name != ""):
        return True
    return is_matrix_column(column) or is_translation(column)


#: The columns that are dates, which YAML and JSON sheets may say for all rows.
DATES = ("deliver_after", "deliver_by")


def takes_dates(column: str) -> bool:
    """Say whether a date may be meant in a column: in dates, free text, and inputs of a tool."""
    return column in (*_FREE, *DATES) or "." in column or not is_known(column)


def check_header(header: str, findings: Findings, *, line: int | None, where: str = "") -> bool:
    """Say whether the column may be used; note the problem when it may not."""
    message = explain_column(canonical_header(header), header.strip())
    if message is None:
        return True
    findings.refuse(message, line=line, cell=where or "column", value=header.strip())
    return False


def explain_column(column: str, header: str = "") -> str | None:
    """Return what is wrong with a column, by its canonical name; None for one that may be used."""
    if is_known(column) or is_kept_only(column) or is_ours(column):
        return None
    if column.removeprefix(f"{BODY}.") in _OURS_TO_SET:
        return "is set by Callsheet itself; remove the column"
    return f"is not a column Callsheet knows; {_suggestion(column, header)}"


_IN_LANGUAGE = re.compile(r"(.+?)[ _-]+[(\[]?(?!ID|NO)([A-Z]{2})[)\]]?")


def likely_column(header: str) -> str | None:
    """Return the column that a header may mean: a synonym, or one that is spelled like it."""
    # `Headline (DE)` is the German title.
    if (said := _IN_LANGUAGE.fullmatch(header.strip())) and language_code(said[2]):
        base = proposed(said[1]) or canonical_header(said[1])
        if base in TRANSLATED:
            return f"{base}.{said[2].lower()}"
    if meant := proposed(header):
        return meant
    column = canonical_header(header)
    if field := _FIELD.fullmatch(column):
        return f"fields.{field['name']}"
    close = difflib.get_close_matches(column, (*KNOWN_COLUMNS, *_OURS_TO_SET), n=1, cutoff=0.7)
    return close[0] if close else None


def _suggestion(column: str, header: str) -> str:
    if meant := likely_column(header or column):
        return f"did you mean {meant}?"
    return f"remove it, or call it x_{column} to keep it for yourself"


def explain_part(name: str) -> str:
    """Return what is wrong with a top name of a YAML or JSON sheet that is none of its parts."""
    if is_known(canonical_header(name)):
        return "belongs into a row, or into defaults when all rows share it"
    close = difflib.get_close_matches(name.casefold(), PARTS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(PARTS)}"
    return f"is not a part of a sheet; {hint}"


# The names of columns that make several videos of one row, and of translated columns.


#: Members of the matrix that are not an axis, in a column of their own.
SETTINGS = ("id", "fallback")
#: Columns with a text, or a voice, for each language.
TRANSLATED = tuple(
    name for name in ("title", "topic", "script", "narration", "voice_id") if name in ASKED
)
_AXES = tuple(
    name
    for name in (*OwnColumns.model_fields, *ASKED)
    if name not in (*SETTINGS, "uses", "video_id", "was")
)
MATRIX_PATTERN = rf"^matrix\.(?:{'|'.join((*SETTINGS, *_AXES))}|fields\..+)$"
TRANSLATION_PATTERN = rf"^(?:{'|'.join(TRANSLATED)})\.[a-zA-Z]{{2,3}}(?:[-_][a-zA-Z0-9]{{2,4}})?$"
_MATRIX, _TRANSLATION = re.compile(MATRIX_PATTERN), re.compile(TRANSLATION_PATTERN)


def is_axis(column: str) -> bool:
    """Say whether a column can have several values in a matrix."""
    return column in _AXES or (column.startswith("fields.") and column != "fields.")


def is_matrix_column(column: str) -> bool:
    """Say whether a column is an axis or a setting of the matrix."""
    return bool(_MATRIX.fullmatch(column))


def is_translation(column: str) -> bool:
    """Say whether a column is the text of another one in some language."""
    return bool(_TRANSLATION.fullmatch(column))


def split_translation(column: str, spoken: frozenset[str]) -> tuple[str, str] | None:
    """Return the column and the language of a translated column; None for any other.

    An input of a tool may have a dot of its own: it is translated when the sheet speaks the
    language after the dot.
    """
    base, _, said = column.rpartition(".")
    code = language_code(said.replace("_", "-"))
    if code is None:
        return None
    if is_translation(column) or (base.startswith("fields.") and code.casefold() in spoken):
        return base, code.casefold()
    return None
