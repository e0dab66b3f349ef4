"""Which worksheet of a workbook is the sheet: a cover or notes may stand before it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.header_line import SEARCHED, HeaderLines, find_header

#: So many lines of every worksheet are read to see which of them is the sheet.
_GLANCE = 100


def choose_worksheet(book: Any, findings: Findings, worksheet: str | None) -> str:
    """Return the title of the worksheet that is named, else of the visible one with a header.

    Raises SheetError where there is none, or more than one.
    """
    if worksheet is not None:
        return _named(book, findings, worksheet.strip())
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if not visible:
        findings.give_up("has no rows: it has no visible worksheet")
    if len(visible) == 1:
        return str(visible[0].title)
    titles = [sheet.title for sheet in visible]
    found = {sheet.title: _header_of(sheet) for sheet in visible}
    fit = [title for title, header in found.items() if header.certain] or [
        title for title, header in found.items() if header.lines
    ]
    if not fit:
        findings.give_up(
            "has no column Callsheet knows (id, title, tool, script, ...) in any worksheet it "
            f"shows ({_quoted(titles)}); --worksheet NAME reads a hidden one"
        )
    if len(fit) > 1:
        findings.give_up(
            f"has {len(fit)} worksheets that may be the sheet, {_quoted(fit)}: "
            f"choose one with --worksheet {_typed(fit[0])}"
        )
    others = [title for title in titles if title != fit[0]]
    findings.note(
        f'has {len(titles)} worksheets; "{fit[0]}" is read, the one with columns Callsheet knows, '
        f"not {_quoted(others)} (--worksheet {_typed(fit[0])} settles it)"
    )
    return str(fit[0])


def _named(book: Any, findings: Findings, worksheet: str) -> str:
    titles = {sheet.title.strip().casefold(): str(sheet.title) for sheet in book.worksheets}
    found = titles.get(worksheet.casefold())
    if found is None:
        close = get_close_matches(worksheet.casefold(), titles, n=1)
        there = f"; it has {_quoted(titles.values())}"
        hint = f' (did you mean "{titles[close[0]]}"?)' if close else there
        findings.give_up(f'has no worksheet "{worksheet}"{hint}')
    return found


def _header_of(sheet: Any) -> HeaderLines:
    sheet.reset_dimensions()
    first = sheet.iter_rows(max_row=_GLANCE, values_only=True)
    lines = [["" if value is None else str(value) for value in row] for row in first]
    return find_header([line for line in lines if any(map(str.strip, line))][:SEARCHED])


def _quoted(titles: Iterable[str]) -> str:
    return ", ".join(f'"{title}"' for title in titles)


def _typed(title: str) -> str:
    """Return a title as it is typed in a shell."""
    return title if re.fullmatch(r"[\w.-]+", title) else f'"{title}"'
