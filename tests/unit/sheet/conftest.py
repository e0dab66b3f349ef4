"""Ways to read a sheet in a test: `read` wants a good one, `refuse` wants its problems."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from tasks.errors import SheetError
from tasks.sheet import Sheet, SheetOptions, parse_sheet


def _parse(content: str | bytes, name: str, folder: Path | None, options: Any) -> Sheet:
    raw = content.encode() if isinstance(content, str) else content
    return parse_sheet(raw, name=name, folder=folder, options=SheetOptions(**options))


@pytest.fixture
def read() -> Callable[..., Sheet]:
    """Return the sheet in a text or bytes."""

    def read(
        content: str | bytes,
        name: str = "campaign.csv",
        *,
        folder: Path | None = None,
        **options: Any,
    ) -> Sheet:
        return _parse(content, name, folder, options)

    return read


@pytest.fixture
def refuse() -> Callable[..., list[str]]:
    """Return the problems of a text or bytes that must have some, as people see them."""

    def refuse(
        content: str | bytes,
        name: str = "campaign.csv",
        *,
        folder: Path | None = None,
        **options: Any,
    ) -> list[str]:
        with pytest.raises(SheetError) as caught:
            _parse(content, name, folder, options)
        return [str(problem) for problem in caught.value.problems]

    return refuse


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
