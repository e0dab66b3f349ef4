"""The board's pages in a real browser: nobody is kept out, and what is live stays true."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Route, expect

from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.takes import settle
from tests.board.conftest import OpenBoard
from tests.board.looking import barriers, picture, watched
from tests.board.test_screens import in_every_state
from tests.campaigns import NOW, VIDEO, Stage, brief

pytestmark = pytest.mark.merge

PAGES = (
    "/", "/new", "/c/spring", "/c/spring?state=stalled", "/c/spring?q=nothing",
    "/c/spring/attention", "/c/spring/report", "/c/spring/rows/failed",
    "/c/spring/rows/uncertain", "/people", "/settings", "/activity", "/health", "/login",
    "/costs", "/costs?by=tag",
)  # fmt: skip
#: Where every colour is seen, which the dark look has of its own.
COLOURFUL = ("/c/spring", "/c/spring/attention", "/c/spring/rows/failed", "/new")
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def test_nobody_is_kept_out(open_board: OpenBoard, chromium: Browser) -> None:
    await look_through(open_board, chromium, "light")


async def look_through(open_board: OpenBoard, chromium: Browser, how: str) -> None:
    """Open every page in one look; none keeps anybody out, and none is wider than its window."""
    await in_every_state(open_board)
    looks = {"color_scheme": "dark"} if how == "dark" else {}
    size = {"width": 360, "height": 780} if how == "phone" else {"width": 1280, "height": 900}
    context = await open_board.logged_in(chromium, "admin", viewport=size, **looks)
    page = await context.new_page()

    found: list[str] = []
    async with watched(context):
        for path in PAGES:
            await page.goto(path)
            await picture(page, f"{how}-{path.strip('/').replace('/', '-') or 'campaigns'}")
            if how == "light" or (how == "dark" and path in COLOURFUL):
                found += await barriers(page)
            assert await page.evaluate(WIDE) <= 0, path
    assert not found


async def test_a_row_changes_before_ones_eyes(open_board: OpenBoard, chromium: Browser) -> None:
    stage = await Stage.set(open_board.ledger, *map(brief, "abc"))
    page = await (await open_board.logged_in(chromium, "approver")).new_page()
    await page.goto("/c/spring")
    rows = page.get_by_role("table", name="Rows")
    await rows.get_by_role("checkbox", name="Select b").check()
    await page.keyboard.press("j")

    await stage.delivered("a")

    await expect(rows.get_by_role("row", name="a Tea").first).to_contain_text("delivered")
    await expect(page.get_by_role("status", name="Progress")).to_contain_text(
        "1 of 3 delivered", timeout=15_000
    )
    assert await page.title() == "1 of 3 – spring · Callsheet"
    await expect(rows.get_by_role("checkbox", name="Select b")).to_be_checked()
    await expect(page.get_by_text("1 of 3 selected")).to_be_visible()
    await expect(page.get_by_role("link", name="delivered 1")).to_be_visible()
    assert await page.evaluate("document.activeElement.textContent") == "c"


#: Stands in for the browser's notifications: what was asked, and what was said.
NOTIFICATIONS = """
window.told = []; window.asked = 0; window.rung = 0;
window.Notification = class {
  static permission = sessionStorage.getItem("allowed") || "default";
  static async requestPermission() {
    window.asked += 1;
    Notification.permission = "granted";
    sessionStorage.setItem("allowed", "granted");
  }
  constructor(title, more) { window.told.push([title, more.body.split(".")[0]]); }
};
window.AudioContext = class extends window.AudioContext {
  constructor() { super(); window.rung += 1; }
};
"""


async def test_the_icon_follows_the_run_and_who_is_elsewhere_is_told_of_its_end(
    open_board: OpenBoard, chromium: Browser
) -> None:
    stage = await Stage.set(open_board.ledger, brief("a"), brief("b"))
    await stage.rendering("a")
    await stage.rendering("b")
    context = await open_board.logged_in(chromium, "viewer")
    page = await context.new_page()
    await page.add_init_script(NOTIFICATIONS)
    await page.goto("/c/spring")
    icon = page.locator("link[rel=icon]")
    await expect(icon).to_have_attribute("href", "/static/callsheet-running.svg")
    notify = page.get_by_role("checkbox", name="Notify me")

    # Nobody is asked before they want it, and what they want is remembered.
    assert await page.evaluate("[asked, told.length, rung]") == [0, 0, 0]
    await notify.check()
    await page.get_by_role("checkbox", name="Play a sound").check()
    await page.reload()
    await expect(notify).to_be_checked()
    assert await page.evaluate("[asked, told.length, rung]") == [0, 0, 0]
    await stage.moved(await stage.row("a"), "stalled", "no video by the deadline")
    await expect(icon).to_have_attribute("href", "/static/callsheet-attention.svg", timeout=15_000)
    await stage.moved(await stage.row("a"), "rendering", "it is looked at again")
    await expect(icon).to_have_attribute("href", "/static/callsheet-running.svg", timeout=15_000)
    for name in ("a", "b"):
        found = await stage.row(name)
        await stage.write(settle, found, found.take, new="ready", charged=None, at=NOW)
        found = await stage.row(name)
        await stage.write(deliver, found, found.take, files=[VIDEO], at=NOW)

    await expect(icon).to_have_attribute("href", "/static/callsheet-done.svg", timeout=15_000)
    assert await page.evaluate("told") == [
        ["spring: rows need attention", "0 of 2 delivered, 1 under way, 1 stalled"],
        ["spring: the run has ended", "2 of 2 delivered"],
    ]
    assert await page.evaluate("rung") == 2
    for name in ("running", "attention", "done"):
        answer = await page.request.get(f"/static/callsheet-{name}.svg")
        assert answer.headers["content-type"] == "image/svg+xml"


async def test_a_cut_stream_is_said_and_made_good(open_board: OpenBoard, chromium: Browser) -> None:
    stage = await Stage.set(open_board.ledger, brief())
    context = await open_board.logged_in(chromium, "viewer")
    page = await context.new_page()
    cut = True

    async def through(route: Route) -> None:
        await (route.abort() if cut else route.continue_())

    await context.route("**/c/spring/live*", through)
    await page.goto("/c/spring")
    missed = page.get_by_text("Not live since")
    await expect(missed).to_be_visible(timeout=15_000)
    await stage.delivered()
    cut = False

    await expect(missed).to_be_hidden(timeout=30_000)
    await expect(page.get_by_role("row", name="a Tea")).to_contain_text("delivered")


async def test_keys_move_and_never_spend(open_board: OpenBoard, chromium: Browser) -> None:
    await Stage.set(open_board.ledger, *map(brief, "abc"))
    page = await (await open_board.logged_in(chromium, "approver")).new_page()
    await page.goto("/c/spring")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.method))

    for key in ("j", "j", "x", "k", "x", "a", "r"):
        await page.keyboard.press(key)
    await expect(page.get_by_text("2 of 3 selected")).to_be_visible()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox", name="Find")).to_be_focused()
    await page.keyboard.type("jx?")
    await expect(page.get_by_role("searchbox", name="Find")).to_have_value("jx?")

    assert set(asked) <= {"GET"}
