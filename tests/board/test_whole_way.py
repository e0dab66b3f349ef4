"""From a sheet with mistakes to kept videos, in a real browser against `callsheet board`.

PICTURES=FOLDER python -m pytest tests/board/test_whole_way.py     takes a picture of every step
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.board.looking import picture, watched
from tests.board.whole_board import WholeBoard, whole_board

pytestmark = pytest.mark.merge

COLUMNS = "id,tool,fields.product,title,duration_seconds,aspect_ratio,language,captions"
VIDEOS = {
    "hero": "product-launch,Copper kettle,The Kettle That Hums{},5,9:16,en,both",
    "hero-de": "product-launch,Kupferkessel,Der Kessel singt{},5,9:16,de,both",
    "how": "explainer,Copper kettle,Why Copper Boils First{},5,16:9,en,both",
    "shop": "announcement,The corner shop,We Open When It Sings{},5,1:1,en,both",
}


def sheet_of(words: str = "") -> str:
    """A sheet of four videos; with other words in their titles they are other videos."""
    rows = [f"{row},{cells}".format(words) for row, cells in VIDEOS.items()]
    return "\n".join([COLUMNS, *rows]) + "\n"


SHEET = sheet_of()
MISTAKEN = SHEET.replace("16:9", "16:19").replace("\nshop,", "\nhero,")
WITHIN = 60_000


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeBoard]:
    with whole_board(tmp_path_factory.mktemp("board")) as opened:
        yield opened


async def test_from_a_sheet_with_mistakes_to_kept_videos(
    board: WholeBoard, chromium: Browser
) -> None:
    context = await chromium.new_context(base_url=board.url)
    context.set_default_timeout(WITHIN)
    async with watched(context) as complaints:
        page = await context.new_page()
        await page.goto(board.said["login"])
        await page.get_by_role("button", name="Log in as").click()
        await picture(page, "01-nothing-yet")

        await page.get_by_role("link", name="New campaign").first.click()
        await hand_in(page, "spring.csv", MISTAKEN)
        problems = page.get_by_role("region", name="Problems")
        await expect(problems).to_contain_text("16:19")
        await expect(problems).to_contain_text("Line 5")
        await picture(page, "02-mistakes")
        # A sheet with mistakes is refused by its status too, which the browser remarks upon.
        assert [one for one in complaints if "422" not in one] == []
        complaints.clear()

        await page.get_by_label("Rows as text").fill(SHEET)
        await page.get_by_role("button", name="Check").click()
        await picture_of_plan(page)
        await page.get_by_role("button", name="Approve 4 rows for").click()
        await expect(page.get_by_role("status", name="Progress")).to_contain_text(
            "4 of 4 delivered", timeout=WITHIN
        )
        await expect(page.get_by_role("table", name="Rows")).to_contain_text("delivered")
        await picture(page, "04-delivered")
        # By keys one comes to the row's own page, past its picture.
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/c/spring/rows/*")
        await page.go_back()

        await page.get_by_role("link", name="Videos").first.click()
        await reject(page, "hero", "wording", "it is a kettle, no teapot")
        await reject(page, "how", "picture", "brighter")
        await picture(page, "05-two-rejected")

        await make_again(page)
        await expect(page.get_by_role("status", name="Progress")).to_contain_text(
            "4 of 4 delivered", timeout=WITHIN
        )
        await picture(page, "07-made-again")

        await page.goto("/c/spring/videos?open=hero")
        await page.get_by_role("link", name="Compare with take 1").click()
        await expect(page.locator("video")).to_have_count(2)
        await picture(page, "08-beside-the-take-before")
        await page.get_by_role("checkbox", name="Select all 4").check()
        await page.get_by_role("button", name="Keep selected").click()
        await expect(page.get_by_text("4 videos kept.").last).to_be_visible()
        await picture(page, "09-kept")

        await page.get_by_role("link", name="Report").click()
        await picture(page, "10-report", full_page=True)
    rows = board.desk.rows("spring")
    assert {row: (line["take"], line["review"]) for row, line in rows.items()} == {
        "hero": (2, "keep"),
        "hero-de": (1, "keep"),
        "how": (2, "keep"),
        "shop": (1, "keep"),
    }
    assert len(board.service.bought()) == 6


@pytest.mark.slow
async def test_the_same_without_scripts(board: WholeBoard, chromium: Browser) -> None:
    context = await chromium.new_context(base_url=board.url, java_script_enabled=False)
    context.set_default_timeout(WITHIN)
    async with watched(context):
        page = await context.new_page()
        await log_in(page, board)
        await page.get_by_role("link", name="New campaign").first.click()
        await hand_in(page, "plain.csv", sheet_of(" Again"))
        await page.get_by_role("button", name="Approve 4 rows for").click()
        await until_delivered(page, "plain")
        await page.get_by_role("link", name="Videos").first.click()
        await picture(page, "11-without-scripts")
        about = page.locator("#about")
        await about.get_by_role("button", name="Keep").click()
        await expect(about).to_have_attribute("data-row", "hero-de")
        await about.get_by_role("button", name="Reject").click()
        await about.get_by_label("Note").fill("slower")
        await about.get_by_role("button", name="voice").click()
        await expect(about).to_have_attribute("data-row", "how")
        await page.get_by_role("button", name="Retake 1 rejected").click()
        await page.get_by_role("button", name="Approve 1 row for").click()
        await until_delivered(page, "plain")
        await page.goto("/c/plain/videos?review=none")
        await page.get_by_role("checkbox", name="Select all 3").check()
        await page.get_by_role("button", name="Keep selected").click()
        await expect(page.get_by_text("3 videos kept.").last).to_be_visible()
        await page.get_by_role("link", name="Report").click()
        await expect(page.get_by_text("of 4 videos")).to_be_visible()
    rows = board.desk.rows("plain")
    assert {line["review"] for line in rows.values()} == {"keep"}
    assert rows["hero-de"]["take"] == 2


async def log_in(page: Page, board: WholeBoard) -> None:
    """Come in by the token, as the one-time address is used up."""
    await page.goto("/login")
    await page.get_by_label("Token").fill(board.said["token"])
    await page.get_by_role("button", name="Log in").click()


async def until_delivered(page: Page, campaign: str) -> None:
    """Look again and again, as somebody does whose page is not live."""
    progress = page.get_by_role("status", name="Progress")
    for _ in range(60):
        await page.goto(f"/c/{campaign}")
        if "4 of 4 delivered" in await progress.inner_text():
            return
        await asyncio.sleep(1)
    await expect(progress).to_contain_text("4 of 4 delivered")


async def hand_in(page: Page, name: str, text: str) -> None:
    """Hand in a sheet and have it checked."""
    file = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    await page.get_by_label("Sheet", exact=True).set_input_files([file])  # type: ignore[list-item]
    await page.get_by_role("button", name="Check").click()


async def picture_of_plan(page: Page) -> None:
    await expect(page.get_by_role("button", name="Approve")).to_be_visible(timeout=WITHIN)
    await picture(page, "03-plan")


async def reject(page: Page, row: str, reason: str, note: str) -> None:
    """Reject a video on the contact sheet with a reason and a note."""
    card = page.locator(f"#video-{row}")
    await card.get_by_role("link").click()
    about = page.locator(f'#about[data-row="{row}"]:not(.is-loading)')
    await about.get_by_label("Note").fill(note)
    await about.get_by_role("button", name=reason).click()
    await expect(card).to_contain_text(f"rejected: {reason}")


async def make_again(page: Page) -> None:
    """Have the rejected videos made again, at a price that is seen first."""
    await page.get_by_role("button", name="Retake 2 rejected").click()
    await expect(page.get_by_role("button", name="Approve 2 rows for")).to_be_visible()
    await expect(page.get_by_text("wording: it is a kettle, no teapot")).to_be_visible()
    await picture(page, "06-retake")
    await page.get_by_role("button", name="Approve 2 rows for").click()
