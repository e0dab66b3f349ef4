"""Fills `{placeholders}`: in a row's texts from `x_` columns, in names of its files from any.

A name is replaced once by the text of its column. Nothing is evaluated or formatted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from callsheet.tasks.runtime.errors import did_you_mean
from callsheet.tasks.sheet.columns import FIELDS
from callsheet.tasks.sheet.headers import KNOWN_COLUMNS, canonical_header, is_kept_only, is_known
from callsheet.tasks.sheet.table import Cell, Findings, Row, Table
from callsheet.tasks.sheet.text import as_text
from callsheet.tasks.sheet.trees import parse_json
from callsheet.tasks.values.briefs import VARIANT_OF, Brief, Json
from callsheet.tasks.values.names import (
    FILE,
    LATER,
    fold,
    name_fault,
    name_part,
    object_name,
    parts_of,
    split_copy,
)

_WORDS = frozenset(("title", "topic", "script", "narration", "notes", "cost_center", FIELDS))
#: Columns in which text that begins with a brace is an object.
_OBJECTS = frozenset(("script", "narration", FIELDS))
#: A doubled brace, a placeholder, or one that is not closed. What has quotes is JSON.
_MARK = re.compile(r'\{\{|\}\}|\{([^{}"]*)\}|(\{\s*x_\w*)')


def has_placeholder(cell: Cell) -> bool:
    """Say whether a cell may have a placeholder: a brace in a column of texts."""
    column = cell.column
    return (column in _WORDS or column.startswith(f"{FIELDS}.")) and _has_brace(cell.value)


def filled(
    row: Row, merged: Mapping[str, Cell], table: Table, findings: Findings
) -> Mapping[str, Cell]:
    """Return the cells of a row with its texts filled; note each mistake with its cell."""
    # Most texts have no brace: that is seen without another look at their cells.
    other = (one for one in merged.values() if type(one.value) is not str or "{" in one.value)
    marked = [cell for cell in other if not cell.faulty and has_placeholder(cell)]
    if not marked:
        return merged
    kept = filter(is_kept_only, table.columns)
    own = {name: row.cells[name].text if name in row.cells else "" for name in kept}
    name = merged.get("id")
    changed: dict[str, Cell] = {}
    for cell in marked:
        filling = _Filling(own)
        value = filling.value(cell.column, cell.value)
        for fault, is_rows_own in filling.faults.items():
            shared = table.defaults.get(cell.column) is cell and not is_rows_own
            findings.refuse(
                fault, **cell.place(row=as_text(name.value) if name and not shared else None)
            )
        if filling.faults or value != cell.value:
            changed[cell.column] = cell._replace(value=value, faulty=bool(filling.faults))
    return {**merged, **changed} if changed else merged


class _Filling:
    """Fills one cell; a fault says whether it is about the row alone."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self.own = own
        self.faults: dict[str, bool] = {}

    def value(self, column: str, value: Json) -> Json:
        """Return a cell's value filled; an object in JSON is filled text by text."""
        if not isinstance(value, str) or not value.lstrip().startswith("{"):
            return self.tree(value)
        try:
            document = parse_json(value)
        except ValueError:
            # A broken object is refused by anyone who reads the column.
            broken = column in _OBJECTS and re.match(r"\s*\{\s*[\"'“]", value)
            return value if broken else self.text(value)
        found = self.tree(document)
        if found == document:
            return value
        return found if column in _OBJECTS else json.dumps(found, ensure_ascii=False)

    def tree(self, value: Json) -> Json:
        """Return a value with each text in it filled, names of members excepted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.tree(one) for name, one in value.items()}
        return [self.tree(one) for one in value] if isinstance(value, list) else value

    def text(self, text: str) -> str:
        """Return a text filled: names first, doubled braces as one."""
        return _MARK.sub(self._mark, text) if "{" in text else text

    def _mark(self, found: re.Match[str]) -> str:
        mark: str = found[0]
        if mark in ("{{", "}}"):
            return mark[0]
        if found[2]:
            self.faults[f"has {mark} without its closing brace; write {{{{ for a brace"] = False
            return mark
        name = canonical_header(found[1].strip())
        column = name if name in self.own else f"x_{name}"
        if column not in self.own:
            column = name if is_kept_only(name) else column
            meant = did_you_mean(column, self.own, cutoff=0.75) or "; write {{ for a brace"
            self.faults[f"has {mark}, and no column is called {column}{meant}"] = False
        elif not self.own[column].strip():
            self.faults[f"has {mark}, and {column} is empty in this row"] = True
        return self.own.get(column, mark)


def _has_brace(value: Json) -> bool:
    """Say whether any text of a value has a brace."""
    if isinstance(value, str):
        return "{" in value
    if isinstance(value, Mapping):
        return any(map(_has_brace, value.values()))
    return isinstance(value, list) and any(map(_has_brace, value))


# What the files of each row are called, by the template of the sheet or of the profile.


#: In a template: the id of the row that a matrix made a row from, or the row's own.
BASE = "base"
#: Members of a brief that are Callsheet's own, by column.
_OWN = ("operation", "captions", "enabled", "priority", "max_credits", "tags", "cost_center",
        "notes")  # fmt: skip


class Naming:
    """Names the files of one row of a sheet after the other; a wrong template names none.

    `columns` are those of the sheet, `cells` say where the value of a row is.
    """

    def __init__(
        self,
        findings: Findings,
        *,
        campaign: str,
        columns: Collection[str],
        cells: Mapping[str, Mapping[str, Cell]],
    ) -> None:
        self.findings = findings
        self.campaign = campaign
        self.columns = columns
        self.cells = cells
        self.first: dict[str, Brief] = {}
        #: The template in hand, where its files go, and the words that are filled in later.
        self.template = Cell("names", "", None, "names")
        self.place = ""
        self.later: tuple[str, ...] = LATER
        self.parts: list[tuple[str, str | None, str]] = []
        self.empty: dict[str, list[Brief]] = {}

    def named(self, briefs: Sequence[Brief], template: Cell) -> tuple[Brief, ...]:
        """Return the briefs with the names of their files; note illegal names, and one given twice.

        A template without a folder is for the campaign's folder.
        """
        self.template, self.later, text = template, LATER, as_text(template.value)
        self._take(text if "/" in text else f"{{campaign}}/{text}", text)
        return tuple(replace(brief, name=name) for brief, name in self._names(briefs))

    def copied(self, briefs: Sequence[Brief], addresses: Cell, *, local: bool) -> tuple[Brief, ...]:
        """Return the briefs with the places of their copies; note the addresses that cannot be.

        Only what comes from this machine (`local`) may name a folder of it.
        """
        self.template, value = addresses, addresses.value
        for text in map(as_text, [value] if isinstance(value, str) else value):
            self._take_copy(text, local=local)
            if self.parts:
                said = "is where finished files are copied to"
                self.findings.note(said, line=addresses.line, cell=addresses.where, value=text)
                briefs = [
                    brief
                    if name is None
                    else replace(brief, copies=(*brief.copies, (self.place, name)))
                    for brief, name in self._names(briefs)
                ]
        return tuple(briefs)

    def _take(self, template: str, said: str) -> None:
        """Take up a template; what is wrong with it is noted as it was `said`."""
        self.parts, self.empty = [], {}
        try:
            parts = [
                (text, _column(word, self.columns, self.later), digits)
                for text, word, digits in parts_of(template)
            ]
        except ValueError as wrong:
            self._refuse(str(wrong), said)
            return
        if fault := name_fault("".join(text + ("x" if word else "") for text, word, _ in parts)):
            self._refuse(fault, said)
        else:
            self.parts = parts

    def _take_copy(self, said: str, *, local: bool) -> None:
        """Take up the address of a copy; what is wrong with it is noted."""
        self.parts, self.later = [], (*LATER, FILE)
        try:
            self.place, name = split_copy(said)
            if self.place.startswith("file:") and not local:
                raise ValueError("is a folder, which only a profile or a local sheet can name")
        except ValueError as wrong:
            self._refuse(str(wrong), said)
        else:
            self._take(name, said)

    def _names(self, briefs: Sequence[Brief]) -> list[tuple[Brief, str | None]]:
        """Return each brief with its name; None where it needs none, or has none."""
        # A row without a request has problems of its own; one that is off makes no files.
        wanted = [bool(self.parts and brief.request and brief.enabled) for brief in briefs]
        found = [
            (brief, self._name(brief) if needs else None)
            for brief, needs in zip(briefs, wanted, strict=True)
        ]
        self._refuse_empty(sum(wanted))
        return found

    def _name(self, brief: Brief) -> str | None:
        name, shown = "", "id"
        for text, column, digits in self.parts:
            name += text
            if column in self.later:
                name += f"{{{column}:{digits}}}" if digits else f"{{{column}}}"
            elif column is not None:
                value = as_text(_value_of(brief, column))
                shown = column if shown == "id" and column != VARIANT_OF else shown
                if not value.strip():
                    self.empty.setdefault(column, []).append(brief)
                    return None
                try:
                    name += name_part(value)
                except ValueError as wrong:
                    self._refuse_row(brief, column, str(wrong), value)
                    return None
        self._check(brief, name, shown)
        return name

    def _check(self, brief: Brief, name: str, column: str) -> None:
        first = partial(object_name, campaign=self.campaign, row=brief.row, take=1, kind="mp4")
        whole = first(name, file=PurePath(first(brief.name)).stem)
        stem = whole.removesuffix(".mp4")
        if fault := name_fault(stem):
            self._refuse_row(brief, column, fault, stem)
        elif (twin := self.first.setdefault(fold(f"{self.place}/{whole}"), brief)).row != brief.row:
            said = f'row "{twin.row}" (line {twin.line})'
            words = f"is also what the video of {said} is called: add {{id}} to"
            self._refuse_row(brief, column, f"{words} {self.template.where}", stem)

    def _refuse_empty(self, wanted: int) -> None:
        """Note the columns that rows need for their name and have nothing in."""
        for column, briefs in self.empty.items():
            if len(briefs) == wanted:
                said = as_text(self.template.value)
                self._refuse(f"has {{{column}}}, and no row has a value for it", said)
                continue
            for brief in briefs:
                fault = f"is empty, and {self.template.where} needs it"
                self._refuse_row(brief, column, fault, None)

    def _refuse(self, fault: str, said: str) -> None:
        cell = self.template
        self.findings.refuse(fault, line=cell.line, cell=cell.where, value=said)

    def _refuse_row(self, brief: Brief, column: str, fault: str, value: str | None) -> None:
        cell = self.cells.get(brief.row, {}).get(column) or Cell(column, "", brief.line, column)
        self.findings.refuse(fault, **cell.place(row=brief.row, value=value))


def _column(word: str | None, columns: Collection[str], later: Sequence[str]) -> str | None:
    """Return the column that a word of a template names; ValueError where there is none."""
    name = word if word is None else canonical_header(word.strip())
    if name is None or name in later:
        return name
    if name in ("row", "id"):
        return "id"
    if name in ("uses", "script"):
        raise ValueError(f"has {{{word}}}, which cannot name a file")
    for column in (name, f"x_{name}"):
        if column in columns or is_known(column):
            return column
    if name == BASE:
        return VARIANT_OF
    known = [*later, "row", BASE, *KNOWN_COLUMNS, *columns]
    known += [column.removeprefix("x_") for column in columns]
    raise ValueError(f"has {{{word}}}, and no column is called so{did_you_mean(name, known)}")


def _value_of(brief: Brief, column: str) -> Json:
    """Return what a row says in a column; an empty text where it says nothing, or no one text."""
    if column == "id":
        return brief.row
    if column == VARIANT_OF:
        return brief.variant_of or brief.row
    if is_kept_only(column):
        return next(
            (text for header, text in brief.cells if canonical_header(header) == column), ""
        )
    if column in _OWN:
        value = getattr(brief, column)
        return "-".join(value) if isinstance(value, tuple) else "" if value is None else value
    head, _, name = column.partition(".")
    value = brief.request.get(name or head) if head != FIELDS else _inputs(brief).get(name)
    return value if isinstance(value, str | int | float) else ""


def _inputs(brief: Brief) -> Mapping[str, Json]:
    found: Mapping[str, Json] = brief.request.get(FIELDS) or {}
    return found
