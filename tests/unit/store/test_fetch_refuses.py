"""What a download refuses, and that it keeps signed addresses to itself."""

from __future__ import annotations

import logging
import traceback

import pytest

from callsheet.tasks.runtime.errors import StoreError, VideoError
from callsheet.tasks.store import Fetcher
from tests.unit.store.video_server import Answer, always, answer, cut

PAGE = b"<!DOCTYPE html><title>Sign in</title>"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=utf-8", PAGE),
        ("application/xml", b"<Error><Code>AccessDenied</Code></Error>"),
        ("application/json", b"{}"),
        ("video/mp4", b"\xef\xbb\xbf \n" + PAGE),
        ("application/octet-stream", b'{"error": "no"}'),
    ],
)
async def test_a_page_instead_of_a_video(fetcher, server, spool, kind, body):
    server.plan.append(always(answer(200, body, Content_Type=kind)))
    with pytest.raises(VideoError, match="instead of a video"):
        await fetcher.fetch("row-1", server.fresh_url)
    assert list(spool.iterdir()) == []


async def test_an_empty_file(fetcher, server, spool):
    server.plan.append(always(answer(200, b"", Content_Type="video/mp4")))
    with pytest.raises(VideoError, match="empty"):
        await fetcher.fetch("row-1", server.fresh_url)
    assert list(spool.iterdir()) == []


async def test_an_unknown_compression(fetcher, server):
    server.plan.append(always(answer(200, b"....", Content_Encoding="br")))
    with pytest.raises(VideoError, match='"br"'):
        await fetcher.fetch("row-1", server.fresh_url)


async def test_a_fourth_redirect(fetcher, server):
    server.plan += [always(answer(302, Location="/elsewhere"))] * 7
    with pytest.raises(StoreError, match="more than 3 times"):
        await fetcher.fetch("row-1", server.fresh_url)
    # Three are followed.
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.exists()


async def test_http_unless_allowed(server, spool):
    async with Fetcher(spool=spool, allow_http=False) as fetcher:
        with pytest.raises(StoreError, match="not https") as caught:
            await fetcher.fetch("row-1", server.fresh_url)
    assert caught.value.permanent
    assert server.requests == []


@pytest.mark.parametrize(
    "location",
    [
        "ftp://127.0.0.1/video",
        "http://me:secret@127.0.0.1/video",
        "file:///etc/passwd",
        "http://[",
        "",
    ],
)
async def test_redirects_to_strange_places(fetcher, server, location):
    server.plan += [always(answer(302, Location=location))] * 5
    with pytest.raises(StoreError):
        await fetcher.fetch("row-1", server.fresh_url)


async def test_a_redirect_from_https_to_http():
    from yarl import URL

    from callsheet.tasks.store.redirects import check_address

    with pytest.raises(StoreError, match="not https"):
        check_address("http://b.example/", allow_http=True, base=URL("https://a.example/"))


async def test_a_cut_of_unknown_length_that_never_mends(fetcher, server, video):
    server.plan += [always(answer(200, video[:-200], length=None))] * 9
    with pytest.raises(StoreError, match="without a length"):
        await fetcher.fetch("row-1", server.fresh_url)
    assert len(server.requests) == 5


GARBAGE = [
    cut(100),
    always(Answer(b"")),
    always(Answer(b"not http at all\r\n\r\n")),
    always(answer(403, b"<Error>Request has expired</Error>")),
    always(answer(500)),
    always(answer(302, Location="http://u:p@h/?X-Amz-Signature=canary%2Fsecret%7E1")),
    always(answer(200, PAGE)),
]


@pytest.mark.parametrize("trouble", GARBAGE)
async def test_no_error_or_log_holds_the_signed_address(fetcher, server, trouble, caplog, spool):
    caplog.set_level(logging.DEBUG)
    server.etag = None
    server.plan += [trouble] * 20
    with pytest.raises((StoreError, VideoError)) as caught:
        await fetcher.fetch("row-1", server.fresh_url)
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(fetcher)
    told += "".join(path.read_text(errors="replace") for path in spool.iterdir())
    assert "canary" not in told
    assert "Signature" not in told


async def test_an_unreachable_server_does_not_tell_either(fetcher):
    async def nowhere() -> str:
        return "http://127.0.0.1:9/video?X-Amz-Signature=canary"

    with pytest.raises(StoreError, match="connection broke") as caught:
        await fetcher.fetch("row-1", nowhere)
    assert "canary" not in "".join(traceback.format_exception(caught.value))
