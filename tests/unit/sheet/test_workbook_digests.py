"""What a cell of a workbook is read as never changes: another digest would be paid for again."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

import pytest
from openpyxl import Workbook
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

from callsheet.tasks.sheet import parse_sheet

#: By row: what its cell holds, how the spreadsheet shows it, and the beginning of the row's digest.
CELLS: dict[str, tuple[Any, str | None, str]] = {
    "text": ("plain", None, "c938b6137280"),
    "spaces": ("  kept inside  words ", None, "120a1fb5e6a2"),
    "zeros": (7, "000", "a12eec4a5f0f"),
    "percent": (0.5, "0%", "db86dc68dffb"),
    "decimal": (2.50, "0.00", "90e592cdb38b"),
    "long": (123456789012345, None, "b16fc435cd31"),
    "tiny": (1e-7, None, "ccda16b8c8ec"),
    "truth": (True, None, "e4cd3bba6f7f"),
    "date": (dt.date(2026, 1, 2), None, "f0961020c8c9"),
    "moment": (dt.datetime(2026, 1, 2, 3, 4, 5), None, "353ee50852e2"),  # noqa: DTZ001
    "clock": (dt.time(16, 9), "h:mm", "f9b6f266b205"),
    "clock2": (dt.time(6, 9), "hh:mm:ss", "9ba11c57e53c"),
    "span": (dt.timedelta(minutes=90), "[h]:mm:ss", "b3ab90cbf670"),
    "return": ("one_x000D_\ntwo", None, "fd2bf900de2b"),
    "unicode": ("é “ü” 漢", None, "a5dbd0483af7"),
    "number-text": ("007", None, "a12eec4a5f0f"),
}
#: Where a date's number counts from 1904, it is another number and the same date.
EPOCHS = {"1900": WINDOWS_EPOCH, "1904": MAC_EPOCH}


@pytest.mark.parametrize("epoch", EPOCHS)
def test_a_digest_is_what_it_was(epoch: str) -> None:
    book = Workbook()
    book.epoch = EPOCHS[epoch]
    book.active.append(["id", "tool", "title", "fields.a"])
    for line, (row, (value, shown, _)) in enumerate(CELLS.items(), start=2):
        book.active.append([row, "t", "Film", value])
        if shown:
            book.active.cell(line, 4).number_format = shown
    out = io.BytesIO()
    book.save(out)
    found = {one.row: one.digest[:12] for one in parse_sheet(out.getvalue(), name="c.xlsx").briefs}
    assert found == {row: digest for row, (_, _, digest) in CELLS.items()}
