"""Cells of an uploaded sheet are corrected on the page that names their problems."""

from __future__ import annotations

import csv
import io
import re

import httpx
import openpyxl

from tests.board.conftest import OpenBoard
from tests.board.test_columns import confirm


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["id", "script", "aspect_ratio", "duratoin_seconds"],
        ["a", "Hello", "9:17", 8],
        ["b", "Hello there", "16:10", 8],
    ):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


async def upload(who: httpx.AsyncClient, name: str, content: bytes) -> httpx.Response:
    data = {"text": "", "url": "", "budget": "120"}
    return await who.post("/new", files={"sheet": (name, content)}, data=data)


def fields(page: httpx.Response) -> dict[str, str]:
    """Return what the form of the problems has, by the texts that are wrong."""
    pairs = re.findall(r'name="(cell-\d+)" value="([^"]*)"', page.text)
    return {value: name for name, value in pairs}


def address(page: httpx.Response, end: str) -> str:
    return re.findall(rf'"(/new/[^"/]+/{end})"', page.text)[0]


async def test_a_workbook_is_corrected_downloaded_and_planned(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    first = await upload(browser, "spring.xlsx", workbook())
    assert first.status_code == 422
    named = fields(first)
    assert set(named) == {"9:17", "16:10"}

    some = {named["9:17"]: "9:16", named["16:10"]: "16:10", "budget": "120"}
    second = await browser.post(address(first, "cells"), data=some, files={"x": ("", b"")})
    assert second.status_code == 422
    left = fields(second)
    assert set(left) == {"16:10"}
    # What a header means is said instead: the sheet keeps it.
    said = await confirm(browser, second)
    rest = {fields(said)["16:10"]: "16:9", "budget": "120"}
    third = await browser.post(address(said, "cells"), data=rest, files={"x": ("", b"")})

    assert third.status_code == 200
    assert "No problem is left in spring.xlsx" in third.text
    file = await browser.get(address(third, "file"))
    assert "spring.xlsx" in file.headers["content-disposition"]
    sheet = openpyxl.load_workbook(io.BytesIO(file.content)).active
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["id", "script", "aspect_ratio", "duratoin_seconds"],
        ["a", "Hello", "9:16", 8],
        ["b", "Hello there", "16:9", 8],
    ]
    kept = re.findall(r'name="kept" value="([^"]+)"', third.text)[0]
    plan = await browser.post(
        "/new", data={"kept": kept, "budget": "120"}, files={"sheet": ("", b"")}
    )
    assert plan.url.path.startswith("/plans/")


async def test_a_csv_is_corrected_as_a_csv(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    first = await upload(browser, "s.csv", b"id,script,aspect_ratio\na,Hello,9:17\n")

    done = await browser.post(
        address(first, "cells"), data={fields(first)["9:17"]: "9:16"}, files={"x": ("", b"")}
    )

    assert done.status_code == 200
    file = await browser.get(address(done, "file"))
    assert file.content == b"id,script,aspect_ratio\na,Hello,9:16\n"
    # Numbers that no problem has, of whatever length, are no cell of it.
    path, long = address(first, "cells"), "cell-" + "9" * 5000
    for name in (long, long[:4000], "cell-99999999999"):
        for sent in ({"data": {name: "9:16"}}, {"data": {name: "9:16"}, "files": {"x": ("", b"")}}):
            assert (await browser.post(path, **sent)).status_code in (400, 415, 422)


async def test_a_corrected_csv_runs_nothing_in_a_spreadsheet(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    cells = b"=HYPERLINK(A1),-5,@SUM(A1)"
    sheet = b"id,script,aspect_ratio,x_a,x_b,x_c\na,Hi,9:17," + cells + b"\n"
    first = await upload(browser, "f.csv", sheet)

    done = await browser.post(
        address(first, "cells"), data={fields(first)["9:17"]: "9:16"}, files={"x": ("", b"")}
    )

    file = await browser.get(address(done, "file"))
    told = next(csv.reader(file.text.splitlines()[1:]))
    assert told == ["a", "Hi", "9:16", "'=HYPERLINK(A1)", "-5", "'@SUM(A1)"]


async def test_what_cannot_be_corrected_says_so_and_a_viewer_cannot(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    first = await upload(browser, "s.csv", b"id,script,aspect_ratio\na,Hello,9:17\n")
    path = address(first, "cells")

    same = await browser.post(path, data={"cell-0": "9:17"}, files={"x": ("", b"")})
    assert same.status_code == 422
    assert "No cell was changed" in same.text
    gone = await browser.post("/new/nothing/cells", data={"cell-0": "9:16"}, files={"x": ("", b"")})
    assert gone.status_code == 404
    viewer = await open_board.form("viewer")
    tried = await viewer.post(path, data={"cell-0": "9:16"}, files={"x": ("", b"")})
    assert tried.status_code == 403
    assert (await viewer.get(address(first, "file"))).status_code == 403
