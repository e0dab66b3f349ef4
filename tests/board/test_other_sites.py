"""What a real browser lets another site do with a board that somebody is logged in to: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext

from tests.board.conftest import OpenBoard

pytestmark = pytest.mark.merge

#: Their pages, with OURS for the board's origin.
PAGES = {
    "/link": '<a href="OURS/activity">look</a>',
    "/form": '<form method="post" action="OURS/people/invite"><input name="name" value="Eve">'
    '<input name="role" value="admin"></form><script>document.forms[0].submit()</script>',
    "/login": '<form method="post" action="OURS/login"><input name="token" value="TOKEN"></form>'
    "<script>document.forms[0].submit()</script>",
    "/frame": '<iframe src="OURS/"></iframe>',
    "/fetch": "<script>Promise.all([['cors', {}], ['no-cors', {}],"
    '[\'cors\', {method: \'POST\', body: \'{"name": "Eve", "role": "admin"}\'}]].map('
    "([mode, more]) => fetch('OURS/api/v1/people', {mode, credentials: 'include', ...more})"
    ".then(one => one.text(), () => 'refused'))).then(all => document.title = all.join())</script>",
    "/script": '<script src="OURS/api/v1/people"></script><img src="OURS/static/callsheet.svg">',
}


@pytest.fixture
async def theirs(open_board: OpenBoard) -> AsyncIterator[str]:
    """Serve their pages under another name of this machine, which is another site to a browser."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        page = PAGES.get(path, "").replace("OURS", open_board.origin)
        page = page.replace("TOKEN", open_board.people["viewer"].token)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n{page}".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}"


@pytest.fixture
async def ada(open_board: OpenBoard, chromium: Browser) -> BrowserContext:
    return await open_board.logged_in(chromium, "admin")


async def test_a_link_elsewhere_leads_in_whoever_is_logged_in(
    theirs: str, ada: BrowserContext, open_board: OpenBoard
) -> None:
    """The strict cookie does not come along at first, and does once the board asks for itself."""
    page = await ada.new_page()
    await page.goto(f"{theirs}/link")

    await page.click("a")
    await page.get_by_role("heading", name="Activity").wait_for()

    assert page.url == f"{open_board.origin}/activity"


async def test_a_one_time_address_elsewhere_asks_first_and_then_leads_in(
    theirs: str, open_board: OpenBoard, chromium: Browser
) -> None:
    PAGES["/mail"] = f'<a href="{open_board.people["reviewer"].login}">come in</a>'
    page = await chromium.new_page()
    await page.goto(f"{theirs}/mail")

    await page.click("a")
    await page.get_by_role("button", name="Log in as Rita").click()

    await page.wait_for_url(f"{open_board.origin}/")
    assert await page.get_by_role("heading", name="Campaigns").is_visible()


@pytest.mark.parametrize("path", ["/form", "/fetch"])
async def test_nothing_is_done_for_them(
    path: str, theirs: str, ada: BrowserContext, open_board: OpenBoard
) -> None:
    page = await ada.new_page()
    await page.goto(f"{theirs}{path}", wait_until="networkidle")

    if path == "/fetch":
        assert "Ada" not in await page.title()
    people = (await open_board.admin.get("/api/v1/people")).json()["people"]
    assert "Eve" not in {one["name"] for one in people}


async def test_nobody_is_logged_in_as_somebody_else_by_them(
    theirs: str, ada: BrowserContext, open_board: OpenBoard
) -> None:
    page = await ada.new_page()
    await page.goto(f"{theirs}/login", wait_until="networkidle")

    await page.goto(f"{open_board.origin}/login")

    assert "You are logged in as Ada" in await page.inner_text("main")


async def test_they_show_nothing_of_ours(
    theirs: str, ada: BrowserContext, open_board: OpenBoard
) -> None:
    ours = urlsplit(open_board.origin).netloc
    for path, kind in (("/frame", "iframe"), ("/script", "script")):
        page = await ada.new_page()
        refused = []
        page.on("requestfailed", lambda request: refused.append(request.url))  # noqa: B023
        await page.goto(f"{theirs}{path}", wait_until="networkidle")
        assert any(ours in url for url in refused), (kind, refused)
