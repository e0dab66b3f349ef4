"""Videos, captions and pictures as browsers and programs get them: from a folder, from a bucket."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from PIL import Image

from callsheet.deployments.board.guard import POLICY
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    FileCopy,
    StoredPicture,
    VideoFindings,
    deliver,
    keep_findings,
    note_copies,
)
from tests.board.conftest import OpenBoard, board_at
from tests.board.with_videos import wanted, with_videos
from tests.campaigns import NOW, Stage
from tests.stores import S3Server, rclone_s3
from tests.unit.store.made_videos import make_video, moving

SRT = b"1\n00:00:00,000 --> 00:00:01,500\nThe kettle <b>hums</b>.\n"
ADDRESS = "/videos/spring/row-1/1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A video of three seconds whose one key frame is its first."""
    return make_video(
        tmp_path_factory.mktemp("made") / "video.mp4", moving(), seconds=3
    ).read_bytes()


def known(kind: str, uri: str, data: bytes) -> Delivered:
    digest = hashlib.sha256(data).hexdigest()
    return Delivered(kind=kind, uri=uri, sha256=digest, bytes=len(data), seconds=3.0)


async def delivered(opened: OpenBoard, *files: Delivered, **pictures: StoredPicture) -> Stage:
    """Give campaign spring one row with those files, and its board people to see it."""
    stage = await Stage.set(opened.ledger, wanted(1))
    ready = await stage.ready("row-1")
    await stage.write(deliver, ready, ready.take, files=files, at=NOW)
    if pictures:
        findings = VideoFindings(checks={"black": "ok"}, pictures=pictures)
        await opened.ledger.write(lambda c: keep_findings(c, ready.take.id, findings))
    return stage


@pytest.fixture
async def in_folder(open_board: OpenBoard, made: bytes) -> Path:
    """The folder where the video and its captions of the open board are."""
    folder = Path(open_board.board.settings.store) / "spring" / "row-1"
    folder.mkdir(parents=True)
    video, captions = folder / "row-1-take1.mp4", folder / "row-1-take1.srt"
    video.write_bytes(made)
    captions.write_bytes(SRT)
    await delivered(open_board, known("mp4", str(video), made), known("srt", str(captions), SRT))
    return folder


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        (None, 200, slice(None)),
        ("bytes=0-99", 206, slice(0, 100)),
        ("bytes=100-", 206, slice(100, None)),
        ("bytes=-50", 206, slice(-50, None)),
        ("bytes=0-999999999", 206, slice(None)),
        ("bytes=999999999-", 416, None),
        ("bytes=5-2", 400, None),
    ],
)
async def test_a_video_comes_in_the_parts_that_are_asked_for(
    open_board: OpenBoard, in_folder: Path, made: bytes, asked, status, part
) -> None:
    headers = {"range": asked} if asked else {}
    answer = await open_board.viewer.get(f"{ADDRESS}.mp4", headers=headers)
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    if part is not None:
        assert answer.content == made[part]
        assert answer.headers["content-type"] == "video/mp4"
        assert answer.headers["accept-ranges"] == "bytes"
    head = await open_board.viewer.head(f"{ADDRESS}.mp4", headers=headers)
    assert head.status_code == status
    assert head.content == b""


async def test_a_known_video_is_not_resent(
    open_board: OpenBoard, in_folder: Path, made: bytes
) -> None:
    answer = await open_board.viewer.get(f"/api/v1{ADDRESS}.mp4")
    tag = answer.headers["etag"]
    assert tag == f'"{hashlib.sha256(made).hexdigest()}"'
    again = await open_board.viewer.get(f"{ADDRESS}.mp4", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    part = {"range": "bytes=0-9", "if-range": '"another"'}
    assert (await open_board.viewer.get(f"{ADDRESS}.mp4", headers=part)).content == made


@pytest.mark.parametrize(
    ("end", "kind", "holds"),
    [("srt", "application/x-subrip", "00:00:01,500"), ("vtt", "text/vtt", "00:01.500")],
)
async def test_captions_come_in_the_form_that_browsers_show(
    open_board: OpenBoard, in_folder: Path, end, kind, holds
) -> None:
    answer = await open_board.viewer.get(f"{ADDRESS}.{end}?download")
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    name = answer.headers["content-disposition"]
    assert name.startswith(f'attachment; filename="row-1-take1.{end}"')
    assert holds in answer.text
    assert answer.text.startswith("WEBVTT") == (end == "vtt")
    tag = {"if-none-match": answer.headers["etag"]}
    assert (await open_board.viewer.get(f"{ADDRESS}.{end}", headers=tag)).status_code == 304


async def test_a_look_makes_the_pictures_of_a_video(open_board: OpenBoard, in_folder: Path) -> None:
    before = sorted(in_folder.iterdir())
    sizes = {"jpg": (320, 180), "strip.jpg": (1600, 90)}
    for end, size in sizes.items():
        answer = await open_board.viewer.get(f"{ADDRESS}.{end}")
        assert answer.headers["content-type"] == "image/jpeg"
        with Image.open(io.BytesIO(answer.content)) as picture:
            assert picture.size == size
            tiles = [picture.crop((160 * n, 0, 160 * (n + 1), 90)).tobytes() for n in range(10)]
            if end == "strip.jpg":
                assert len(set(tiles)) == 10
    # The store is as it was.
    assert sorted(in_folder.iterdir()) == before


async def test_pictures_beside_the_video_are_shown_and_lost_ones_made_again(
    open_board: OpenBoard, tmp_path: Path, made: bytes
) -> None:
    video, strip = tmp_path / "video.mp4", tmp_path / "video.strip.jpg"
    video.write_bytes(made)
    strip.write_bytes(b"the strip")
    kept = StoredPicture(uri=str(strip), bytes=9, width=1600, height=90, shown=8)
    await delivered(open_board, known("mp4", str(video), made), strip=kept)
    assert (await open_board.viewer.get(f"{ADDRESS}.strip.jpg")).content == b"the strip"
    strip.unlink()
    answer = await open_board.viewer.get(f"{ADDRESS}.strip.jpg")
    assert Image.open(io.BytesIO(answer.content)).size == (1600, 90)


PATHS = (
    "spring/row-1/2.mp4", "spring/row-9/1.mp4", "autumn/row-1/1.mp4", "spring/row-1/1.exe",
    "spring/row-1/1.mp4.bak", "spring/row-1/row-1-take1.mp4", "spring/..%2f..%2fetc/passwd",
    "spring/row-1/..%2frow-1-take1.mp4", "..%2f..%2f..%2fetc%2fpasswd/x/1.mp4",
    "spring/row-1/1%00.mp4", "spring/row-1/99999999999999999999.mp4", "spring/row-1/-1.mp4",
    "spring/row-1/%D9%A1.mp4",
)  # fmt: skip


async def test_no_path_is_made_of_what_is_asked(open_board: OpenBoard, in_folder: Path) -> None:
    for path in PATHS:
        answer = await open_board.viewer.get(f"/videos/{path}")
        assert answer.status_code == (400 if "%00" in path else 404), path


async def test_another_file_in_its_place_is_not_shown(
    open_board: OpenBoard, in_folder: Path
) -> None:
    (in_folder / "row-1-take1.mp4").write_bytes(b"somebody's own")
    (in_folder / "row-1-take1.srt").unlink()
    for end in ("mp4", "srt", "vtt"):
        answer = await open_board.viewer.get(f"{ADDRESS}.{end}")
        assert answer.status_code == 404
        assert "verify" in answer.json()["remedy"]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone_s3(tmp_path_factory.mktemp("s3")) as server, server.in_environment():
        yield server


@pytest.mark.merge
async def test_a_bucket_gives_a_signed_address(
    tmp_path: Path, bucket: S3Server, made: bytes
) -> None:
    for end, data in (("mp4", made), ("srt", SRT), ("jpg", b"a poster")):
        bucket.client().put_object(Bucket=bucket.bucket, Key=f"autumn/video 1.{end}", Body=data)
    there = f"{bucket.address}/autumn/video 1"
    files = known("mp4", f"{there}.mp4", made), known("srt", f"{there}.srt", SRT)
    poster = StoredPicture(uri=f"{there}.jpg", bytes=8, width=320, height=180)
    environ = {"CALLSHEET_STORE": f"{bucket.address}/autumn"}
    async with board_at(tmp_path, environ=environ) as opened:
        await delivered(opened, *files, poster=poster)
        answer = await opened.viewer.get(f"{ADDRESS}.mp4?download")
        assert answer.status_code == 302
        assert answer.headers["cache-control"] == "no-store"
        address = answer.headers["location"]
        assert address.startswith(f"{bucket.endpoint}/videos/autumn/video%201.mp4?")
        assert "X-Amz-Expires=900" in address
        assert bucket.secret_key not in address
        async with httpx.AsyncClient(trust_env=False) as browser:
            video = await browser.get(address, headers={"range": "bytes=0-99"})
            # rclone answers a part with 200.
            assert video.is_success
            assert video.content == made[:100]
            picture = await opened.viewer.get(f"{ADDRESS}.jpg")
            assert (await browser.get(picture.headers["location"])).content == b"a poster"
        head = await opened.viewer.head(f"{ADDRESS}.mp4")
        assert (head.status_code, head.headers["content-length"]) == (200, str(len(made)))
        # Captions come from here: the page's origin.
        captions = await opened.viewer.get(f"{ADDRESS}.vtt")
        assert captions.status_code == 200
        assert captions.text.startswith("WEBVTT")
        strip = await opened.viewer.get(f"{ADDRESS}.strip.jpg")
        assert Image.open(io.BytesIO(strip.content)).size == (1600, 90)
        # A page may show what comes from there, and nothing else from elsewhere.
        policy = captions.headers["content-security-policy"]
        assert f"img-src 'self' {bucket.endpoint};" in policy
        assert f"media-src 'self' {bucket.endpoint};" in policy
        assert "connect-src 'self';" in policy
    async with board_at(tmp_path) as in_a_folder:
        page = await in_a_folder.viewer.get("/api/v1/me")
    assert page.headers["content-security-policy"] == POLICY


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
