"""Faults of the download: the video that comes is not the video that was made."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx
import pytest

from tests.contract.sandbox.wire import Line


@pytest.fixture(scope="module")
def url(instant: Any) -> str:
    video = instant.create()
    instant.wait(video)
    return str(instant.client.get(f"/videos/{video}/download").json()["data"]["url"])


@pytest.fixture(scope="module")
def true(anyone: httpx.Client, url: str) -> httpx.Response:
    """The video as it is."""
    return anyone.get(url)


def test_its_address_has_expired(anyone: httpx.Client, plan: Any, url: str) -> None:
    plan("file", "expired", nth=1)
    first, second = anyone.get(url), anyone.get(url)
    assert first.status_code == 403
    assert first.json()["error"]["code"] == "url_expired"
    assert second.status_code == 200


def test_it_is_damaged(anyone: httpx.Client, plan: Any, url: str, true: httpx.Response) -> None:
    plan("file", "corrupt", bytes=7)
    answer = anyone.get(url)
    wrong = [at for at, byte in enumerate(answer.content) if byte != true.content[at]]
    middle = len(true.content) // 2
    assert len(answer.content) == len(true.content)
    assert len(wrong) == 7
    assert all(abs(at - middle) < 8 for at in wrong)
    assert answer.headers["etag"] == true.headers["etag"]


def test_no_player_opens_it(
    anyone: httpx.Client, plan: Any, url: str, true: httpx.Response
) -> None:
    plan("file", "no-moov")
    answer = anyone.get(url)
    assert b"moov" in true.content
    assert b"moov" not in answer.content
    assert len(answer.content) == len(true.content)


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_it_is_shorter_than_the_truth(
    anyone: httpx.Client, plan: Any, url: str, true: httpx.Response, framing: str
) -> None:
    plan("file", "truncated", framing=framing)
    answer = anyone.get(url)
    half = true.content[: len(true.content) // 2]
    assert (answer.status_code, answer.content) == (200, half)
    told = answer.headers.get("content-length")
    assert told == (str(len(half)) if framing == "length" else None)


def test_its_range_is_ignored(
    anyone: httpx.Client, plan: Any, url: str, true: httpx.Response
) -> None:
    plan("file", "range-ignored")
    answer = anyone.get(url, headers={"range": "bytes=100-"})
    assert (answer.status_code, answer.content) == (200, true.content)


def test_another_part_of_it_comes(
    anyone: httpx.Client, plan: Any, url: str, true: httpx.Response
) -> None:
    plan("file", "range-shifted", bytes=10)
    answer = anyone.get(url, headers={"range": "bytes=100-"})
    assert (answer.status_code, answer.content) == (206, true.content[110:])
    assert answer.headers["content-range"].startswith("bytes 110-")


def test_it_seems_another_video_when_it_goes_on(
    anyone: httpx.Client, plan: Any, url: str, true: httpx.Response
) -> None:
    plan("file", "etag-changed")
    etag = true.headers["etag"]
    answer = anyone.get(url, headers={"range": "bytes=100-", "if-range": etag})
    again = anyone.get(url, headers={"range": "bytes=200-"})
    assert (answer.status_code, answer.content) == (206, true.content[100:])
    assert answer.headers["etag"] == again.headers["etag"] != etag


def test_it_is_the_video_from_before(instant: Any, anyone: httpx.Client, plan: Any) -> None:
    video = instant.create()
    videos = []
    for _ in range(2):
        instant.wait(video)
        url = instant.client.get(f"/videos/{video}/download").json()["data"]["url"]
        videos.append(anyone.get(url).content)
        assert instant.client.post(f"/videos/{video}/generate").status_code == 202
    plan("file", "old-video", nth=1)
    assert videos[0] != videos[1]
    assert [anyone.get(url).content for _ in range(2)] == videos


def test_it_is_called_compressed(instant: Any, plan: Any, url: str, true: httpx.Response) -> None:
    plan("file", "gzip-lie")
    with instant.client.stream("GET", url) as answer:
        raw = b"".join(answer.iter_raw())
    assert (answer.headers["content-encoding"], raw) == ("gzip", true.content)


@pytest.mark.parametrize(("do", "kind"), [("html", "text/html"), ("xml", "application/xml")])
def test_it_is_a_page_that_says_sorry(
    anyone: httpx.Client, plan: Any, url: str, do: str, kind: str
) -> None:
    plan("file", do)
    answer = anyone.get(url)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert answer.content.startswith(b"<")


def test_it_is_nothing(anyone: httpx.Client, plan: Any, url: str) -> None:
    plan("file", "empty")
    answer = anyone.get(url)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == "0"


@pytest.mark.parametrize(("do", "end"), [("cut-body", "closed"), ("reset-midway", "reset")])
def test_it_breaks_off(
    instant: Any, plan: Any, url: str, true: httpx.Response, do: str, end: str
) -> None:
    plan("file", do)
    with Line(instant.ready) as line:
        line.ask("GET", httpx.URL(url).raw_path.decode())
        heard = line.hear()
    assert heard.end == end
    assert true.content.startswith(heard.body)
    assert heard.body
    assert int(heard.header("content-length") or 0) == len(true.content) > len(heard.body)


def test_it_can_be_had_after_all(
    anyone: httpx.Client, plan: Any, url: str, true: httpx.Response
) -> None:
    """A transfer that broke off goes on where it stopped."""
    plan("file", "cut-body", nth=1)
    had = b""
    with anyone.stream("GET", url) as answer, contextlib.suppress(httpx.RemoteProtocolError):
        for piece in answer.iter_raw():
            had += piece
    assert 0 < len(had) < len(true.content)
    rest = anyone.get(url, headers={"range": f"bytes={len(had)}-"})
    assert had + rest.content == true.content
