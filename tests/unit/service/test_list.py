"""The list, in the shapes a list may come in, page after page."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import ShapeError

ONE, TWO = {"id": "vid_1", "status": "draft"}, {"video_id": "vid_2"}


async def ids(service):
    return [video.id async for video in service.list_videos()]


def paths(seen):
    return [request.url.raw_path.decode() for request in seen]


@pytest.mark.parametrize(
    "body",
    [
        [ONE, TWO],
        {"data": [ONE, TWO], "meta": {}},
        {"data": {"videos": [ONE, TWO]}, "meta": {}},
        {"items": [ONE, TWO], "tags": []},
        {"things": [ONE, TWO], "count": 2},
        {"data": [ONE, TWO], "has_more": False, "next_cursor": "x"},
        [ONE, {"title": "without id"}, None, TWO],
    ],
)
async def test_a_list_is_found_and_read_once(talk, body):
    service, seen = talk((200, body))
    assert await ids(service) == ["vid_1", "vid_2"]
    assert paths(seen) == ["/api/v1/videos"]


@pytest.mark.parametrize("body", [{}, 5, None, {"a": [], "b": []}, b"<html>"])
async def test_what_holds_no_list_is_not_an_empty_one(talk, body):
    service, _ = talk((200, body))
    with pytest.raises(ShapeError):
        await ids(service)


async def test_an_empty_list_is_empty(talk):
    service, _ = talk((200, {"data": [], "error": None, "meta": {}}))
    assert await ids(service) == []


@pytest.mark.parametrize(
    ("hint", "query"),
    [
        ({"next_cursor": "a b"}, "?cursor=a+b"),
        ({"meta": {"next_cursor": "c2"}}, "?cursor=c2"),
        ({"pagination": {"next_page": 2}}, "?page=2"),
        ({"links": {"next": "/api/v1/videos?after=vid_1"}}, "?after=vid_1"),
        ({"next": "https://elsewhere.test/videos?cursor=z"}, "?cursor=z"),
    ],
)
async def test_the_next_page_is_followed_where_one_is_named_and_on_the_same_host(talk, hint, query):
    service, seen = talk((200, {"videos": [ONE]} | hint), (200, {"videos": [TWO]}))
    assert await ids(service) == ["vid_1", "vid_2"]
    assert paths(seen) == ["/api/v1/videos", "/api/v1/videos" + query]
    assert {request.url.host for request in seen} == {"service.test"}


async def test_a_cursor_that_leads_back_ends_the_list(talk):
    service, seen = talk((200, {"videos": [ONE], "next_cursor": "same"}))
    assert await ids(service) == ["vid_1", "vid_1"]
    assert len(seen) == 2


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    ("date", "behind"),
    [
        ("Fri, 02 Jan 2026 01:00:00 GMT", 25 * 3600.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("yesterday", 0.0),
        (None, 0.0),
    ],
)
async def test_the_services_clock_is_asked_for_once(serve, answer, connect, date, behind, status):
    headers = {} if date is None else {"Date": date}
    script = await serve(answer(status, {"data": []}, headers=headers))
    service = connect(script.base_url)
    assert await service.behind() == behind
    assert await service.behind() == behind
    assert [request.method for request in script.seen] == ["GET"]
