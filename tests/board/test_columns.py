"""Headers of a person's own are given columns on the board once, and remembered."""

from __future__ import annotations

import re
from io import BytesIO

import httpx
import pytest
from openpyxl import Workbook

from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.plans import find_plan
from tests.board.conftest import OpenBoard
from tests.board.stage import API

OWN = "Video ID,Headline,Copy,Internal no\na,The Kettle,Boil it.,7\nb,The Pot,Cook it.,\n"
#: What the board proposes, as the form sends it.
PROPOSED = ["Video ID=id", "Headline=title", "Copy=script", "Internal no=x_internal_no"]


async def upload(who: httpx.AsyncClient, name: str, text: str, **terms: str) -> httpx.Response:
    return await who.post("/new", files={"sheet": (name, text.encode())}, data=terms)


#: What is chosen in each list of the page, as it is shown.
SHOWN = re.compile(r'<select name="map"[^>]*>(?:<optgroup[^>]*>)?<option value="([^"]*)"')
#: What a person is told where the first row was not shown with what they chose.
OTHERS = "You chose other columns"


async def press(
    who: httpx.AsyncClient, page: httpx.Response, *words: str, to: str = "columns", **typed: str
) -> httpx.Response:
    """Press "Use these columns", with these choices or those that are proposed."""
    address = re.findall(r'action="(/new/[^"]+/)columns"', page.text)[0] + to
    kept = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.text))
    form = {**kept, **typed, "map": list(words) or SHOWN.findall(page.text)}
    return await who.post(address, data=form, files={"x": ("", b"")})


def first_row(page: httpx.Response) -> dict[str, str]:
    """Return what the page says of the first row."""
    shown = page.text.partition('name="shown"')[2].partition("</dl>")[0]
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", shown))


async def confirm(who: httpx.AsyncClient, page: httpx.Response, *words: str) -> httpx.Response:
    """Press it, and again once the first row was shown with other choices than the proposed."""
    answer = await press(who, page, *words)
    return await press(who, answer, *words) if OTHERS in answer.text else answer


async def uploaded(who: httpx.AsyncClient, text: str, **more: object) -> dict[str, object]:
    answer = await who.post(f"{API}/sheets", json={"name": "own.csv", "text": text, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.mark.merge
async def test_headers_are_confirmed_once_for_all_sheets(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    asked = await upload(browser, "own.csv", OWN, budget="120")
    assert asked.status_code == 422
    assert "4 headers in own.csv are not known yet" in asked.text
    assert "The Kettle · The Pot" in asked.text
    assert "1 of 2" in asked.text
    assert SHOWN.findall(asked.text) == PROPOSED
    # What follows from headers is no problem to be fixed in the sheet.
    assert "is not a column Callsheet knows" not in asked.text

    plan = await confirm(browser, asked)
    assert plan.url.path.startswith("/plans/")
    assert "Headline is <code>title</code>" in plan.text
    terms = (await open_board.admin.get(f"{API}{plan.url.path}")).json()
    assert (terms["campaign"], terms["sheet"] is not None) == ("own", True)

    # The same headers, in another order and spelling.
    again = await upload(browser, "may.csv", "headline,VIDEO-ID,Internal no,Copy\nOne,a,,Say it.\n")
    assert again.url.path.startswith("/plans/")
    assert "Headline is <code>title</code>" in again.text
    acts = await open_board.ledger.read(acts_of, limit=10)
    words = [one.words for one in acts if one.act == "columns"]
    assert words == [f"own.csv: {', '.join(one.replace('=', ' = ') for one in PROPOSED)}"]


async def test_a_worksheet_is_chosen_on_the_page(open_board: OpenBoard) -> None:
    book = Workbook()
    for title in ("Spring", "Old"):
        sheet = book.create_sheet(title)
        sheet.append(["id", "script"])
        sheet.append([f"{title}-1", "Hello"])
    book.save(content := BytesIO())
    browser = await open_board.form("reviewer")
    asked = await browser.post("/new", files={"sheet": ("s.xlsx", content.getvalue())})
    assert "choose one under Worksheet below" in asked.text
    sheet_id = re.findall(r'name="kept" value="([^"]+)"', asked.text)[0]
    data = {"kept": sheet_id, "worksheet": "Old"}
    plan = await browser.post("/new", files={"sheet": ("", b"")}, data=data)
    assert plan.url.path.startswith("/plans/")
    kept = await open_board.ledger.read(find_plan, plan_id=plan.url.path[7:])
    assert kept.terms["worksheet"] == "Old"


async def test_a_file_without_a_usable_name_is_named_on_the_page(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    sheet = {"sheet": ("夏.csv", b"id,script\na,Hello\n")}
    asked = await browser.post("/new", files=sheet)
    assert "type one under Campaign below" in asked.text
    plan = await browser.post("/new", files=sheet, data={"campaign": "summer"})
    assert plan.url.path.startswith("/plans/")
    kept = await open_board.ledger.read(find_plan, plan_id=plan.url.path[7:])
    assert kept.campaign == "summer"


@pytest.mark.merge
async def test_a_header_that_is_not_mapped_is_asked_for_again(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    asked = await upload(browser, "own.csv", OWN)
    left = await confirm(browser, asked, "Video ID=id", "Headline=title")
    assert "2 headers in own.csv are not known yet" in left.text
    assert (await confirm(browser, left, *PROPOSED[2:])).url.path.startswith("/plans/")
    # A sheet with one header more is another sheet.
    other = OWN.replace("no\n", "no,Place\n").replace("7", "7,Rome")
    more = await upload(browser, "own.csv", other)
    assert "5 headers in own.csv are not known yet" in more.text


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["Headline=title", "Copy=title"], "&#34;Headline&#34; and &#34;Copy&#34; cannot both be"),
        (["Heading=title"], "The sheet has no header &#34;Heading&#34;"),
        (["Headline=headline"], "did you mean title?"),
        (["Headline"], "does not say which column"),
    ],
)
async def test_what_cannot_be_meant_is_refused_and_not_remembered(
    open_board: OpenBoard, words: list[str], fault: str
) -> None:
    browser = await open_board.form("reviewer")
    asked = await upload(browser, "own.csv", OWN)
    refused = await confirm(browser, asked, *words)
    assert refused.status_code == 422
    assert fault in refused.text
    assert "4 headers in own.csv are not known yet" in refused.text
    assert "4 headers" in (await upload(browser, "own.csv", OWN)).text


async def test_programs_see_and_say_what_headers_mean(open_board: OpenBoard) -> None:
    who = open_board.reviewer
    found = await uploaded(who, OWN)
    headers = {"header": "Headline", "column": None, "proposed": "title", "filled": 2}
    assert headers in list(found["columns"])  # type: ignore[call-overload]
    assert found["campaign"] is None
    wrong = {one["column"] for one in found["problems"]}  # type: ignore[attr-defined]
    assert "Headline" in wrong
    assert "column" not in wrong

    found = await uploaded(who, OWN, map=PROPOSED)
    assert (found["campaign"], found["problems"]) == ("own", [])
    assert {**headers, "column": "title", "proposed": None} in found["columns"]  # type: ignore[operator]
    # By file, and remembered.
    answer = await who.post(f"{API}/sheets", files={"file": ("own.csv", OWN)})
    assert answer.json()["campaign"] == "own"
    form = {"map": ["Headline=topic"]}
    answer = await who.post(f"{API}/sheets", files={"file": ("own.csv", OWN)}, data=form)
    assert {**headers, "column": "topic", "proposed": None} in answer.json()["columns"]


async def test_the_plan_keeps_the_columns_it_was_made_with(open_board: OpenBoard) -> None:
    who = open_board.reviewer
    found = await uploaded(who, OWN, map=PROPOSED)
    answer = await who.post(f"{API}/plans", json={"sheet": found["sheet"]})
    plan = answer.json()["plan"]
    await uploaded(who, OWN, map=["Headline=topic"])
    seen = await (await open_board.form("reviewer")).get(f"/plans/{plan}")
    assert "Headline is <code>title</code>" in seen.text


#: As agencies write them: promo copy next to what is spoken, languages in one cell, two titles.
AGENCY = (
    "Job #,Copy,Headline,Headline DE,VO script,VO script DE,Languages,Slogan,Claim\n"
    "AH-1,Only today!,The Kettle,Der Kessel,It boils.,Er kocht.,en|de,Hot,Now\n"
    "AH-2,Only now!,The Pot,Der Topf,It cooks.,Er gart.,en|de,Warm,Then\n"
)


@pytest.mark.merge
async def test_every_column_can_be_chosen_and_is_shown_first(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    asked = await upload(browser, "own.csv", AGENCY)
    # What is spoken is never the promo copy, and each language has its own text.
    proposed = ["Job #=id", "Copy=x_copy", "Headline=title.en", "Headline DE=title.de",
                "VO script=script.en", "VO script DE=script.de", "Languages=matrix.language",
                "Slogan=x_slogan", "Claim=x_claim"]  # fmt: skip
    assert SHOWN.findall(asked.text) == proposed
    assert "but &#34;VO script&#34; is closer to it" in asked.text
    for column in ("title.fr", "matrix.aspect_ratio", "fields.slogan", "notes", "cs_slogan"):
        assert f'<option value="Slogan={column}">' in asked.text
    row = first_row(asked)
    assert (row["Title"], row["Says"], row["Language"]) == ("The Kettle", "It boils.", "en")
    assert row["Videos"] == "2 videos: AH-1-en, AH-1-de"
    assert (row["x_copy"], row["x_slogan"]) == ("Only today!", "Hot")

    # Other columns, one of them typed: the first row is shown with them, and nothing is stored.
    chosen = [*proposed[:1], "Copy=script.en", "Headline=x_old", *proposed[3:4], "VO script=x_vo",
              *proposed[5:7], "Slogan=", "Claim=title.en"]  # fmt: skip
    typed = {"typed Slogan": "x_brand", "typed Claim": "x_never"}
    shown = await press(browser, asked, *chosen, **typed)
    assert (shown.status_code, OTHERS in shown.text) == (422, True)
    row = first_row(shown)
    assert (row["Title"], row["Says"], row["x_brand"]) == ("Now", "Only today!", "Hot")
    assert SHOWN.findall(shown.text)[-2:] == ["Slogan=x_brand", "Claim=title.en"]
    again = await upload(browser, "own.csv", AGENCY)
    assert SHOWN.findall(again.text) == proposed
    fragment = await press(browser, asked, *chosen, to="first-rows", **typed)
    assert first_row(fragment) == row
    assert "<html" not in fragment.text

    plan = await press(browser, shown, *SHOWN.findall(shown.text))
    assert "Slogan is <code>x_brand</code>" in plan.text
    assert "Copy is <code>script.en</code>" in plan.text


async def test_of_two_headers_for_one_column_a_person_chooses(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    text = "id,Headline,Heading,script\na,The Kettle,Kettles,Boil it.\n"
    asked = await upload(browser, "own.csv", text)
    assert SHOWN.findall(asked.text) == ["", "", "id=id", "script=script"]
    assert "Could be title, and so could &#34;Heading&#34;." in asked.text
    left = await confirm(browser, asked)
    assert "2 headers in own.csv are not known yet" in left.text
    plan = await confirm(browser, left, "Headline=title", "Heading=x_heading")
    assert "Headline is <code>title</code>" in plan.text
    # Also a column that is known by its name may be meant as another one.
    change = re.findall(r'href="(/new\?sheet=[^"]+)"', plan.text)[0]
    seen = await browser.get(change)
    plan = await confirm(browser, seen, "script=x_script", "Headline=topic", "Heading=script")
    assert "script is <code>x_script</code>" in plan.text
