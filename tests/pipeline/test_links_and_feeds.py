"""`links` and `feed`: addresses of finished videos in the status sheet and in feeds."""

from __future__ import annotations

import csv
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.here import Here
from tests.programs import Finished, simple_sheet
from tests.stores import NEXT_KEY, S3Server, rclone_s3

FILES = ("status.csv", "feed.json", "feed.mrss")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone_s3(tmp_path_factory.mktemp("s3")) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        yield server


def run(here: Here, name: str, **settings: str) -> Finished:
    for setting, value in settings.items():
        here.monkeypatch.setenv(f"CALLSHEET_{setting.upper()}", value)
    (here.folder / f"{name}.csv").write_text(simple_sheet(2, columns=",tags", cells=",new"))
    return here.call("run", f"{name}.csv", "--yes", "--without-prefect", "--json")


def status_in(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "status.csv").open(encoding="utf-8-sig", newline="") as file:
        return {line["cs_row"]: line for line in csv.DictReader(file)}


def test_kept_videos_are_in_the_feeds_and_each_run_says_so_once(here: Here, name: str) -> None:
    folder = here.folder / "deliveries" / name
    settings = {"links": "public https://cdn.example/v", "feed": "kept"}
    assert run(here, name, **settings).status == 0
    assert json.loads((folder / "feed.json").read_text())["items"] == []
    link = f"https://cdn.example/v/{name}/r001/r001-take1.mp4"
    assert status_in(folder)["r001"]["cs_link"] == link

    here.call("review", name, "r001", "keep")
    assert run(here, name).status == 0

    (item,) = json.loads((folder / "feed.json").read_text())["items"]
    assert (item["id"], item["attachments"][0]["url"]) == (f"{name}/r001/1", link)
    assert item["tags"] == ["new"]
    feed = ElementTree.parse(folder / "feed.mrss").getroot()
    assert feed.findtext("channel/link") == f"https://cdn.example/v/{name}/feed.mrss"
    (one,) = feed.iter("item")
    assert one.findtext("guid") == item["id"]
    assert "cdn.example" not in (folder / "manifest.json").read_text()
    before = {file: (folder / file).stat().st_mtime_ns for file in FILES}

    assert run(here, name).status == 0

    assert {file: (folder / file).stat().st_mtime_ns for file in FILES} == before
    assert here.call("verify", name, "--json").json["extra"] == []
    assert run(here, name, feed="delivered").status == 0
    assert len(json.loads((folder / "feed.json").read_text())["items"]) == 2


def test_signed_links_open_the_video_in_a_bucket(here: Here, name: str, bucket: S3Server) -> None:
    store = f"{bucket.address}/signed"
    assert run(here, name, store=store, links="presigned 1h", feed="delivered").status == 0

    found = bucket.client().get_object(Bucket=bucket.bucket, Key=f"signed/{name}/feed.json")
    items = json.loads(found["Body"].read())["items"]
    assert len(items) == 2
    for item in items:
        for one in item["attachments"]:
            with urllib.request.urlopen(one["url"], timeout=30) as answer:
                assert answer.read(7)
    # Links end with the key that signed them: the next run makes them anew with its own.
    here.monkeypatch.setenv("AWS_ACCESS_KEY_ID", NEXT_KEY)
    assert run(here, name).status == 0
    found = bucket.client().get_object(Bucket=bucket.bucket, Key=f"signed/{name}/feed.json")
    (first, *_) = json.loads(found["Body"].read())["items"]
    assert f"Credential={NEXT_KEY}%2F" in first["attachments"][0]["url"]
    taken = here.call("export", name, "--zip", "v.zip", "--json")
    assert (taken.status, taken.json["videos"], taken.json["missing"]) == (0, 2, [])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"links": "presigned 1h"}, "needs a store in a bucket"),
        ({"feed": "kept"}, "a feed needs links"),
        ({"links": "signed 7d"}, "neither like presigned 7d"),
        ({"links": "public https://cdn.example", "feed": "all"}, "neither kept nor delivered"),
    ],
)
def test_links_that_cannot_be_made_are_told_before_anything_is_spent(
    here: Here, name: str, settings: dict[str, str], words: str
) -> None:
    ended = run(here, name, **settings)
    assert (ended.status, words in ended.err) == (2, True), ended.err
    assert "credits" not in ended.out
