"""A board whose ledger is not there for a while says so, and goes on once it is back."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.board.conftest import board_at

pytestmark = pytest.mark.merge


async def test_a_ledger_away_is_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with board_at(tmp_path) as board:
        caplog.clear()
        home, away = tmp_path / ".callsheet", tmp_path / "away"
        home.rename(away)
        with caplog.at_level(logging.WARNING, "callsheet.board"):
            told = await board.viewer.get("/api/v1/campaigns")
            page = await board.viewer.get("/", headers={"accept": "text/html"})
        away.rename(home)
        again = await board.viewer.get("/api/v1/campaigns")

    assert (told.status_code, page.status_code, again.status_code) == (503, 503, 200)
    assert (
        told.json()["detail"]
        == "the ledger is not available right now; nothing that you paid for is lost"
    )
    # Where it is stands in the log alone.
    assert str(tmp_path) not in told.text + page.text
    said = [one.getMessage() for one in caplog.records if one.name == "callsheet.board"]
    assert any("was moved or deleted while it was in use" in one for one in said)
    assert not any(one.exc_info or one.exc_text for one in caplog.records)
