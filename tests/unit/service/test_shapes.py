"""Answers in every shape they may come in: enveloped or bare, and under other names."""

from __future__ import annotations

from decimal import Decimal

import pytest

from callsheet.tasks.runtime.errors import OutcomeUnknown, ShapeError

BODY = b'{"idempotency_key":"cs1_k"}'


def enveloped(data):
    return {"data": data, "error": None, "meta": {"request_id": "r"}}


def bare(data):
    return data


both = pytest.mark.parametrize("wrap", [enveloped, bare, lambda data: {"data": data}])


@both
async def test_a_create_is_read_with_its_hint(talk, wrap):
    data = {"id": "vid_1", "status": "generating", "poll_after_seconds": 15, "new": [1]}
    service, _ = talk((202, wrap(data)))
    created = await service.create(BODY, key="cs1_k")
    assert (created.video_id, created.status, created.poll_after) == ("vid_1", "generating", 15)
    assert created.raw == data


@both
@pytest.mark.parametrize(
    "data",
    [
        {"id": "vid_1"},
        {"video": {"id": "vid_1"}},
        {"name": "vid_1"},
        {"id": "req_9", "video_id": "vid_1"},
        {"id": "req_9", "result": {"video": "vid_1"}},
        {"jobs": [{"target": "vid_1"}], "again": "vid_1"},
        "vid_1",
    ],
)
async def test_the_id_is_found_under_any_name(talk, wrap, data):
    service, _ = talk((202, wrap(data)))
    assert (await service.create(BODY, key="cs1_k")).video_id == "vid_1"


async def test_an_id_of_another_form_is_taken_when_there_is_no_other(talk):
    service, _ = talk((200, {"id": "f81d4fae"}))
    assert (await service.create(BODY, key="cs1_k")).video_id == "f81d4fae"


@pytest.mark.parametrize(
    "data",
    [{}, None, 7, {"id": None}, {"id": ""}, {"id": 5}, {"a": "vid_1", "b": "vid_2"}, {"id": []}],
)
async def test_a_create_without_one_certain_id_is_unknown(talk, data):
    service, seen = talk((202, enveloped(data)))
    with pytest.raises(OutcomeUnknown):
        await service.create(BODY, key="cs1_k")
    assert len(seen) == 3


async def test_a_success_that_holds_an_error_is_not_a_success(talk):
    service, _ = talk((200, {"data": None, "error": {"message": "odd"}, "meta": {}}))
    with pytest.raises(OutcomeUnknown, match="odd"):
        await service.create(BODY, key="cs1_k")


@pytest.mark.parametrize(
    ("hint", "seconds"),
    [(15, 15), (0, 0), (2.5, 2.5), ("20", 20), (10**9, 10**9), (-1, None), ("soon", None),
     ("nan", None), ("inf", None), (True, None), (None, None), ([5], None), (10**400, None)],
)  # fmt: skip
async def test_a_polling_hint_is_a_number_of_seconds_or_nothing(talk, hint, seconds):
    service, _ = talk((200, {"id": "vid_1", "poll_after_seconds": hint}))
    assert (await service.get("vid_1")).poll_after == seconds


async def test_a_hint_that_is_not_json_is_nothing(talk):
    service, _ = talk((200, b'{"id": "vid_1", "poll_after_seconds": NaN}'))
    video = await service.get("vid_1")
    assert video.poll_after is None
    assert video.raw == {"id": "vid_1", "poll_after_seconds": None}


@both
@pytest.mark.parametrize(
    "data",
    [
        {"amount": "12"},
        {"cost": 12.0},
        {"total_credits": 12, "credits": 3},
        {"estimated_credits": 12},
        {"price": 12},
        {"quote": {"credits": 12}},
        {"total": {"amount": 12, "unit": "credits"}},
        {"credits": {"total": 12}},
        {"estimate": {"cost": {"amount": 12}}},
        12,
    ],
)
async def test_a_quote_is_found_under_any_name(talk, wrap, data):
    service, _ = talk((200, wrap(data)))
    assert (await service.estimate({"topic": "x"})).amount == Decimal(12)


@pytest.mark.parametrize(
    "data",
    [{}, {"credits": "some"}, {"credits": -1}, {"credits": True}, {"credits": None}, {"x": 12}, []],
)
async def test_a_quote_that_cannot_be_read_is_unknown_and_not_nothing(talk, data):
    service, _ = talk((200, enveloped(data)))
    quote = await service.estimate({"topic": "x"})
    assert quote.amount is None
    assert quote.raw == data


@both
@pytest.mark.parametrize(
    "data",
    [
        {"url": "https://f.test/a.mp4?sig=1"},
        {"download_url": "https://f.test/a.mp4?sig=1", "page": "https://f.test/other"},
        {"signed": {"link": "https://f.test/a.mp4?sig=1"}, "expires_in": 900},
        {"url": None, "where": "https://f.test/a.mp4?sig=1"},
        "https://f.test/a.mp4?sig=1",
    ],
)
async def test_the_signed_address_is_found_under_any_name(talk, wrap, data):
    service, _ = talk((200, wrap(data)))
    assert (await service.download("vid_1")).url == "https://f.test/a.mp4?sig=1"


@pytest.mark.parametrize(
    "data", [{}, {"url": "ftp://f.test/a"}, {"a": "https://f.test/1", "b": "https://f.test/2"}]
)
async def test_without_one_certain_address_the_shape_is_wrong(talk, data):
    service, _ = talk((200, enveloped(data)))
    with pytest.raises(ShapeError):
        await service.download("vid_1")


@both
async def test_any_word_is_a_status_and_all_else_is_kept(talk, wrap):
    data = {"id": "vid_1", "status": "marinating", "progress": {"percent": 3}}
    service, _ = talk((200, wrap(data)))
    video = await service.get("vid_1")
    assert (video.status, video.charged, video.raw) == ("marinating", None, data)


@pytest.mark.parametrize("data", [{}, {"status": None}, {"status": 3}, {"title": "x"}])
async def test_a_video_without_id_or_status_is_still_the_one_asked_for(talk, data):
    service, _ = talk((200, enveloped(data)))
    video = await service.get("vid_1")
    assert (video.id, video.status) == ("vid_1", None)


@both
@pytest.mark.parametrize(
    "data",
    [
        {"id": "vid_1", "credits_charged": "7.5"},
        {"video": {"id": "vid_1", "credits_used": 7.5}, "viewer": {"credits": 3}},
        {"credits_spent": {"credits_charged": "7.50"}},
    ],
)
async def test_what_was_charged_is_read_where_it_is_shown(talk, wrap, data):
    service, _ = talk((200, wrap(data)))
    assert (await service.get("vid_1")).charged == Decimal("7.5")


@both
@pytest.mark.parametrize(
    ("data", "amount"),
    [
        ({"balance": 90, "reserved": 30, "available": 60}, 60),
        ({"credits": {"balance": 90, "remaining": "60.5"}}, Decimal("60.5")),
        ({"balance": 90}, 90),
        ({"credits": 0}, 0),
        (90, 90),
        ({"credits": True}, None),
        ({"plan": "team"}, None),
        ([90], None),
    ],
)
async def test_the_credits_that_are_left(talk, wrap, data, amount):
    service, _ = talk((200, wrap(data)))
    assert await service.credits() == amount


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        ({"credits": 65, "duration_seconds": 30}, 30),
        ({"credits": 65, "breakdown": {"seconds": 60}}, None),
        ({"credits": 65, "seconds": "30"}, None),
        ({"credits": 65, "seconds": True}, None),
        (65, None),
    ],
)
@both
async def test_a_quote_may_say_for_how_long_a_video_it_is(talk, wrap, data, seconds):
    service, _ = talk((200, wrap(data)))
    assert (await service.estimate({"tool": "explainer"})).seconds == seconds
