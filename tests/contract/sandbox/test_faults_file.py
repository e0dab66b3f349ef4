"""Faults of the download: the video that comes is not the video that was made."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx
import pytest


@pytest.fixture(scope="module")
def url(instant: Any) -> str:
    return str(instant.url(instant.create()))


@pytest.fixture(scope="module")
def true(anyone: httpx.Client, url: str) -> httpx.Response:
    """The video as it is."""
    return anyone.get(url)


def test_its_address_has_expired(anyone, plan, url):
    plan("file", "expired", nth=1)
    first, second = anyone.get(url), anyone.get(url)
    assert first.status_code == 403
    assert first.json()["error"]["code"] == "url_expired"
    assert second.status_code == 200


def test_it_is_damaged_or_no_player_opens_it(anyone, plan, url, true):
    plan("file", "corrupt", bytes=7, nth=1)
    plan("file", "no-moov", nth=2)
    damaged, unplayable = anyone.get(url), anyone.get(url)
    wrong = [at for at, byte in enumerate(damaged.content) if byte != true.content[at]]
    middle = len(true.content) // 2
    assert len(wrong) == 7
    assert all(abs(at - middle) < 8 for at in wrong)
    assert damaged.headers["etag"] == true.headers["etag"]
    assert b"moov" in true.content
    assert b"moov" not in unplayable.content
    assert len(damaged.content) == len(unplayable.content) == len(true.content)


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_it_is_shorter_than_the_truth(anyone, plan, url, true, framing):
    plan("file", "truncated", framing=framing)
    answer = anyone.get(url)
    half = true.content[: len(true.content) // 2]
    assert (answer.status_code, answer.content) == (200, half)
    told = answer.headers.get("content-length")
    assert told == (str(len(half)) if framing == "length" else None)


@pytest.mark.parametrize(
    ("do", "told", "status", "begin"),
    [
        ("range-ignored", {}, 200, 0),
        ("range-shifted", {"bytes": 10}, 206, 110),
        # It seems another video when it goes on.
        ("etag-changed", {}, 206, 100),
    ],
)
def test_a_range_is_not_what_was_asked_for(anyone, plan, url, true, do, told, status, begin):
    plan("file", do, **told)
    etag = true.headers["etag"]
    asked = {"range": "bytes=100-", "if-range": etag}
    answer, again = anyone.get(url, headers=asked), anyone.get(url, headers=asked)
    assert (answer.status_code, answer.content) == (status, true.content[begin:])
    assert (answer.headers["etag"] == etag) is (do != "etag-changed")
    assert answer.headers["etag"] == again.headers["etag"]
    if do == "range-shifted":
        assert answer.headers["content-range"].startswith("bytes 110-")


def test_it_is_the_video_from_before(instant, anyone, plan):
    video = instant.create()
    videos = []
    for _ in range(2):
        url = instant.url(video)
        videos.append(anyone.get(url).content)
        assert instant.post(f"/videos/{video}/generate").status_code == 202
    plan("file", "old-video", nth=1)
    assert videos[0] != videos[1]
    assert [anyone.get(url).content for _ in range(2)] == videos


@pytest.mark.parametrize(
    ("do", "kind", "begin"),
    [("html", "text/html", b"<"), ("xml", "application/xml", b"<"), ("empty", "video/mp4", b"")],
)
def test_it_is_a_page_that_says_sorry_or_nothing(anyone, plan, url, do, kind, begin):
    plan("file", do)
    answer = anyone.get(url)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert answer.content[:1] == begin
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_it_can_be_had_after_all(anyone, plan, url, true):
    """A transfer that broke off goes on where it stopped."""
    plan("file", "cut-body", nth=1)
    had = b""
    with anyone.stream("GET", url) as answer, contextlib.suppress(httpx.RemoteProtocolError):
        for piece in answer.iter_raw():
            had += piece
    assert 0 < len(had) < len(true.content)
    rest = anyone.get(url, headers={"range": f"bytes={len(had)}-"})
    assert had + rest.content == true.content
