"""Copies of a video at other places, as the page and the call of its row show them."""

from __future__ import annotations

from functools import partial

import pytest

from callsheet.tasks.ledger.deliveries import FileCopy, note_copies
from tests.board.conftest import OpenBoard
from tests.board.with_videos import with_videos


@pytest.mark.merge
async def test_a_row_shows_its_copies_and_why_one_is_on_hold(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 2)
    row = await stage.row("row-1")
    copy = partial(FileCopy, take_id=row.take.id, kind="mp4", sha256="a" * 64, bytes=9)
    there, held = copy(uri="s3://one/a.mp4"), copy(uri="s3://two/a.mp4", fault="another file")
    await open_board.ledger.write(
        note_copies, campaign_id=row.campaign_id, copies=[there, held], at=1.0
    )

    page = (await (await open_board.form("viewer")).get("/c/spring/rows/row-1")).text
    found = (await open_board.viewer.get("/api/v1/campaigns/spring/rows?row=row-1")).json()

    assert "Copy on hold: another file" in page
    assert "s3://one/a.mp4" in page
    assert found["rows"][0]["copies"] == [
        {"kind": "mp4", "uri": "s3://one/a.mp4", "held": None},
        {"kind": "mp4", "uri": "s3://two/a.mp4", "held": "another file"},
    ]
    other = (await open_board.viewer.get("/api/v1/campaigns/spring/rows?row=row-2")).json()
    assert "copies" not in other["rows"][0]
