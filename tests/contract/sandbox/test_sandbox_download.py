"""The download: an address that is signed and expires, and a file that can be had in parts."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest


@pytest.fixture(scope="session")
def url(instant: Any) -> str:
    return str(instant.url(instant.create()))


@pytest.fixture(scope="session")
def ageing(quick: Any) -> tuple[str, str, float]:
    """A video and an address of it that grows old while the other tests run."""
    video = quick.create(duration_seconds=1)
    quick.wait(video)
    said = quick.data(f"/videos/{video}/download")
    assert said["expires_in"] == 5
    return video, said["url"], time.time() + 6.1


def test_it_serves_the_whole_video_without_a_key(anyone: httpx.Client, url: str) -> None:
    answer = anyone.get(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "video/mp4"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["etag"].startswith('"')
    assert answer.content[4:8] == b"ftyp"
    assert answer.content.index(b"moov") < answer.content.index(b"mdat")
    head = anyone.head(url)
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len(answer.content)


@pytest.mark.parametrize("span", ["bytes=0-99", "bytes=100-", "bytes=-50"])
def test_it_serves_a_range(anyone: httpx.Client, url: str, span: str) -> None:
    whole = anyone.get(url).content
    first, last = span.removeprefix("bytes=").split("-")
    wanted = whole[int(first) : int(last) + 1 if last else None] if first else whole[-int(last) :]
    answer = anyone.get(url, headers={"range": span})
    assert answer.status_code == 206
    assert answer.content == wanted
    assert answer.headers["content-range"].endswith(f"/{len(whole)}")


def test_it_refuses_a_range_past_the_end(anyone: httpx.Client, url: str) -> None:
    size = len(anyone.get(url).content)
    answer = anyone.get(url, headers={"range": f"bytes={size}-"})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{size}"


def test_it_goes_on_only_with_the_same_video(anyone: httpx.Client, url: str) -> None:
    etag = anyone.get(url).headers["etag"]
    same = anyone.get(url, headers={"range": "bytes=10-", "if-range": etag})
    other = anyone.get(url, headers={"range": "bytes=10-", "if-range": '"another"'})
    assert (same.status_code, other.status_code) == (206, 200)
    assert same.content == other.content[10:]


@pytest.mark.parametrize("part", ["signature", "expires", "render"])
def test_it_refuses_a_forged_address(anyone: httpx.Client, url: str, part: str) -> None:
    forged = httpx.URL(url)
    query = dict(forged.params)
    for lie in (str(int(query[part], 16) + 1)[-12:], "", "é"):
        answer = anyone.get(forged.copy_with(params={**query, part: lie}))
        assert answer.status_code == 403, lie
    assert anyone.get(str(forged).replace("vid_", "vid_0")).status_code == 403


def test_it_refuses_an_address_of_a_deleted_video(instant: Any, anyone: httpx.Client) -> None:
    video = instant.create()
    url = instant.url(video)
    instant.client.delete(f"/videos/{video}")
    assert anyone.get(url).status_code == 404


def test_its_address_expires(quick: Any, ageing: Any, anyone: httpx.Client) -> None:
    video, url, past = ageing
    time.sleep(max(0.0, past - time.time()))
    expired = anyone.get(url)
    assert expired.status_code == 403
    assert expired.json()["error"]["code"] == "url_expired"
    assert anyone.get(quick.url(video)).status_code == 200
