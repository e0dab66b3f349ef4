"""An uploaded sheet is corrected on its page: cells with problems, and columns for all rows."""

from __future__ import annotations

import csv
import io
import re
from copy import deepcopy
from functools import partial
from typing import Any

import httpx
import openpyxl
import pytest

from callsheet.deployments.sandbox.bodies import CATALOG
from callsheet.tasks.ledger.service_state import keep_catalogue
from callsheet.tasks.values.catalog import Catalogue
from tests.board.conftest import OpenBoard
from tests.board.test_columns import confirm

WRONG = [
    ["id", "script", "aspect_ratio", "duratoin_seconds"],
    ["a", "Hello", "9:17", 8],
    ["b", "Hello there", "16:10", 8],
]


def workbook(rows: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(out := io.BytesIO())
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


async def correct(
    who: httpx.AsyncClient, page: httpx.Response, sent: dict[str, str]
) -> httpx.Response:
    """Send the new texts of cells."""
    return await who.post(address(page, "cells"), data=sent, files={"x": ("", b"")})


async def table(who: httpx.AsyncClient, page: httpx.Response) -> list[list[str]]:
    file = await who.get(address(page, "file"))
    return [*csv.reader(file.content.decode("utf-8-sig").splitlines())]


@pytest.mark.merge
async def test_a_workbook_is_corrected_downloaded_and_planned(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    asked = await upload(browser, "spring.xlsx", workbook(WRONG))
    assert asked.status_code == 422
    # What a header means is said first: the sheet keeps it.
    assert "2 cells are left to fix next" in asked.text
    first = await confirm(browser, asked)
    assert "Your corrections become a CSV" in first.text
    named = fields(first)
    assert set(named) == {"9:17", "16:10"}

    some = {named["9:17"]: "9:16", named["16:10"]: "16:10", "budget": "120"}
    second = await correct(browser, first, some)
    assert second.status_code == 422
    left = fields(second)
    assert set(left) == {"16:10"}
    rest = {left["16:10"]: "16:9", "budget": "120"}
    third = await correct(browser, second, rest)

    assert third.status_code == 200
    assert "No problem is left in spring.csv" in third.text
    assert (await table(browser, third))[1:] == [
        ["a", "Hello", "9:16", "8"],
        ["b", "Hello there", "16:9", "8"],
    ]
    kept = re.findall(r'name="kept" value="([^"]+)"', third.text)[0]
    asked = {"kept": kept, "budget": "120"}
    plan = await browser.post("/new", data=asked, files={"sheet": ("", b"")})
    assert plan.url.path.startswith("/plans/")


async def test_a_csv_is_corrected_as_a_csv(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    cells = b"=HYPERLINK(A1),-5,@SUM(A1)"
    sheet = b"id,script,aspect_ratio,x_a,x_b,x_c\na,Hi,9:17," + cells + b"\n"
    first = await upload(browser, "s.csv", sheet)

    done = await correct(browser, first, {fields(first)["9:17"]: "9:16"})

    # Nothing of it runs in a spreadsheet.
    assert (await table(browser, done))[1] == [
        "a",
        "Hi",
        "9:16",
        "'=HYPERLINK(A1)",
        "-5",
        "'@SUM(A1)",
    ]
    # Numbers that no problem has, of whatever length, are no cell of it.
    path, long = address(first, "cells"), "cell-" + "9" * 5000
    for name in (long, long[:4000], "cell-99999999999"):
        for files in ({}, {"x": ("", b"")}):
            answer = await browser.post(path, data={name: "9:16"}, files=files)
            # A part of a form with so long a name cannot be read.
            assert answer.status_code == (400 if files and name == long else 422)


async def test_what_cannot_be_corrected_says_so_and_a_viewer_cannot(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    first = await upload(browser, "s.csv", b"id,script,aspect_ratio\na,Hello,9:17\n")

    same = await correct(browser, first, {"cell-0": "9:17"})
    assert (same.status_code, "No cell was changed" in same.text) == (422, True)
    gone = await browser.post("/new/nothing/cells", data={"cell-0": "9:16"}, files={"x": ("", b"")})
    assert gone.status_code == 404
    viewer = await open_board.form("viewer")
    assert (await correct(viewer, first, {"cell-0": "9:16"})).status_code == 403
    assert (await viewer.get(address(first, "file"))).status_code == 403


#: 20 rows in two languages with one wrong format, an empty text, and an id that is there twice.
AGENCY = [
    ["id", "title.en", "title.de", "script.en", "script.de", "matrix.language", "aspect_ratio"],
    *([f"AH-{n:03}", "A", "B", "One", "Eins" if n != 7 else "", "en|de", "9:17"]
      for n in [*range(1, 20), 19]),
]  # fmt: skip


def as_file(kind: str) -> bytes:
    if kind == "csv":
        out = io.StringIO()
        csv.writer(out).writerows(AGENCY)
        return out.getvalue().encode()
    return workbook([[cell or None for cell in row] for row in AGENCY])


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_every_problem_is_fixed_where_it_is_told(open_board: OpenBoard, kind: str) -> None:
    browser = await open_board.form("reviewer")
    first = await upload(browser, f"agency.{kind}", as_file(kind))

    text = " ".join(re.sub("<[^>]+>", " ", first.text).split())
    assert f"3 problems in 22 cells of agency.{kind}" in text
    # Of all variants of a row it is one problem; of all rows with one text one field corrects it.
    assert "Correct all 20 to" in text
    assert "AH-019-en" not in text
    texts = dict(re.findall(r'name="((?:same|cell)-\d+)" value="([^"]*)"', first.text))
    whole = next(name for name in texts if name.startswith("same-"))
    empty = next(name for name, value in texts.items() if not value)
    twin = next(name for name, value in texts.items() if value == "AH-019")
    sent = {whole: "9:16", empty: "Sieben", twin: "AH-020"}

    done = await correct(browser, first, sent)

    assert done.status_code == 200, re.findall('<li><span class="where">.*', done.text)
    lines = await table(browser, done)
    assert {line[6] for line in lines[1:]} == {"9:16"}
    assert (lines[7][4], lines[20][0]) == ("Sieben", "AH-020")


@pytest.mark.merge
async def test_one_text_corrects_thousands_of_cells(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    rows = [f"r{n},Hi,{'9:17' if n % 2 else '9:18'},soon,a title" for n in range(1500)]
    text = "\n".join(("id,script,aspect_ratio,duration_seconds,title", *rows))
    first = await upload(browser, "large.csv", text.encode())
    texts = dict(re.findall(r'name="((?:all|same|cell)-\d+)" value="([^"]*)"', first.text))
    assert 1000 < len(texts) < 4000

    (whole,) = (name for name in texts if name.startswith("all-"))
    seconds = next(name for name, value in texts.items() if value == "soon")
    one = next(name for name, value in texts.items() if value == "9:18" and name[:4] == "cell")
    sent = {**texts, whole: "9:16", seconds: "8", one: "1:1"}
    done = await correct(browser, first, sent)

    assert done.status_code == 200, done.text[:2000]
    lines = (await table(browser, done))[1:]
    assert [line[2] for line in lines].count("9:16") == 1499
    assert {line[3] for line in lines} == {"8"}


#: Nothing but products: without a tool, no row has anything to show.
BARE = "Video ID,Produkt,Preis\na,Kettle,€20\nb,Lamp,€30\nTotal,,50\n"


async def send(
    who: httpx.AsyncClient, page: httpx.Response, *checked: str, to: str = "all-rows", **typed: str
) -> httpx.Response:
    """Send the form, with what was counted on the page."""
    counted = re.findall(r'name="chosen" value="([^"]*)"', page.text)
    form = {"chosen": counted[0] if counted else "", **dict.fromkeys(checked, "yes"), **typed}
    path = address(page, "all-rows") + to.removeprefix("all-rows")
    return await who.post(path, data=form, files={"x": ("", b"")})


@pytest.fixture
async def page(open_board: OpenBoard) -> httpx.Response:
    """The page of a bare sheet, on a board that knows the tools of the service."""
    body = deepcopy(CATALOG)
    body["tools"][0]["fields"][0] |= {"required": True, "max_length": 40}
    told = Catalogue(base_url="http://service", told_at=open_board.board.clock(), body=body)
    await open_board.ledger.write(keep_catalogue, told=told)
    browser = await open_board.form("reviewer")
    return await confirm(browser, await upload(browser, "own.csv", BARE.encode()))


@pytest.mark.merge
async def test_a_bare_sheet_gets_a_tool(open_board: OpenBoard, page: httpx.Response) -> None:
    browser = await open_board.form("reviewer")
    assert "Choose the tool that makes these 2 videos" in page.text
    shown = await send(browser, page, "language de", "language en", tool="product-launch")
    assert "Nothing was stored" in shown.text
    assert "{x_produkt}, {x_preis}" in shown.text
    fields = {"tool": "product-launch", "input product": "", "input offer": "Only {x_preis}"}
    send_both = partial(send, browser, shown, "language de", "language en")
    assert "Product-launch needs this field." in (await send_both(**fields)).text
    long = await send_both(**{**fields, "input product": "x" * 41})
    assert "This has 41 characters; it takes 40." in long.text
    done = await send_both(**{**fields, "input product": "{x_produkt}"})
    assert done.status_code == 200, re.findall('class="mistake[^<]*<', done.text)
    header, *rows = await table(browser, done)
    assert header[3:] == ["tool", "fields.product", "fields.offer", "matrix.language"]
    # The line of totals is no row, and is left out.
    assert [row[0] for row in rows] == ["a", "b"]
    assert {tuple(row[3:]) for row in rows} == {
        ("product-launch", "{x_produkt}", "Only {x_preis}", "en|de")
    }
    assert "4 videos" in done.text


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ({}, "Choose a language, a shape or a tool first."),
        ({"others": "Klingon"}, "is not a language Callsheet knows"),
        ({"tool": "lunch"}, "The service lists no tool lunch."),
        ({"tool": "product-launch", "input product": "x" * 40_000}, "A cell can have"),
    ],
)
async def test_what_cannot_be_meant_is_said_at_its_field_and_changes_nothing(
    open_board: OpenBoard, page: httpx.Response, typed: dict[str, str], fault: str
) -> None:
    browser = await open_board.form("reviewer")
    refused = await send(browser, page, **typed)
    assert refused.status_code == 422
    assert fault in refused.text
    assert await table(browser, refused) == [line.split(",") for line in BARE.splitlines()]
