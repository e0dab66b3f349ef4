"""An agency's workbook becomes a plan on the board alone: headers, cells, languages, shapes.

PICTURES=FOLDER python -m pytest tests/board/test_agency_workbook.py     takes pictures of it
"""

from __future__ import annotations

import csv
import io
import re
from datetime import date, time

import openpyxl
from playwright.async_api import Browser, FilePayload, Locator, Page, expect

from tests.board.conftest import OpenBoard
from tests.board.looking import barriers, picture
from tests.board.test_screens_in_a_browser import WIDE

HEADERS = ["Video-ID", "Titel", "Sprechertext", "Länge (s)", "Formato", "Idioma", "Fecha límite",
           "Preis", "Kommentar"]  # fmt: skip
PRODUCTS = ("Kettle", "Lamp", "Chair", "Bowl", "Mug", "Clock")


def agency() -> bytes:
    """60 rows as an agency sends them, on the second of two worksheets."""
    book = openpyxl.Workbook()
    book.active.title = "Lies mich"
    book.active.append(["Bitte bis Freitag prüfen"])
    sheet = book.create_sheet("Frühling 2027")
    sheet.append(["Frühlingskampagne, Entwurf 3"])
    sheet.merge_cells("A1:I1")
    sheet.append([])
    sheet.append(HEADERS)
    for n in range(1, 61):
        product = PRODUCTS[n % 6]
        sheet.append([
            "AH-19" if n == 20 else f"AH-{n}",
            f"{product} number {n}",
            None if n in (7, 8) else f"The {product.lower()} you wanted, for the {n}th time.",
            "bald" if n in (11, 12, 13) else 8,
            {5: date(2027, 9, 16), 6: time(9, 16)}.get(n, "9:17" if n > 16 else "9:16"),
            "Deutch" if 30 < n <= 40 else "Englsh" if n in (41, 42) else "Deutsch",
            "12/1/2027" if n < 4 else date(2027, 12, 1),
            f"{n},90 €",
            "Für den Sommer" if n in (16, 17) else None,
        ])  # fmt: skip
    sheet.merge_cells("I19:I20")
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


async def look(page: Page, name: str) -> None:
    """Look at a page: it fits every window, and nobody is kept out of it."""
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        await page.set_viewport_size({"width": width, "height": 844})
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        await picture(page, f"{name}-{width}-{scheme}", full_page=True)
        assert await page.evaluate(WIDE) <= 0, (name, width)
        if width == 1280:
            assert not await barriers(page)
    await page.set_viewport_size({"width": 1280, "height": 900})


async def test_a_workbook_becomes_a_plan_by_the_forms_of_the_page(
    open_board: OpenBoard, chromium: Browser
) -> None:
    page = await (await open_board.logged_in(chromium, "reviewer")).new_page()
    await page.goto("/new")
    book = FilePayload(name="spring.xlsx", mimeType="", buffer=agency())
    await page.get_by_label("Sheet", exact=True).set_input_files(book)
    await page.get_by_role("button", name="Check").click()
    first = page.get_by_role("region", name="First rows")
    await expect(first).to_contain_text("The first 3 rows")
    await look(page, "1-headers")
    await page.get_by_label("Preis means", exact=True).select_option("Preis=notes")
    await expect(first).to_contain_text("cannot both be notes")
    await page.get_by_label("Preis means", exact=True).select_option("Preis=x_preis")
    await expect(first).to_contain_text("cells are left to fix next")
    await page.get_by_role("button", name="Use these columns").click()

    problems = page.get_by_role("region", name="Problems")
    await expect(problems).to_contain_text("44 cells")
    await look(page, "2-problems")
    await correct(problems, "Correct all 44 to", "9:18")
    await correct(problems, "Correct to", "AH-20", within="is the id of line 22 too")
    await page.get_by_role("button", name="Apply corrections").click()
    # Dates that a CSV would hide come first: the refusal is at the cell, and what was typed stays.
    await expect(problems.get_by_text("a CSV copy would not show it")).to_be_visible()
    await expect(problems.get_by_label("Correct all 44 to")).to_have_value("9:18")
    await look(page, "3-refused")
    await correct(problems, "Correct to", "9:16", within="is a date that the spreadsheet made")
    await correct(problems, "Correct all 44 to", "9:16")
    await correct(problems, "Correct all 3 to", "2027-12-01", within="12/1/2027 is not a date")
    await correct(problems, "Correct all 3 to", "8", within="bald is not a whole")
    await correct(problems, "Correct all 10 to", "Deutsch")
    await correct(problems, "Correct all 2 to", "English")
    for row in ("AH-7", "AH-8"):
        await correct(problems, "Correct to", f"Say {row}.", within=f"{row} is empty")
    await page.get_by_role("button", name="Apply corrections").click()
    await expect(page.get_by_text("No problem is left in spring.csv")).to_be_visible()

    rows = page.locator("#all-rows")
    for chosen in ("German", "English", "Spanish", "9:16 upright", "1:1 square"):
        await rows.get_by_text(chosen, exact=True).click()
    counted = "3 languages x 2 shapes = 6 videos for each row. 60 rows: 360 videos."
    await expect(rows.get_by_role("status")).to_have_text(counted)
    await look(page, "4-languages")
    await rows.get_by_role("button", name="Make the copy").click()
    await expect(
        page.get_by_text("It means 60 rows x 3 languages x 2 ratios = 360")
    ).to_be_visible()
    await look(page, "5-done")
    async with page.expect_download() as coming:
        await page.get_by_role("link", name="Download the corrected sheet").click()
    file = await (await coming.value).path()
    table = [*csv.reader(file.read_text("utf-8-sig").splitlines())]
    assert table[0] == [*HEADERS[:4], "matrix.aspect_ratio", "matrix.language", *HEADERS[6:]]
    assert [line[0] for line in table[1:]] == [f"AH-{n}" for n in range(1, 61)]
    assert {(line[4], line[5]) for line in table[1:]} == {("9:16|1:1", "de|en|es")}
    await page.get_by_role("button", name="Show the price").click()
    await expect(page).to_have_url(re.compile("/plans/"))
    plan = await open_board.reviewer.get(f"/api/v1{page.url.partition(open_board.origin)[2]}")
    assert plan.json()["campaign"] == "spring"


async def correct(problems: Locator, label: str, text: str, *, within: str = "") -> None:
    """Type the new text of one cell, or of all cells of a kind."""
    found = problems.get_by_role("listitem").filter(has_text=within).last if within else problems
    await found.get_by_label(label, exact=True).first.fill(text)
