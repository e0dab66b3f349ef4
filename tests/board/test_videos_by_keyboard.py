"""The videos page in a real browser: by keyboard alone, many videos, two people, all people."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from callsheet.tasks.ledger.row_pages import Counts, counts_of
from tests.board.conftest import OpenBoard
from tests.board.looking import barriers, picture, watched
from tests.board.with_videos import another_take, stored, with_videos
from tests.campaigns import Stage

pytestmark = pytest.mark.merge

PAGE = "/c/spring/videos"


async def test_videos_are_decided_by_keyboard_alone(
    open_board: OpenBoard, chromium: Browser
) -> None:
    await decide_by_keyboard(open_board, chromium, videos=24, decisions=20)


async def decide_by_keyboard(
    open_board: OpenBoard, chromium: Browser, *, videos: int, decisions: int
) -> None:
    """Decide on so many of so many videos, and see that each was decided on as it was meant."""
    files = stored(open_board.board.settings.store)
    stage = await with_videos(open_board.ledger, videos, files=files)
    context = await open_board.logged_in(chromium, "reviewer")
    left = videos - decisions
    async with watched(context):
        page = await context.new_page()
        await page.goto(PAGE)
        for number in range(decisions):
            await _decide(page, number)
        await expect(page.locator("#which")).to_contain_text(f"Undecided {left}")
        assert await page.locator("#videos > li").count() > decisions
        assert await page.locator("video").count() == 1
        await picture(page, f"videos-{decisions}-decisions")
    kept = decisions * 8 // 10
    counts = await _counted(stage)
    assert counts.reviews == {"keep": kept, "reject": decisions - kept, "none": left}


async def _decide(page: Page, number: int) -> None:
    """Keep most, reject some for a reason, and some with a note of one's own."""
    if number % 10 == 3:
        await page.keyboard.press("2")
    elif number % 10 == 7:
        for key in ("r", "n"):
            await page.keyboard.press(key)
        await page.keyboard.type("darker, jx1a")
        for key in ("Control+Enter", "."):
            await page.keyboard.press(key)
    else:
        await page.keyboard.press("a")


async def test_keys_select_compare_and_take_back(open_board: OpenBoard, chromium: Browser) -> None:
    files = stored(open_board.board.settings.store)
    stage = await with_videos(open_board.ledger, 6, files=files, flagged=[4])
    await another_take(stage, "row-2", files=files)
    context = await open_board.logged_in(chromium, "approver")
    async with watched(context):
        page = await context.new_page()
        await page.goto(PAGE)
        await page.keyboard.press("a")
        await page.keyboard.press("c")
        await expect(page.locator("video")).to_have_count(2)
        await picture(page, "videos-two-takes")
        await page.keyboard.press("j")
        await expect(page.locator("video")).to_have_count(1)
        await page.keyboard.press("x")
        await expect(page.get_by_text("1 of 6 selected")).to_be_visible()
        await page.keyboard.press("p")
        await page.wait_for_function("() => document.getElementById('player').currentTime > 0.1")
        await expect(page.locator("#cues li")).to_have_text(
            ["0:00 The kettle that hums.", "0:00 Free engraving & more."]
        )
        await page.keyboard.press("u")
        await expect(page.locator("#decided-row-1")).to_contain_text("undecided")
        assert await _open_row(page) == "row-1"
        # Who turned single keys off decides by none.
        await page.keyboard.press("?")
        await page.get_by_label("Turn single keys off").check()
        await page.keyboard.press("Escape")
        await page.keyboard.press("a")
        await picture(page, "videos-light")
    assert (await _counted(stage)).reviews == {"keep": 0, "reject": 0, "none": 6}


async def test_the_strip_leads_into_the_video(open_board: OpenBoard, chromium: Browser) -> None:
    await with_videos(open_board.ledger, 2, files=stored(open_board.board.settings.store))
    context = await open_board.logged_in(chromium, "viewer")
    async with watched(context):
        page = await context.new_page()
        await page.goto(PAGE)
        poster = page.locator("#video-row-2 .poster")
        await poster.hover()
        await expect(poster.locator(".strip")).to_be_visible()
        box = await poster.bounding_box()
        await page.mouse.click(box["x"] + box["width"] * 0.85, box["y"] + 20)
        await page.wait_for_function("() => document.getElementById('player').currentTime >= 0.8")
        await page.mouse.move(0, 0)
        await expect(poster.locator(".strip")).to_have_count(0)
        assert await _open_row(page) == "row-2"


async def test_the_second_person_sees_who_was_first(
    open_board: OpenBoard, chromium: Browser
) -> None:
    await with_videos(open_board.ledger, 1, files=stored(open_board.board.settings.store))
    rita = await (await open_board.logged_in(chromium, "reviewer")).new_page()
    ann = await (await open_board.logged_in(chromium, "approver")).new_page()
    await rita.goto(PAGE)
    await ann.goto(PAGE)

    await rita.locator("#about").get_by_role("button", name="voice").click()
    await expect(rita.locator("#decided-row-1")).to_contain_text("rejected: voice")
    await ann.keyboard.press("a")

    await expect(ann.locator("#video-row-1").get_by_role("alert")).to_contain_text(
        "rejected by Rita: voice; nothing was changed"
    )
    await picture(ann, "videos-second")
    await ann.keyboard.press("a")
    await expect(ann.locator("#decided-row-1")).to_contain_text("kept")

    # What does not reach the board is said where it was decided, and the video is as it was.
    await ann.route("**/review", lambda route: route.abort())
    await ann.keyboard.press("1")
    lost = ann.locator("#video-row-1").get_by_role("alert")
    await expect(lost).to_contain_text("This was not noted")
    await ann.unroute("**/review")
    await ann.keyboard.press("1")
    await expect(ann.locator("#decided-row-1")).to_contain_text("rejected: wording")


async def test_nobody_is_kept_out_of_the_videos(open_board: OpenBoard, chromium: Browser) -> None:
    files = stored(open_board.board.settings.store)
    stage = await with_videos(open_board.ledger, 8, files=files, flagged=[3])
    await another_take(stage, "row-1", files=files)
    context = await open_board.logged_in(chromium, "approver", color_scheme="light")
    async with watched(context):
        page = await context.new_page()
        await page.goto(f"{PAGE}?open=row-1&compare=yes")
        await page.locator("#video-row-2").get_by_role("button", name="Keep").click()
        await page.locator("#video-row-3").get_by_role("button", name="Reject").click()
        await expect(page.locator("#decided-row-3")).to_contain_text("rejected")
        found = await barriers(page)
        await page.emulate_media(color_scheme="dark")
        await picture(page, "videos-dark", full_page=True)
        found += await barriers(page)
        await page.set_viewport_size({"width": 360, "height": 780})
        await picture(page, "videos-phone")
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(wide) <= 0
    assert not found


async def _counted(stage: Stage) -> Counts:
    return await stage.ledger.read(counts_of, campaign_id=stage.campaign.id)


async def _open_row(page: Page) -> str | None:
    return await page.locator("#videos > [aria-current]").get_attribute("data-row")


async def test_a_note_survives_a_look_at_another_video_and_a_verdict_beside_it_goes_on(
    open_board: OpenBoard, chromium: Browser
) -> None:
    files = stored(open_board.board.settings.store)
    await with_videos(open_board.ledger, 3, files=files)
    page = await (await open_board.logged_in(chromium, "reviewer")).new_page()
    await page.goto(PAGE)
    note = page.get_by_role("textbox", name="Note")
    await note.fill("darker, please")

    await page.keyboard.press("Escape")
    await page.keyboard.press("j")
    await expect(page.locator("#about")).to_have_attribute("data-row", "row-2")
    await expect(note).to_have_value("")
    await page.keyboard.press("k")

    await expect(page.locator("#about")).to_have_attribute("data-row", "row-1")
    await expect(note).to_have_value("darker, please")
    await page.locator("#about").get_by_role("button", name="Keep").click()
    await expect(page.locator("#about")).to_have_attribute("data-row", "row-2")
    await expect(page.locator("#video-row-1")).to_contain_text("kept")
