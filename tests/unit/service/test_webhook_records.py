"""Subscriptions: read in whatever envelope, and their secret kept to whoever asked for it."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import BadInput, ShapeError
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.service import operations as ops
from tests.unit.service.asked import subscribe

HOOK = {
    "id": "wh_1",
    "url": "https://r.test/hook",
    "events": ["video.ready"],
    "name": "ours",
    "is_active": True,
    "created_at": "2026-01-01T00:00:00Z",
}


def enveloped(data):
    return {"data": data, "error": None, "meta": {}}


wraps = pytest.mark.parametrize(
    "wrap", [enveloped, lambda data: data, lambda data: enveloped({"webhook": data})]
)


@wraps
async def test_a_subscription_is_read_in_any_envelope(talk, wrap):
    service, _ = talk((200, wrap(HOOK)))
    hook = await service.ask(ops.GET_WEBHOOK, "wh_1")
    assert (hook.id, hook.url, hook.events) == ("wh_1", "https://r.test/hook", ("video.ready",))
    assert (hook.name, hook.is_active, hook.secret) == ("ours", True, None)
    assert hook.raw == HOOK


@pytest.mark.parametrize(
    "record",
    [
        {"id": "wh_1"},
        {"webhook_id": "wh_1"},
        {"id": None, "webhook_id": "wh_1"},
        {"id": "req_7", "webhook_id": "wh_1"},
        {"hook": "wh_1"},
    ],
)
async def test_its_id_is_found_under_any_name(talk, record):
    service, _ = talk((201, enveloped(record | {"secret": "whsec_named"})))
    hook = await subscribe(service, "https://r.test/h")
    assert (hook.id, hook.secret) == ("wh_1", "whsec_named")


@pytest.mark.parametrize("record", [{}, {"id": 5}, [], "none", {"a": "wh_1", "b": "wh_2"}, None])
async def test_without_one_certain_id_the_shape_is_wrong(talk, record):
    service, _ = talk((200, enveloped(record)))
    with pytest.raises(ShapeError):
        await service.ask(ops.GET_WEBHOOK, "wh_1")


@pytest.mark.parametrize(
    "body",
    [
        HOOK | {"secret": "plain0canary0words"},
        enveloped(HOOK | {"secret": "plain0canary0words"}),
        enveloped({"webhook": HOOK | {"secret": "plain0canary0words"}}),
        enveloped({"webhook": HOOK, "secret": "plain0canary0words"}),
    ],
)
async def test_the_secret_is_given_once_and_shown_nowhere(talk, body):
    service, _ = talk((201, body))
    hook = await subscribe(service, "https://r.test/hook")
    assert hook.secret == "plain0canary0words"
    assert "canary" not in repr(hook)
    assert "canary" not in repr(hook.raw)
    assert "canary" not in redact("the secret plain0canary0words came back in a text")


@pytest.mark.parametrize(
    "record",
    [
        {"events": None, "is_active": "yes", "name": 5, "url": None},
        {"events": "video.ready", "is_active": None, "name": [], "url": 1},
        {},
    ],
)
async def test_what_is_missing_or_odd_is_not_guessed(talk, record):
    service, _ = talk((200, enveloped({"id": "wh_1"} | record)))
    hook = await service.ask(ops.GET_WEBHOOK, "wh_1")
    assert (hook.events, hook.is_active, hook.name, hook.url) == ((), None, None, None)


@pytest.mark.parametrize(
    "body",
    [
        [HOOK],
        enveloped([HOOK]),
        enveloped({"webhooks": [HOOK], "events": ["video.ready"]}),
        {"items": [HOOK, {"url": "without id"}, None]},
    ],
)
async def test_a_list_of_them_is_found(talk, body):
    service, _ = talk((200, body), (200, enveloped({"count": 0})))
    assert [hook.id for hook in await service.ask(ops.LIST_WEBHOOKS)] == ["wh_1"]
    with pytest.raises(ShapeError):
        await service.ask(ops.LIST_WEBHOOKS)


@pytest.mark.parametrize(
    "body", [[{"n": 1}, "odd"], enveloped([{"n": 1}, "odd"]), {"deliveries": [{"n": 1}, "odd"]}]
)
async def test_attempts_at_delivery_are_kept_as_they_are(talk, body):
    service, _ = talk((200, body))
    assert await service.ask(ops.DELIVERIES, "wh_1") == [{"n": 1}, "odd"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, enveloped({"delivered": True})), {"delivered": True}),
        ((200, {"ok": 1}), {"ok": 1}),
        ((204, b""), None),
    ],
)
async def test_a_ping_says_whatever_it_says(talk, answer, said):
    service, _ = talk(answer)
    assert await service.ask(ops.TEST_WEBHOOK, "wh_1") == said


@pytest.mark.parametrize("answer", [(200, HOOK), (200, b"deleted"), (204, b"")])
async def test_an_ended_subscription_is_ended_whatever_is_said_of_it(talk, answer):
    service, seen = talk(answer)
    await service.ask(ops.DELETE_WEBHOOK, "wh_1")
    assert len(seen) == 1


async def test_an_id_stays_inside_its_place_in_the_path(talk):
    service, seen = talk((200, enveloped(HOOK)))
    await service.ask(ops.GET_WEBHOOK, "../videos")
    assert seen[0].url.raw_path == b"/api/v1/webhooks/..%2Fvideos"
    for webhook_id in ("", "."):
        with pytest.raises(BadInput, match="not the id of a webhook"):
            await service.ask(ops.GET_WEBHOOK, webhook_id)
