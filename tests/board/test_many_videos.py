"""A matrix of more than 10,000 videos is planned when a person says so."""

from __future__ import annotations

import pytest

from tests.board.conftest import OpenBoard
from tests.board.stage import API, hand_in

pytestmark = pytest.mark.merge

SPOKEN = "|".join(f"v{number}" for number in range(10_001))
SHEET = f"id,script,matrix.voice_id\na,Run.,{SPOKEN}\n"


async def test_programs_say_that_they_want_many(open_board: OpenBoard) -> None:
    who = open_board.reviewer
    found = await hand_in(who, "s.csv", SHEET)
    assert "means 10,001 videos" in found["problems"][0]["words"]
    asked = {"sheet": found["sheet"]}
    assert (await who.post(f"{API}/plans", json=asked)).status_code == 422
    answer = await who.post(f"{API}/plans", json={**asked, "yes_many": True})
    assert answer.status_code == 202, answer.text
