"""What operators see of a board: `/metrics` at any name, and a ledger that is away."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from tests.board.conftest import OpenBoard, board_at

NAMED = {"host": "board.internal:8788"}


async def test_a_viewers_token_reads_metrics_by_any_name(open_board: OpenBoard) -> None:
    answer = await open_board.viewer.get("/metrics", headers=NAMED)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "callsheet_ledger_bytes " in answer.text
    assert (await open_board.viewer.get("/", headers=NAMED)).status_code == 421


@pytest.mark.safeguard(
    "deployments/board/pages/overview.py", "if not board.settings.metrics_open:", "if False:"
)
@pytest.mark.parametrize("token", [None, "csb_" + "x" * 40])
async def test_nobody_else_does(open_board: OpenBoard, token: str | None) -> None:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(base_url=open_board.origin, headers=headers) as stranger:
        answer = await stranger.get("/metrics")
        changed = await stranger.post("/metrics", headers=NAMED)

    assert (answer.status_code, answer.headers["www-authenticate"][:6]) == (401, "Bearer")
    assert changed.status_code == 421


async def test_where_it_is_set_anybody_does(tmp_path: Path) -> None:
    async with board_at(tmp_path, environ={"CALLSHEET_METRICS_OPEN": "yes"}) as opened:
        assert (await opened.nobody.get("/metrics", headers=NAMED)).status_code == 200
        assert (await opened.nobody.get("/api/v1/campaigns")).status_code == 401


@pytest.mark.merge
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
