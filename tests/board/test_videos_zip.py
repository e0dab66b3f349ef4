"""`/campaigns/NAME/videos.zip`: the videos of a campaign, for whoever may download them."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import httpx
import pytest

from callsheet.tasks.ledger.deliveries import Delivered
from tests.board.conftest import OpenBoard
from tests.board.with_videos import stored, with_videos

ZIP = "/api/v1/campaigns/spring/videos.zip"


@pytest.fixture
async def videos(open_board: OpenBoard) -> None:
    """Campaign spring with row-1 to row-3, of which row-2 is kept."""
    await with_videos(open_board.ledger, 3, files=stored(open_board.board.settings.store))
    path = "/api/v1/campaigns/spring/rows/row-2/review"
    said = {"take": 1, "verdict": "keep", "note": "ask legal"}
    assert (await open_board.reviewer.post(path, json=said)).status_code == 200


def opened(answer: httpx.Response) -> tuple[ZipFile, list[dict[str, str]]]:
    assert answer.status_code == 200, answer.text
    archive = ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    text = archive.read("spring/status.csv").decode("utf-8-sig")
    return archive, list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({}, ["row-1", "row-2", "row-3"]),
        ({"kept": "1"}, ["row-2"]),
        ({"review": "none"}, ["row-1", "row-3"]),
        ({"select": "row-1,row-2"}, ["row-1", "row-2"]),
        ({"row": ["row-3", "row-2"], "kept": "yes"}, ["row-2"]),
        ({"language": "de"}, ["row-3"]),
    ],
)
async def test_it_has_the_rows_that_are_asked_for(
    open_board: OpenBoard, videos: None, query: dict[str, Any], rows: list[str]
) -> None:
    answer = await open_board.viewer.get(ZIP, params=query)

    archive, status = opened(answer)
    assert answer.headers["content-disposition"].startswith('attachment; filename="spring.zip"')
    assert answer.headers["content-type"] == "application/zip"
    assert "content-length" not in answer.headers
    assert [line["cs_row"] for line in status] == rows
    # Every row of this test has the same file: each has a name of its own in the ZIP.
    assert len({line["cs_file_mp4"].casefold() for line in status}) == len(rows)
    assert {line["cs_file_mp4"] for line in status} <= set(archive.namelist())


async def test_what_cannot_be_meant_is_refused(open_board: OpenBoard, videos: None) -> None:
    for query, words in (
        ("kept=1&row=row-1", "none of these rows of spring has a video"),
        ("select=row-9", "there is no such row"),
        ("selct=row-1", "did you mean select"),
        ("kept=perhaps", "kept"),
    ):
        answer = await open_board.viewer.get(f"{ZIP}?{query}")
        assert (answer.status_code, words in answer.text) == (422, True), answer.text


@pytest.mark.safeguard("tasks/aftercare/archive.py", "if self.inside:", "if True:")
@pytest.mark.safeguard(
    "deployments/board/row_filters.py",
    "GUEST_FILTERS if guest else",
    "GUEST_FILTERS if guest is query else",
)
@pytest.mark.parametrize(("rights", "status"), [(["see"], 403), (["download"], 200)])
async def test_a_link_needs_the_right_and_shows_nothing_internal(
    open_board: OpenBoard, videos: None, rights: list[str], status: int
) -> None:
    mara = await open_board.guest((await open_board.link(*rights))["address"])

    answer = await mara.get("/campaigns/spring/videos.zip?client=none")

    assert answer.status_code == status
    page = (await mara.get("/c/spring/videos")).text
    assert ("Download ZIP" in page) is (status == 200)
    if status == 200:
        _, (line,) = opened(answer)
        shown = "row title take review ai_generated ai_mark ai_model ai_tool"
        assert list(line) == [*shown.split(), "cs_file_mp4", "cs_file_srt", "cs_file_vtt"]
        assert "--select" not in (await mara.get("/c/spring/videos?client=none")).text
        for hidden in ("select=cost_center:x", "state=held", "tag=x", "takes=2"):
            for path in ("/campaigns/spring/videos.zip", "/c/spring/videos"):
                assert (await mara.get(f"{path}?{hidden}")).status_code == 422, (path, hidden)
        assert (await mara.get("/c/spring/videos?sort=worst")).status_code == 422
    assert (await mara.get("/campaigns/autumn/videos.zip")).status_code == 403


async def test_ticked_videos_are_taken_together(open_board: OpenBoard, videos: None) -> None:
    browser = await open_board.form("viewer")

    path = "/c/spring/videos/zip?until=1&reason="
    ticked = await browser.get(f"{path}&row=row-1&row=row-3", follow_redirects=True)
    every = await browser.get(f"{path}&all=yes&view=review%3Dkeep", follow_redirects=True)

    assert [line["cs_row"] for line in opened(ticked)[1]] == ["row-1", "row-3"]
    assert [line["cs_row"] for line in opened(every)[1]] == ["row-2"]
    assert (await browser.get(path)).status_code == 422


@pytest.mark.merge
async def test_a_broken_zip_is_never_whole(
    open_board: OpenBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second row's video is in a bucket where nobody answers.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    video, _ = stored(open_board.board.settings.store)
    gone = replace(video, kind="srt", uri="s3://bucket/video.srt")
    await with_videos(open_board.ledger, 1, files=[video, gone])

    came = io.BytesIO()
    async with open_board.viewer.stream("GET", ZIP) as answer:
        with pytest.raises(httpx.RemoteProtocolError):
            await _copy(answer, came)

    assert len(came.getvalue()) > video.bytes
    with pytest.raises(BadZipFile):
        ZipFile(came)


async def _copy(answer: httpx.Response, out: io.BytesIO) -> None:
    async for chunk in answer.aiter_bytes():
        out.write(chunk)


async def test_a_name_of_a_file_leads_nowhere(open_board: OpenBoard, tmp_path: Path) -> None:
    data = b"not a video, and nobody looks into it"
    digest = hashlib.sha256(data).hexdigest()
    odd = tmp_path / "a" / ".." / "..evil.mp4"
    (tmp_path / "a").mkdir()
    odd.write_bytes(data)
    file = Delivered(kind="mp4", uri=str(odd), sha256=digest, bytes=len(data))
    await with_videos(open_board.ledger, 1, files=[file])

    archive, _ = opened(await open_board.viewer.get(ZIP))

    assert archive.namelist() == ["spring/row-1/evil.mp4", "spring/status.csv"]
