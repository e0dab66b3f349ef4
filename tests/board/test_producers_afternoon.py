"""A producer's afternoon in a browser: from an agency's workbook to the client's verdict.

PICTURES=FOLDER python -m pytest tests/board/test_producers_afternoon.py     takes pictures of it
"""

from __future__ import annotations

import io
import re
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, expect

from tests.board.looking import barriers, picture
from tests.board.test_command import board
from tests.board.test_screens_in_a_browser import WIDE
from tests.programs import Desk, sandbox

HEADERS = ["Video-ID", "Titel", "Sprechertext", "Länge (s)", "Formato", "Idioma", "Fecha límite",
           "Preis", "Kommentar"]  # fmt: skip
pytestmark = pytest.mark.merge

#: Two videos of the first row.
FIRST, SECOND = "AH-1-de-9x16", "AH-1-de-1x1"
WITHIN = 60_000
#: How high the highest list of rows is.
TALL = "Math.max(0, ...[...document.querySelectorAll('.folds')].map((one) => one.scrollHeight))"
PRODUCTS = ("Kettle", "Lamp", "Chair", "Bowl", "Mug", "Clock")


def agency() -> bytes:
    """24 rows as an agency sends them, on the second of two worksheets."""
    book = openpyxl.Workbook()
    book.active.title = "Lies mich"
    book.active.append(["Bitte bis Freitag prüfen"])
    sheet = book.create_sheet("Frühling 2027")
    sheet.append(["Frühlingskampagne, Entwurf 3"])
    sheet.merge_cells("A1:I1")
    sheet.append([])
    sheet.append(HEADERS)
    for n in range(1, 25):
        product = PRODUCTS[n % 6]
        sheet.append([
            "AH-19" if n == 20 else f"AH-{n}",
            f"{product} number {n}",
            None if n in (7, 8) else f"The {product.lower()} you wanted, for the {n}th time.",
            "bald" if n in (11, 12, 13) else 8,
            {5: date(2027, 9, 16), 6: time(9, 16)}.get(n, "9:17" if n > 16 else "9:16"),
            "Deutch" if n > 20 else "Englsh" if n in (18, 19) else "Deutsch",
            "12/1/2027" if n < 4 else date(2027, 12, 1),
            f"{n},90 €",
            "Für den Sommer" if n in (16, 17) else None,
        ])  # fmt: skip
    sheet.merge_cells("I19:I20")
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


async def test_a_workbook_becomes_videos_that_a_client_approves(
    tmp_path: Path, chromium: Browser
) -> None:
    with (
        sandbox(tmp_path / "service") as service,
        board(Desk(tmp_path, service.environ)) as (ready, _),
    ):
        page, client = [await opened(ready["url"], chromium) for _ in range(2)]
        await page.goto(ready["login"])
        await page.get_by_role("button", name="Log in as").click()
        await name_headers(page)
        await correct_cells(page)
        await choose_languages(page)
        await approve(page)
        await review(page)
        await retake(page)
        await client.goto(await make_link(page))
        await decide(client)
        await page.goto("/c/spring/videos?client=reject")
        await expect(page.get_by_text("the old logo").first).to_be_visible()
        await look(page, "14-the-clients-verdict")
        rows = Desk(tmp_path, service.environ).rows("spring")
        assert len(service.bought()) == 145
    said = {
        row: (line["take"], line["review"], line.get("client_review")) for row, line in rows.items()
    }
    assert len(said) == 144
    others = {row: one for row, one in said.items() if one != (1, "keep", None)}
    assert others == {FIRST: (2, "keep", "keep"), SECOND: (1, "keep", "reject")}


async def opened(url: str, chromium: Browser) -> Page:
    """Open a browser of somebody's own."""
    context = await chromium.new_context(base_url=url)
    context.set_default_timeout(WITHIN)
    return await context.new_page()


async def name_headers(page: Page) -> None:
    """Upload the workbook, look at what its headers mean, and change one."""
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


async def correct_cells(page: Page) -> None:
    """Correct what is wrong, one cell or all of a kind; what cannot be is said at its field."""
    problems = page.get_by_role("region", name="Problems")
    await expect(problems).to_contain_text("8 cells")
    await look(page, "2-problems")
    await correct(problems, "Correct all 8 to", "9:18")
    await correct(problems, "Correct to", "AH-20", within="is the id of line 22 too")
    await page.get_by_role("button", name="Apply corrections").click()
    # Dates that a CSV would hide come first: the refusal is at the cell, and what was typed stays.
    await expect(problems.get_by_text("a CSV copy would not show it")).to_be_visible()
    await expect(problems.get_by_label("Correct all 8 to")).to_have_value("9:18")
    # The address is one to load again: a reload sends nothing twice.
    await expect(page).to_have_url(re.compile(r"/new\?sheet="))
    await look(page, "3-refused")
    await correct(problems, "Correct to", "9:16", within="is a date that the spreadsheet made")
    await correct(problems, "Correct all 8 to", "9:16")
    await correct(problems, "Correct all 3 to", "2027-12-01", within="12/1/2027 is not a date")
    await correct(problems, "Correct all 3 to", "8", within="bald is not a whole")
    await correct(problems, "Correct all 4 to", "Deutsch")
    await correct(problems, "Correct all 2 to", "English")
    for row in ("AH-7", "AH-8"):
        await correct(problems, "Correct to", f"Say {row}.", within=f"{row} is empty")
    await page.get_by_role("button", name="Apply corrections").click()
    await expect(page.get_by_text("No problem is left in spring.csv")).to_be_visible()


async def choose_languages(page: Page) -> None:
    """Have every row made in three languages and two shapes."""
    rows = page.locator("#all-rows")
    for chosen in ("German", "English", "Spanish", "9:16 upright", "1:1 square"):
        await rows.get_by_text(chosen, exact=True).click()
    counted = "3 languages x 2 shapes = 6 videos for each row. 24 rows: 144 videos."
    await expect(rows.get_by_role("status")).to_have_text(counted)
    await look(page, "4-languages")
    await rows.get_by_role("button", name="Make the copy").click()
    await expect(
        page.get_by_text("It means 24 rows x 3 languages x 2 ratios = 144")
    ).to_be_visible()
    await look(page, "5-done")


async def approve(page: Page) -> None:
    """See the price of every row, approve it, and watch until all videos are there."""
    await page.get_by_role("button", name="Show the price").click()
    button = page.get_by_role("button", name="Approve 144 rows for")
    await expect(button).to_be_visible(timeout=WITHIN)
    await look(page, "6-plan")
    await button.click()
    progress = page.get_by_role("status", name="Progress")
    await expect(progress).to_contain_text("144 of 144 delivered", timeout=WITHIN)
    await look(page, "7-delivered")


async def review(page: Page) -> None:
    """Reject one video at a second of it, and keep all others at once."""
    await page.goto(f"/c/spring/videos?open={FIRST}")
    about = page.locator(f'#about[data-row="{FIRST}"]:not(.is-loading)')
    await about.get_by_label("Note").fill("0:02 the price is wrong")
    await about.get_by_role("button", name="wording").click()
    await expect(page.locator(f"#video-{FIRST}")).to_contain_text("rejected: wording")
    await page.goto("/c/spring/videos?review=none")
    await look(page, "8-videos")
    await page.get_by_role("checkbox", name="Select all 143").check()
    await page.get_by_role("button", name="Keep selected").click()
    await expect(page.get_by_text("143 videos kept.").last).to_be_visible()
    # The script has run by then, however slow this machine is.
    await expect(page).not_to_have_url(re.compile(r"[?&]done="))
    await page.reload()
    await expect(page.get_by_text("143 videos kept.")).to_have_count(0)


async def retake(page: Page) -> None:
    """Have the rejected one made again, which then is good."""
    await page.goto("/c/spring/videos")
    await page.get_by_role("button", name="Retake 1 rejected").click()
    await expect(page.get_by_text("wording: 0:02 the price is wrong")).to_be_visible()
    await look(page, "9-retake")
    await page.get_by_role("button", name="Approve 1 row for").click()
    progress = page.get_by_role("status", name="Progress")
    await expect(progress).to_contain_text("144 of 144 delivered", timeout=WITHIN)
    await page.goto(f"/c/spring/videos?open={FIRST}")
    about = page.locator(f'#about[data-row="{FIRST}"]:not(.is-loading)')
    await about.get_by_role("button", name="Keep").click()
    await expect(page.locator(f"#video-{FIRST}")).to_contain_text("kept")
    await page.goto("/c/spring/report")
    await look(page, "10-report")


async def make_link(page: Page) -> str:
    """Make a link to the German videos of one row for the client; return its address."""
    await page.goto("/c/spring/videos?language=de&q=AH-1-")
    await page.get_by_role("link", name="Make a guest link to these videos").click()
    await page.get_by_label("For", exact=True).fill("Acme")
    await page.get_by_role("group", name="May").get_by_text("decide").click()
    await page.get_by_label("Decide by").fill(f"{datetime.now(UTC).date() + timedelta(days=3)}")
    await page.get_by_role("button", name="Make a link").click()
    made = page.get_by_role("status", name="Link")
    await expect(made).to_be_visible()
    await look(page, "11-link")
    found = re.search(r"http://\S+/login\?code=[\w-]+", await made.inner_html())
    return found[0]


async def decide(client: Page) -> None:
    """Approve one video, and reject the other at a second of it, as the client."""
    await client.get_by_label("Your name").fill("Mia Chen")
    await look(client, "12-door")
    await client.get_by_role("button", name="Open the videos").click()
    await expect(client.locator("#videos > li")).to_have_count(2)
    await look(client, "13-clients-page")
    assert "credits" not in await client.content()
    for row, verdict in ((FIRST, "Approve"), (SECOND, "brand")):
        await client.goto(f"/c/spring/videos?open={row}")
        about = client.locator(f'#about[data-row="{row}"]:not(.is-loading)')
        if row == SECOND:
            await about.get_by_label("Note").fill("0:01 the old logo")
        await about.get_by_role("button", name=verdict).click()
        said = "approved" if verdict == "Approve" else f"rejected: {verdict}"
        await expect(client.locator(f"#video-{row}")).to_contain_text(said)


async def look(page: Page, name: str) -> None:
    """Look at a page: it fits every window, and nobody is kept out of it."""
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        await page.set_viewport_size({"width": width, "height": 844})
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        await picture(page, f"{name}-{width}-{scheme}", full_page=True)
        assert await page.evaluate(WIDE) <= 0, (name, width)
        if width == 390:
            assert await page.evaluate(TALL) <= 3 * 844, name
        if width == 1280:
            assert not await barriers(page, colors_alone=scheme == "dark")
    await page.set_viewport_size({"width": 1280, "height": 900})


async def correct(problems: Locator, label: str, text: str, *, within: str = "") -> None:
    """Type the new text of one cell, or of all cells of a kind."""
    found = problems.get_by_role("listitem").filter(has_text=within).last if within else problems
    await found.get_by_label(label, exact=True).first.fill(text)
