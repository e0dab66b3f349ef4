"""A matrix of more than 10,000 videos is planned when a person says so."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.board.conftest import OpenBoard
from tests.board.stage import API, hand_in

pytestmark = pytest.mark.merge

SPOKEN = "|".join(f"v{number}" for number in range(10_001))
SHEET = f"id,script,matrix.voice_id\na,Run.,{SPOKEN}\n"


async def test_the_page_asks_for_many_videos(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    # Ten thousand videos take a while on a busy machine.
    browser.timeout = httpx.Timeout(120)
    terms = {"budget": "120", "campaign": "spring"}
    asked = await browser.post("/new", files={"sheet": ("s.csv", SHEET)}, data=terms)
    assert asked.status_code == 422
    assert "s.csv means 10,001 videos, more than 10,000" in asked.text
    assert "--yes-many" not in asked.text
    form = asked.text.partition("<form")[2].partition("I want them all")[0].rpartition("<form")[2]
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    assert {**terms, "yes_many": "yes"}.items() <= fields.items()

    plan = await browser.post("/new", data=fields, files={"x": ("", b"")})
    assert plan.url.path.startswith("/plans/")
    assert "spring" in plan.text


async def test_programs_say_that_they_want_many(open_board: OpenBoard) -> None:
    who = open_board.reviewer
    found = await hand_in(who, "s.csv", SHEET)
    assert "means 10,001 videos" in found["problems"][0]["words"]
    asked = {"sheet": found["sheet"]}
    assert (await who.post(f"{API}/plans", json=asked)).status_code == 422
    answer = await who.post(f"{API}/plans", json={**asked, "yes_many": True})
    assert answer.status_code == 202, answer.text
