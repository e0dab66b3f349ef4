"""Where a video leads to from Prefect's tables: no address that is a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callsheet.flows.shown.artifacts import VideoLinks
from callsheet.tasks.runtime.settings import load_settings

S3 = "s3://videos/2027"
BOARD = {"CALLSHEET_BOARD_URL": "https://board.example/"}

#: The settings, where the store is, and what a video's cell shows.
CELLS: list[tuple[dict[str, str], str, str]] = [
    ({}, S3, "spring/r 1.mp4"),
    ({}, "/videos", "spring/r 1.mp4"),
    (BOARD, S3, "[video](https://board.example/c/spr%2Fing/videos?open=r%201)"),
]


@pytest.mark.parametrize(("environ", "store", "shown"), CELLS)
def test_a_video_leads_to_the_board_or_says_where_it_is(environ, store, shown, tmp_path):
    places = places_of(environ, store, tmp_path)

    found, none = places.video(video(store)), places.video({"row": "r2", "deliveries": []})

    assert found == shown
    board = "CALLSHEET_BOARD_URL" in environ
    assert none == "[board](https://board.example/c/spr%2Fing/rows/r2)" * board


def places_of(environ: dict[str, str], store: str, folder: Path) -> VideoLinks:
    settings = load_settings(environ=environ, folder=folder)
    return VideoLinks.of("spr/ing", store, settings)


def video(store: str) -> dict[str, Any]:
    uri = f"{store}/spring/r 1.mp4"
    return {"row": "r 1", "video_take": 2, "deliveries": [{"kind": "mp4", "uri": uri}]}
