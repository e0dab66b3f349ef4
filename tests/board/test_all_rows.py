"""Languages, shapes and a tool are chosen for all rows of a sheet, and written into a copy."""

from __future__ import annotations

import csv
import re
from copy import deepcopy
from functools import partial

import httpx
import pytest

from callsheet.deployments.sandbox.bodies import CATALOG
from callsheet.tasks.ledger.service_state import keep_catalogue
from callsheet.tasks.values.catalog import Catalogue
from tests.board.conftest import OpenBoard
from tests.board.test_columns import confirm, upload
from tests.board.test_correct_cells import address

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


async def table(who: httpx.AsyncClient, page: httpx.Response) -> list[list[str]]:
    file = await who.get(address(page, "file"))
    return [*csv.reader(file.content.decode("utf-8-sig").splitlines())]


@pytest.fixture
async def page(open_board: OpenBoard) -> httpx.Response:
    """The page of a bare sheet, on a board that knows the tools of the service."""
    body = deepcopy(CATALOG)
    body["tools"][0]["fields"][0] |= {"required": True, "max_length": 40}
    told = Catalogue(base_url="http://service", told_at=open_board.board.clock(), body=body)
    await open_board.ledger.write(keep_catalogue, told=told)
    browser = await open_board.form("reviewer")
    return await confirm(browser, await upload(browser, "own.csv", BARE))


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
