"""Ways to read a sheet in a test: `read` wants a good one, `refuse` wants its problems."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import Sheet, SheetOptions, parse_sheet


def _parse(
    content: str | bytes, name: str = "campaign.csv", *, folder: Path | None = None, **options: Any
) -> Sheet:
    raw = content.encode() if isinstance(content, str) else content
    return parse_sheet(raw, name=name, folder=folder, options=SheetOptions(**options))


@pytest.fixture
def read() -> Callable[..., Sheet]:
    """Return the sheet in a text or bytes."""

    return _parse


@pytest.fixture
def refuse() -> Callable[..., list[str]]:
    """Return the problems of a text or bytes that must have some, as people see them."""

    def refuse(*words: Any, **options: Any) -> list[str]:
        with pytest.raises(SheetError) as caught:
            _parse(*words, **options)
        return [str(problem) for problem in caught.value.problems]

    return refuse


@pytest.fixture(params=["csv", "xlsx"])
def table(
    request: pytest.FixtureRequest, workbook: Callable[..., bytes]
) -> Callable[..., tuple[str | bytes, str, str]]:
    """Return (content, name, what a line is called) of rows, as a CSV and as a workbook."""

    def table(rows: Iterable[Iterable[Any]]) -> tuple[str | bytes, str, str]:
        if request.param == "xlsx":
            return workbook(rows), "c.xlsx", "row"
        out = io.StringIO()
        lines = [[_exported(cell) for cell in row] for row in rows]
        width = max(map(len, lines))
        lines = [[*row, *[""] * (width - len(row))] for row in lines]
        csv.writer(out, delimiter=";").writerows(lines)
        return out.getvalue(), "c.csv", "line"

    return table


def _exported(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return text.upper() if isinstance(cell, bool) else text


@pytest.fixture
def workbook() -> Callable[..., bytes]:
    """Return the bytes of a workbook with these rows; `change` may alter it before saving."""

    def workbook(
        rows: Iterable[Iterable[Any]],
        *,
        title: str = "Sheet1",
        change: Callable[[Workbook], None] | None = None,
    ) -> bytes:
        book = Workbook()
        book.active.title = title
        for row in rows:
            book.active.append(list(row))
        if change:
            change(book)
        saved = io.BytesIO()
        book.save(saved)
        return saved.getvalue()

    return workbook


def rewritten(content: bytes, change: Callable[[str], str]) -> bytes:
    """Return a workbook whose first worksheet is changed by a function of its XML."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(changed, "w") as new:
        for part in old.namelist():
            text = old.read(part)
            new.writestr(part, change(text.decode()) if part.endswith("sheet1.xml") else text)
    return changed.getvalue()
