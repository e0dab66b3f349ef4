"""What each operation sends, and what its refusals mean."""

from __future__ import annotations

import json
import re

import pytest

from callsheet.tasks.runtime import errors
from callsheet.tasks.service import VideoService

BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'


def refusal(message="no", code="some_code", retryable=False):
    error = {"message": message, "code": code, "retryable": retryable}
    return {"data": None, "error": error, "meta": {"request_id": "req_7"}}


def sent(request):
    return request.method, request.url.raw_path.decode()


async def test_an_estimate_leaves_out_key_and_start(talk):
    service, seen = talk((200, {"credits": 1}))
    request = {"topic": "é", "idempotency_key": "k", "start_generation": True, "mode": "hybrid"}
    await service.estimate(request)
    assert json.loads(seen[0].content) == {"topic": "é", "mode": "hybrid"}


async def test_a_create_sends_the_bytes_it_was_given(talk):
    service, seen = talk((202, {"id": "vid_1"}))
    odd = b'{ "topic" : "x",\n"idempotency_key":"cs1_k" }'
    await service.create(odd, key="cs1_k")
    assert seen[0].content == odd


async def test_captions_come_as_they_are_unless_they_are_a_page(talk):
    words = b"\xef\xbb\xbfWEBVTT\r\n\xff"
    service, _ = talk((200, words), (200, b"<html>login</html>", {"content-type": "text/html"}))
    assert await service.captions("vid_1", "vtt") == words
    with pytest.raises(errors.ShapeError):
        await service.captions("vid_1", "srt")


async def test_cancelling_returns_the_video_or_nothing_but_never_fails_on_its_shape(talk):
    service, _ = talk((200, {"status": "cancelled"}), (200, b"OK"), (204, b""))
    video = await service.cancel("vid_1")
    assert video.status == "cancelled"
    assert await service.cancel("vid_1") is None
    assert await service.cancel("vid_1") is None


async def test_an_id_stays_inside_its_place_in_the_path(talk):
    # A slash at the end of the address makes no difference.
    service, seen = talk((200, {}), base_url="http://x.test/api/v1/")
    await service.get("vid_1/../../x?y#z é")
    assert sent(seen[0]) == ("GET", "/api/v1/videos/vid_1%2F..%2F..%2Fx%3Fy%23z%20%C3%A9")
    for video_id in ("", " ", ".", "..", "/"):
        with pytest.raises(errors.BadInput):
            await service.get(video_id)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("status", "kind", "remedy"),
    [
        (400, errors.BadRequest, None),
        (401, errors.Unauthenticated, "CALLSHEET_API_KEY"),
        (402, errors.InsufficientCredits, "credits"),
        (403, errors.Forbidden, "`write` scope.*CALLSHEET_API_KEY"),
        (404, errors.NotFound, "CALLSHEET_BASE_URL"),
        (422, errors.OtherRefusal, "another key"),
        (451, errors.OtherRefusal, None),
    ],
)
async def test_a_refusal_says_what_the_service_said_and_what_to_do(talk, status, kind, remedy):
    service, seen = talk((status, refusal("words of the service")))
    with pytest.raises(kind, match=rf"create was refused \({status}\): words of") as caught:
        await service.create(BODY, key="cs1_k")
    error = caught.value
    assert (error.status, error.code, error.request_id) == (status, "some_code", "req_7")
    assert (error.sent, error.permanent, error.attempts, error.key) == ("yes", True, 1, "cs1_k")
    assert re.search(remedy, error.remedy) if remedy else error.remedy is None
    assert len(seen) == 1


@pytest.mark.parametrize(
    "body", [b"", b"plain words", b"\xff\xfe", [], "x", {"error": "plain words"}, {"error": [1]}]
)
async def test_a_refusal_in_any_form_is_a_refusal(talk, body):
    service, _ = talk((402, body))
    with pytest.raises(errors.InsufficientCredits):
        await service.get("vid_1")


async def test_words_are_never_long_and_the_missing_scope_is_that_of_the_operation(talk):
    service, _ = talk((403, refusal("long " * 10_000)))
    with pytest.raises(errors.Forbidden) as caught:
        await service.get("vid_1")
    assert len(str(caught.value)) < 560
    assert "`read` scope" in caught.value.remedy


@pytest.mark.parametrize("path", ["", "api.test/v1", "ftp://x/api", "http://", "http://[", "//x"])
def test_what_is_no_address_is_refused_at_once(path):
    with pytest.raises(errors.ConfigurationError):
        VideoService(base_url=path, api_key="mav_x1")


@pytest.mark.parametrize("key", ["", "  ", "mav_\nx", "mav_é", "mav a"])
def test_what_can_be_no_key_is_refused_at_once(key):
    with pytest.raises(errors.ConfigurationError) as caught:
        VideoService(base_url="http://x/api/v1", api_key=key)
    assert key.strip() == "" or key not in str(caught.value)


async def test_every_request_is_told_without_anything_secret(talk):
    seen = []
    service, _ = talk((500, {}), (200, {}), on_request=seen.append)
    await service.get("vid_1")
    assert [(a.operation, a.path, a.number, a.status, a.outcome) for a in seen] == [
        ("get", "/videos/{id}", 1, 500, "trouble"),
        ("get", "/videos/{id}", 2, 200, "ok"),
    ]
    assert str(seen[0]).startswith("get GET /videos/{id} 500 trouble attempt 1 ")
