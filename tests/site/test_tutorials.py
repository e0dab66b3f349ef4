"""The tutorials, followed word for word: files saved, commands typed, buttons clicked.

NEW_PICTURES=yes takes their pictures again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser import find_browser
from tests.site.pages import DOCS, Prose, steps_of
from tests.site.terminal import Reader
from tests.web import free_port

pytestmark = pytest.mark.merge

TUTORIALS = DOCS / "tutorials"
WITHIN = 60_000
#: What a paragraph tells people to do in a browser.
_ACT = re.compile(
    r"[Cc]lick \*\*(?P<click>[^*]+)\*\*|[Cc]hoose `(?P<file>[^`]+)` for \*\*(?P<field>[^*]+)\*\*"
    r"|[Yy]ou see \*\*(?P<see>[^*]+)\*\*|!\[[^]]*\]\((?P<picture>[^)]+)\)"
)


def test_the_tutorial_of_the_api(tmp_path: Path) -> None:
    follow("api", Reader(tmp_path))


@pytest.mark.prefect
def test_the_tutorial_for_prefect_engineers(tmp_path: Path) -> None:
    ports = {"4200": str(free_port())}
    reader = Reader(tmp_path, {"PREFECT_HOME": str(tmp_path / "home")}, ports)
    follow("prefect", reader)


def test_the_tutorial_for_marketers(tmp_path: Path, browser_page: Page) -> None:
    # No browser of whoever runs the tests opens.
    reader = Reader(tmp_path, instead={"--open": "--port 0"})
    follow("marketer", reader, browser_page)


@pytest.fixture
def browser_page() -> Iterator[Page]:
    """A page in a real browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(WITHIN)
        yield page
        browser.close()


def follow(tutorial: str, reader: Reader, page: Page | None = None) -> None:
    """Do everything that a tutorial says."""
    try:
        for step in steps_of(TUTORIALS / f"{tutorial}.md"):
            reader.follow(step)
            if page is not None and isinstance(step, Prose):
                for act in _ACT.finditer(step.text):
                    if page.url == "about:blank":
                        (login,) = re.findall(r"http\S+login\S+", reader.printed_in("terminal"))
                        page.goto(login)
                    do(page, reader.folder, act)
    finally:
        reader.close()


def do(page: Page, folder: Path, act: re.Match[str]) -> None:
    """Do one thing in the browser, see what the page says is to be seen, or take its picture."""
    if act["file"]:
        page.get_by_label(act["field"], exact=True).set_input_files(folder / act["file"])
    elif act["picture"]:
        picture = TUTORIALS / act["picture"]
        if os.environ.get("NEW_PICTURES"):
            page.wait_for_timeout(3000)
            page.screenshot(path=picture)
        assert picture.exists(), "NEW_PICTURES=yes takes it"
    elif act["see"]:
        expect(page.get_by_text(act["see"]).locator("visible=true").first).to_be_visible(
            timeout=WITHIN
        )
    else:
        found = page.get_by_role("button", name=act["click"])
        found.or_(page.get_by_role("link", name=act["click"])).first.click()
