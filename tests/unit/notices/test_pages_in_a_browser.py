"""Mails as people see them: light and dark, on a phone, and by everybody."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from callsheet.tasks.notices.emails import alarm_letter, digest_letter
from tests.board.looking import barriers, picture
from tests.unit.notices.test_letters import FULL

ALARM = ("The ledger is locked by another program.", "`callsheet nights list` says what is.")
LETTERS = {
    "digest": digest_letter(FULL),
    "alarm": alarm_letter(
        "spring: the nightly run failed", ALARM, inbox="spring", link="https://b"
    ),
}


@pytest.mark.merge
async def test_a_mail_can_be_read_by_everybody(chromium: Browser) -> None:
    found: list[str] = []
    for scheme in ("light", "dark"):
        page = await chromium.new_page(color_scheme=scheme)  # type: ignore[arg-type]
        for name, letter in LETTERS.items():
            await page.set_content(letter.html)
            for width in (720, 360):
                await page.set_viewport_size({"width": width, "height": 700})
                wide = await page.evaluate("document.documentElement.scrollWidth")
                found += [f"{name} is {wide} wide on {width}"] if wide > width else []
                await picture(page, f"mail-{name}-{scheme}-{width}", full_page=True)
            found += await barriers(page)

    assert found == []
