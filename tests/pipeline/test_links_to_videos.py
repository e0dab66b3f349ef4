"""`links`: addresses of finished videos in the status sheet."""

from __future__ import annotations

import csv
import io
import urllib.request
from collections.abc import Iterator

import pytest

from tests.programs import Desk, Finished, simple_sheet
from tests.stores import NEXT_KEY, S3Server, rclone_s3

FILES = ("status.csv", "manifest.json")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone_s3(tmp_path_factory.mktemp("s3")) as server, server.in_environment():
        yield server


def run(desk: Desk, name: str, **settings: str) -> Finished:
    for setting, value in settings.items():
        desk.environ[f"CALLSHEET_{setting.upper()}"] = value
    (desk.folder / f"{name}.csv").write_text(simple_sheet(2))
    return desk.call("run", f"{name}.csv", "--yes", "--without-prefect", "--json")


def links_in(status: bytes) -> dict[str, str]:
    lines = csv.DictReader(io.StringIO(status.decode("utf-8-sig"), newline=""))
    return {line["cs_row"]: line["cs_link"] for line in lines}


def test_each_video_has_its_link_and_each_run_says_so_once(desk: Desk, name: str) -> None:
    folder = desk.folder / "deliveries" / name
    assert run(desk, name, links="public https://cdn.example/v").status == 0
    assert links_in((folder / "status.csv").read_bytes()) == {
        row: f"https://cdn.example/v/{name}/{row}/{row}-take1.mp4" for row in ("r001", "r002")
    }
    assert "cdn.example" not in (folder / "manifest.json").read_text()
    before = {file: (folder / file).stat().st_mtime_ns for file in FILES}

    assert run(desk, name).status == 0

    assert {file: (folder / file).stat().st_mtime_ns for file in FILES} == before
    assert desk.call("verify", name, "--json").json["extra"] == []


def status_of(bucket: S3Server, name: str) -> bytes:
    found = bucket.client().get_object(Bucket=bucket.bucket, Key=f"signed/{name}/status.csv")
    return found["Body"].read()


@pytest.mark.merge
def test_signed_links_open_the_video_in_a_bucket(desk: Desk, name: str, bucket: S3Server) -> None:
    store = f"{bucket.address}/signed"
    assert run(desk, name, store=store, links="presigned 1h").status == 0

    links = links_in(status_of(bucket, name))
    assert len(links) == 2
    for link in links.values():
        with urllib.request.urlopen(link, timeout=30) as answer:
            assert answer.read(7)
    # Links end with the key that signed them: the next run makes them anew with its own.
    desk.environ["AWS_ACCESS_KEY_ID"] = NEXT_KEY
    assert run(desk, name).status == 0
    assert f"Credential={NEXT_KEY}%2F" in links_in(status_of(bucket, name))["r001"]
    taken = desk.call("export", name, "--zip", "v.zip", "--json")
    assert (taken.status, taken.json["videos"], taken.json["missing"]) == (0, 2, [])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"links": "presigned 1h"}, "needs a store in a bucket"),
        ({"links": "signed 7d"}, "neither like presigned 7d"),
    ],
)
def test_links_that_cannot_be_made_are_told_before_anything_is_spent(
    desk: Desk, name: str, settings: dict[str, str], words: str
) -> None:
    ended = run(desk, name, **settings)
    assert (ended.status, words in ended.err) == (2, True), ended.err
    assert "credits" not in ended.out
