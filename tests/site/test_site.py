"""The site of the docs: whole, and nothing of it comes from another host."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser import find_browser
from tests.site.site import main

pytestmark = pytest.mark.merge


def test_the_site_is_built_strictly_and_needs_no_other_host(tmp_path: Path) -> None:
    main(tmp_path / "site")
    pages = sorted((tmp_path / "site").rglob("*.html"))
    asked: set[str] = set()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda one: asked.add(one.url))
        for path in pages:
            page.goto(path.as_uri())
        browser.close()
    assert len(pages) > 20
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
