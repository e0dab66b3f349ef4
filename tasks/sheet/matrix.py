"""Makes the rows that a matrix and translated columns mean, before anything else sees them.

Owns the combinations, their ids and the choice of texts. Knows nothing of formats or of briefs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import get_args

from callsheet.tasks.runtime.errors import Problem
from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.headers import (
    SETTINGS,
    canonical_header,
    is_axis,
    is_matrix_column,
    split_translation,
)
from callsheet.tasks.sheet.table import Cell, Findings, MeansMany, Row, Table
from callsheet.tasks.sheet.text import MAX_ROWS, as_text, is_blank, language_name, slugify
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import VARIANT_OF, Json
from callsheet.tasks.values.requests import AspectRatio

#: A matrix makes more videos than this only with `--yes-many`.
MAX_VIDEOS = 10_000
_ASKED = "add --yes-many if you want them"
_MEMBERS = ("axes", "exclude", "include", *SETTINGS)
#: An input of a tool that may be a translation: the languages of the sheet decide.
_INPUT = re.compile(r"fields\..+\.[A-Za-z]{2,3}(?:[-_]\w{2,4})?")
_SLOT = re.compile(r"\{([^{}]*)\}")
#: One value on each axis, by column.
Choice = dict[str, Cell]


def expanded(
    table: Table, findings: Findings, *, many: bool = False, few: int | None = None
) -> Table:
    """Return the table with a row for each video; a table without a matrix is returned as it is.

    Raises MeansMany before more than `few` videos are made.
    """
    names = [*table.columns, *table.defaults]
    speaks = "language" in names
    if "matrix" not in table.parts and not any(
        is_matrix_column(name)
        or split_translation(name, frozenset())
        or (speaks and _INPUT.fullmatch(name))
        for name in names
    ):
        return table
    return _Expansion(table, findings, MAX_ROWS if many else MAX_VIDEOS, few).table()


def asks_for_many(problem: Problem) -> bool:
    """Whether a problem is that the matrix means more videos than are made without a word."""
    return problem.message.endswith(_ASKED)


class _Expansion:
    def __init__(self, table: Table, findings: Findings, limit: int, few: int | None) -> None:
        self.given = table
        self.limit = limit
        self.few = few
        self.findings = findings
        #: What all rows have: the defaults, with the axes and settings of the `matrix`.
        self.shared = dict(table.defaults)
        #: Combinations that are left out and added, which of the first were used, and how often.
        self.exclude: list[Choice] = []
        self.include: list[Choice] = []
        self.used: set[int] = set()
        self.excluded = self.included = 0
        self.spoken: frozenset[str] = frozenset()
        #: Where the sheet has its `matrix`.
        self.line = table.parts["matrix"].line if "matrix" in table.parts else None

    def table(self) -> Table:
        """Return the rows of all combinations; mistakes are noted with their cells."""
        self._read_matrix()
        rows = list(self.given.rows)
        axes = [self._axes(row) for row in rows]
        videos = sum(prod(map(len, own.values())) + len(self.include) for own in axes)
        if videos > self.limit:
            remedy = "split the sheet" if videos > MAX_ROWS else _ASKED
            self.findings.give_up(
                f"means {videos:,} videos, more than {self.limit:,}: {remedy}",
                line=self.line,
                cell="matrix",
            )
        if self.few is not None and videos > self.few:
            raise MeansMany
        self.spoken = self._languages(rows, axes)
        made = [one for row, own in zip(rows, axes, strict=True) for one in self._rows(row, own)]
        self._report(axes, len(made))
        defaults = {name: c for name, c in self.given.defaults.items() if not self._is_gone(name)}
        columns = self._columns(axes)
        return replace(self.given, columns=columns, rows=tuple(made), defaults=defaults)

    def _read_matrix(self) -> None:
        if "matrix" not in self.given.parts:
            return
        matrix = self.given.parts["matrix"].value
        if not isinstance(matrix, Mapping):
            self._refuse("is not an object with axes", "matrix")
            return
        for name in matrix:
            if name not in _MEMBERS:
                axis = "an axis: write it under matrix.axes" if is_axis(name) else ""
                known = f"not a part of a matrix; there is {', '.join(_MEMBERS)}"
                self._refuse(f"is {axis or known}", "matrix", name)
        axes = matrix.get("axes")
        names: list[str] = []
        if isinstance(axes, Mapping):
            for header, value in axes.items():
                column, place = canonical_header(header), f"matrix.axes.{header}"
                if is_axis(column):
                    names.append(column)
                    self._share(column, value, place)
                else:
                    self._refuse("is not a column that can be an axis", place, header)
        elif not is_blank(axes):
            self._refuse("are not an object of columns", "matrix.axes")
        self.exclude = self._choices(matrix, "exclude", names, whole=False)
        self.include = self._choices(matrix, "include", names, whole=True)
        for name in SETTINGS:
            if not is_blank(matrix.get(name)):
                self._share(name, matrix[name], f"matrix.{name}")

    def _share(self, name: str, value: Json, place: str) -> None:
        """Have all rows a cell of the matrix, but for those that have one of their own."""
        self.shared.setdefault(f"matrix.{name}", Cell(name, value, self.line, place))

    def _choices(
        self, matrix: Mapping[str, Json], part: str, axes: list[str], *, whole: bool
    ) -> list[Choice]:
        listed = matrix.get(part)
        if is_blank(listed):
            return []
        if not isinstance(listed, list):
            self._refuse("is not a list of combinations", f"matrix.{part}")
            return []
        found: list[Choice] = []
        for number, one in enumerate(listed):
            place = f"matrix.{part}[{number}]"
            said = {canonical_header(k): v for k, v in one.items()} if isinstance(one, dict) else {}
            unknown = [name for name in said if name not in axes]
            missing = [name for name in axes if name not in said] if whole else []
            if not said or unknown or missing:
                wrong = f"no {missing[0]}" if missing else f"{', '.join(unknown) or 'nothing'}"
                names = ", ".join(axes) or "none"
                self._refuse(f"has {wrong}, and the axes are {names}", place)
                continue
            cells_of = {n: Cell(n, v, self.line, place) for n, v in said.items()}
            found.append({n: v for n, c in cells_of.items() for v in self._values(n, c)[:1]})
        return found

    def _values(self, column: str, cell: Cell) -> list[Cell]:
        """Return the different values of an axis, each in its usual spelling."""
        value = cell.value
        parts = value if isinstance(value, list) else str(as_text(value)).split("|")
        found: dict[str, Cell] = {}
        wanted = [one for one in parts if isinstance(one, Mapping | list) or as_text(one).strip()]
        # Of several values the message names one: a correction replaces the whole cell.
        whole = "|".join(map(as_text, wanted))
        for part in wanted:
            if isinstance(part, Mapping | list):
                self._refuse_at(cell, "has a list or an object where one value belongs")
                continue
            text = as_text(part).strip()
            named = f'"{text}" ' if len(wanted) > 1 else ""
            try:
                text = _usual(column, text)
            except ValueError as fault:
                self._refuse_at(cell, f"{named}{fault}", whole)
                continue
            if text in found:
                self._refuse_at(cell, f"{named}is in this axis twice: keep one", whole)
            found[text] = Cell(column, text, cell.line, cell.where)
        if not wanted:
            self._refuse_at(cell, "has no values: write them with | between")
        return [*found.values()]

    def _axes(self, row: Row) -> dict[str, list[Cell]]:
        """Return the axes of a row by name, language first: the order of columns changes no id."""
        axes: dict[str, list[Cell]] = {}
        for name, cell in {**self.shared, **row.cells}.items():
            column = name.removeprefix("matrix.")
            if column != name and column not in SETTINGS:
                axes[column] = self._values(column, cell)
        for column in axes:
            if column in row.cells:
                self._refuse_at(row.cells[column], f"is also an axis (matrix.{column}): keep one")
        return dict(sorted(axes.items(), key=lambda one: (one[0] != "language", one[0])))

    def _languages(self, rows: list[Row], axes: list[dict[str, list[Cell]]]) -> frozenset[str]:
        said = [cell for own in axes for cell in own.get("language", ())]
        said += [row.cells["language"] for row in rows if "language" in row.cells]
        said += [choice["language"] for choice in self.include if "language" in choice]
        said += [self.given.defaults["language"]] if "language" in self.given.defaults else []
        codes = {code for cell in said if (code := _code(cell))}
        # An input that is translated into one language of the sheet may have others too.
        parts = [
            name.rpartition(".") for row in rows for name in row.cells if _INPUT.fullmatch(name)
        ]
        parts += [n.rpartition(".") for n in self.given.defaults if _INPUT.fullmatch(n)]
        inputs = {(base, said.replace("_", "-").casefold()) for base, _, said in parts}
        bases = {base for base, said in inputs if said in codes}
        return frozenset(codes | {said for base, said in inputs if base in bases})

    def _rows(self, row: Row, axes: Mapping[str, list[Cell]]) -> Iterator[Row]:
        said = {**self.shared, **row.cells}
        settings = {name: cell for name in SETTINGS if (cell := said.get(f"matrix.{name}"))}
        choices = [dict(zip(axes, one, strict=True)) for one in product(*axes.values())]
        kept = [one for one in choices if not self._is_excluded(one)]
        made = {tuple(c.value for c in one.values()) for one in kept}
        for added in self.include:
            ordered = {name: added[name] for name in axes if name in added}
            if len(ordered) == len(axes) and tuple(c.value for c in ordered.values()) not in made:
                kept.append(ordered)
                self.included += 1
        for choice in kept:
            yield self._variant(row, choice, settings)

    def _is_excluded(self, choice: Choice) -> bool:
        for number, one in enumerate(self.exclude):
            if all(n in choice and choice[n].value == c.value for n, c in one.items()):
                self.used.add(number)
                self.excluded += 1
                return True
        return False

    def _variant(self, row: Row, choice: Choice, settings: Mapping[str, Cell]) -> Row:
        own = {name: c for name, c in row.cells.items() if not self._is_gone(name)} | choice
        if choice and (name := row.cells.get("id")):
            own["id"] = name._replace(value=self._id(name, choice, settings.get("id")))
            own[VARIANT_OF] = Cell(VARIANT_OF, as_text(name.value), row.line, VARIANT_OF)
        if choice and (before := row.cells.get("was")):
            own["was"] = before._replace(value=self._id(before, choice, settings.get("id")))
        own |= self._translated(row, own, settings.get("fallback"))
        return row._replace(cells=own)

    def _id(self, name: Cell, choice: Choice, template: Cell | None) -> str:
        parts = {"id": as_text(name.value)}
        parts |= {column: _slug(as_text(cell.value)) for column, cell in choice.items()}
        if template is None:
            return "-".join(parts.values())
        said = as_text(template.value)
        for slot in _SLOT.findall(said):
            if slot not in parts:
                known = ", ".join(f"{{{one}}}" for one in parts)
                self._refuse_at(template, f"has {{{slot}}}; there is {known}", said)
        return _SLOT.sub(lambda found: parts.get(found[1], ""), said)

    def _translated(self, row: Row, own: Mapping[str, Cell], fallback: Cell | None) -> Choice:
        """Return the cells of the row's language; refuse a translation that is missing."""
        there: dict[str, dict[str, Cell]] = {}
        for name, cell in {**self.given.defaults, **row.cells}.items():
            if found := split_translation(name, self.spoken):
                there.setdefault(found[0], {})[found[1]] = cell
        chosen: Choice = {}
        spoken = own.get("language") or self.given.defaults.get("language")
        code = _code(spoken) if spoken else None
        for base in self._translated_into(code):
            # An empty translation never passes for the text of another language.
            if base in own or base in self.given.defaults:
                there.setdefault(base, {})
        instead = _code(fallback) if fallback else None
        if fallback and instead is None:
            self._refuse_at(fallback, "is not a language Callsheet knows", as_text(fallback.value))
        for base, texts in there.items():
            text = texts.get(code or "")
            if text is None and instead is not None:
                text = texts.get(instead) or row.cells.get(base) or self.given.defaults.get(base)
            if text is not None:
                chosen[base] = text._replace(column=base)
                continue
            lacks = f"{base}.{code}" if code else "language"
            empty = self._empty_cell(row, base, code)
            self.findings.refuse(
                f"is empty: the {language_name(code)} {base} is missing; write it, or name a "
                "language in matrix.fallback"
                if code
                else "has translated columns and no language",
                line=row.line,
                cell=empty[1] if empty else lacks,
                row=row.name,
                column=empty[0] if empty else base,
            )
            if code:
                # Noted already: the row is not told that it lacks a script, too.
                chosen[base] = Cell(base, "", row.line, lacks, faulty=True)
        return chosen

    def _empty_cell(self, row: Row, base: str, code: str | None) -> tuple[str, str] | None:
        """Return the column and the cell that lacks a text, where the sheet has a place for it."""
        written = (
            name
            for name in self.given.columns
            if split_translation(name, self.spoken) == (base, code)
        )
        return self.given.lacking(written if code else ["language"], row.line)

    def _translated_into(self, code: str | None) -> list[str]:
        """Return the columns that the sheet has a translated column for in this language."""
        found = (split_translation(name, self.spoken) for name in self.given.columns)
        return [one[0] for one in found if one is not None and one[1] == code]

    def _is_gone(self, name: str) -> bool:
        return is_matrix_column(name) or split_translation(name, self.spoken) is not None

    def _columns(self, axes: list[dict[str, list[Cell]]]) -> dict[str, str]:
        """Return the headers of the expanded table by column."""
        columns: dict[str, str] = {}
        for name, header in self.given.columns.items():
            if is_matrix_column(name):
                axis = name.removeprefix("matrix.")
                if axis not in SETTINGS:
                    columns.setdefault(axis, axis)
            elif found := split_translation(name, self.spoken):
                columns.setdefault(found[0], found[0])
            else:
                columns.setdefault(name, header)
        columns |= {n: n for own in axes for n in own if n not in columns}
        return columns | ({VARIANT_OF: VARIANT_OF} if any(axes) else {})

    def _report(self, axes: list[dict[str, list[Cell]]], made: int) -> None:
        for number, one in enumerate(self.exclude):
            if number not in self.used:
                said = ", ".join(f"{name} {cell.value}" for name, cell in one.items())
                self.findings.advise(
                    f"matches no video ({said}): remove it",
                    line=self.line,
                    cell=f"matrix.exclude[{number}]",
                )
        sizes = Counter(tuple((n, len(values)) for n, values in own.items()) for own in axes)
        if not any(sizes):
            return
        rows = count(len(axes), "row")
        if len(sizes) == 1:
            rows += "".join(f" x {size} {_plural(name, size)}" for name, size in next(iter(sizes)))
        excluded, included = self.excluded, self.included
        left = f", {excluded:,} excluded" if excluded else ""
        more = f", {included:,} included" if included else ""
        total = made + excluded - included
        self.findings.note(f"means {rows} = {count(total, 'video')}{left}{more}")

    def _refuse(self, message: str, place: str, value: str | None = None) -> None:
        self.findings.refuse(message, line=self.line, cell=place, value=value)

    def _refuse_at(self, cell: Cell, message: str, value: str | None = None) -> None:
        self.findings.refuse(message, line=cell.line, cell=cell.where, value=value)


def _usual(column: str, text: str) -> str:
    """Return one spelling of a value, so that two ways to write it have one id."""
    if column == "language":
        return cells.language(text)
    if column == "aspect_ratio":
        return cells.ratio_of(_RATIOS)(text)
    return text


def _code(cell: Cell) -> str | None:
    try:
        return cells.language(cell.value).casefold()
    except ValueError:
        return None


def _slug(text: str) -> str:
    return slugify(text.replace(":", "x"))


def _plural(column: str, number: int) -> str:
    noun = column.removesuffix("_id").removesuffix("_seconds").removeprefix("aspect_")
    return noun if number == 1 or noun.endswith("s") else f"{noun}s"


_RATIOS: tuple[str, ...] = get_args(AspectRatio)
