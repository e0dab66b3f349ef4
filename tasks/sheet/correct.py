"""Corrects single cells of a sheet and leaves every other byte of it, as the same kind of file.

In delimited text, what a spreadsheet would run as a formula gets a quote mark in front. A workbook
keeps its styles, charts and formulas: only the cell's own element is replaced.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any
from xml.sax.saxutils import escape

from callsheet.tasks.runtime.errors import BadInput, Problem
from callsheet.tasks.runtime.spreadsheets import guarded, is_formula
from callsheet.tasks.sheet.formats import SUFFIXES, encoding_of
from callsheet.tasks.sheet.grid import delimited_records
from callsheet.tasks.sheet.header_lines import SEARCHED, Column, pick_header, read_header
from callsheet.tasks.sheet.synonyms import Names
from callsheet.tasks.sheet.table import Findings, Line, is_blank

#: A cell as a problem of a workbook names it: `aspect_ratio ('My sheet'!D14)`.
_PLACE = re.compile(r"\((?:'(?P<quoted>.+)'|(?P<plain>\w+))!(?P<ref>[A-Z]{1,3}[0-9]+)\)$")
#: What a header's cell is called where its column is not known.
_HEADER = "column"
#: Characters of a cell at most, as in Excel.
LONGEST = 32_767
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def is_correctable(problem: Problem) -> bool:
    """Whether a problem is about one cell whose text can be replaced."""
    kind = SUFFIXES.get(PurePath(problem.file).suffix.lower())
    if kind == "workbook":
        return problem.cell is not None and _PLACE.search(problem.cell) is not None
    header = problem.cell == _HEADER and problem.value is not None
    return kind == "delimited" and problem.line is not None and bool(problem.column or header)


def correct(
    content: bytes,
    corrections: Sequence[tuple[Problem, str]],
    mapped: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return a sheet with new texts in the cells of problems; raise BadInput if one cannot be.

    `mapped` is header -> column, as a person confirmed it.
    """
    for _, text in corrections:
        if len(text) > LONGEST or _ILLEGAL.search(text):
            raise BadInput(
                f"a cell can have {LONGEST:,} characters, and no control characters",
                remedy="shorten the text, or correct the file and upload it again",
            )
    if content.startswith(b"PK"):
        return _correct_workbook(content, corrections)
    encoding = encoding_of(content)
    text = _correct_text(content.decode(encoding), corrections, Names(mapped))
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        raise BadInput(
            "the sheet is not saved as UTF-8, and has no place for this character",
            remedy="save it as CSV UTF-8 and upload it again",
        ) from None


# Delimited text: the lines of a record are written again, all others stay as they are.


def _correct_text(text: str, corrections: Sequence[tuple[Problem, str]], names: Names) -> str:
    try:
        before, delimiter, records = delimited_records(text, names)
    except csv.Error:
        raise _elsewhere(corrections[0][0]) from None
    numbers = {line.number: at for at, (line, _) in enumerate(records)}
    columns = _columns([line for line, _ in records if not is_blank(line)][:SEARCHED], names)
    changed: dict[int, list[str]] = {}
    for problem, new in corrections:
        at = numbers.get(problem.line or 0)
        if at is None:
            raise _elsewhere(problem)
        cells = changed.setdefault(at, list(records[at][0].cells))
        position = _position(problem, columns, cells)
        if position is None:
            raise _elsewhere(problem)
        cells += [""] * (position + 1 - len(cells))
        cells[position] = new.replace("\r\n", "\n")
    for at, (line, _) in enumerate(records):
        # Whoever downloads the copy opens it in a spreadsheet; it is read without the mark.
        if any(map(is_formula, changed.get(at, line.cells))):
            cells = changed.get(at, list(line.cells))
            changed[at] = [guarded(one) if is_formula(one) else one for one in cells]
    sources = [source for _, source in records]
    for at, cells in changed.items():
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator="").writerow(cells)
        sources[at] = out.getvalue() + ("\n" if sources[at].endswith("\n") else "")
    whole = before + "".join(sources)
    return whole.replace("\n", "\r\n") if "\r\n" in text else whole


def _columns(lines: Sequence[Line], names: Names) -> Sequence[Column]:
    findings = Findings("", names)
    named = [line._replace(cells=names.of_line(line.cells)) for line in lines]
    header = lines[pick_header(named, findings, "line")]
    return read_header(header, findings, lambda name, _line, _position: name)


def _position(problem: Problem, columns: Sequence[Column], cells: Sequence[str]) -> int | None:
    if problem.column is None:
        named = [cell.strip() for cell in cells]
        return named.index(problem.value) if problem.value in named else None
    fits = (one for one in columns if problem.column in (one.name, one.header))
    return next((one.position for one in fits), None)


def _elsewhere(problem: Problem) -> BadInput:
    return BadInput(
        f"line {problem.line} cannot be corrected here",
        remedy="correct the file and upload it again",
    )


# Workbooks: the element of one cell is replaced in the XML of its worksheet.


def _correct_workbook(content: bytes, corrections: Sequence[tuple[Problem, str]]) -> bytes:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(content), read_only=True)
    parts: dict[str, str] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for problem, new in corrections:
            place = _PLACE.search(problem.cell or "")
            title = place and (place["quoted"] or place["plain"])
            if place is None or title not in book.sheetnames:
                raise _elsewhere(problem)
            sheet: Any = book[title]
            part = sheet._worksheet_path
            if part not in parts:
                parts[part] = archive.read(part).decode("utf-8-sig")
            parts[part] = _with_cell(parts[part], place["ref"], new, problem)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
            for info in archive.infolist():
                new_part = parts.get(info.filename)
                target.writestr(info, archive.read(info) if new_part is None else new_part)
    return out.getvalue()


def _with_cell(xml: str, ref: str, text: str, problem: Problem) -> str:
    found = _element("c", ref).search(xml)
    if found is None:
        return _with_new_cell(xml, ref, text, problem)
    if re.search(r"<(?:\w+:)?f\b", found["inner"] or ""):
        raise BadInput(
            f"{ref} holds a formula and cannot be corrected here",
            remedy="correct it in your spreadsheet and upload the workbook again",
        )
    style = re.search(r'\ss="\d+"', found["attributes"])
    new = _cell(found["prefix"], ref, text, style.group() if style else "")
    return xml[: found.start()] + new + xml[found.end() :]


def _with_new_cell(xml: str, ref: str, text: str, problem: Problem) -> str:
    letters, number = re.fullmatch(r"([A-Z]+)([0-9]+)", ref).groups()  # type: ignore[union-attr]
    row = _element("row", number).search(xml)
    if row is None or row["inner"] is None:
        raise _elsewhere(problem)
    at = row.end("inner")
    for cell in re.finditer(rf'<(?:\w+:)?c\b[^>]*?\sr="([A-Z]+){number}"', row["inner"]):
        if (len(cell[1]), cell[1]) > (len(letters), letters):
            at = row.start("inner") + cell.start()
            break
    return xml[:at] + _cell(row["prefix"], ref, text, "") + xml[at:]


def _element(name: str, r: str) -> re.Pattern[str]:
    return re.compile(
        rf'<(?P<prefix>(?:\w+:)?){name}\b(?=[^>]*\sr="{r}")(?P<attributes>[^>]*?)'
        rf"(?:/>|>(?P<inner>.*?)</(?P=prefix){name}>)",
        re.DOTALL,
    )


def _cell(prefix: str, ref: str, text: str, style: str) -> str:
    if not text:
        return f'<{prefix}c r="{ref}"{style}/>'
    words = f'<{prefix}t xml:space="preserve">{escape(text)}</{prefix}t>'
    return f'<{prefix}c r="{ref}"{style} t="inlineStr"><{prefix}is>{words}</{prefix}is></{prefix}c>'
