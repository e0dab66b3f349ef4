"""The seven operations on webhooks: who may call them, what they take, answer and refuse."""

from __future__ import annotations

import stat
from typing import Any

import httpx
import pytest

from tests.contract.sandbox.receiver import receiving, status

GOOD = {"url": "https://example.com/hook", "events": ["video.ready"]}
BAD = [
    ({"url": 7}, "url"),
    ({"url": None}, "url"),
    ({"events": []}, "events"),
    ({"events": "video.ready"}, "events"),
    ({"events": [1]}, "events"),
    ({"events": ["video.ready", "video.exploded"]}, "video.ready"),
    ({"name": 7}, "name"),
    ({"name": "n" * 201}, "name"),
    ({"secret": "of my own"}, "secret"),
]
BAD_CREATES = [({"url": None, "events": None}, "url"), ({"is_active": False}, "is_active"), *BAD]
BAD_PATCHES = [({"is_active": 1}, "is_active"), ({"is_active": None}, "is_active"),
               ({"id": "wh_mine"}, "id"), *BAD]  # fmt: skip
RECORD = {
    *("id", "url", "events", "name", "is_active", "consecutive_failures"),
    *("disabled_at", "disabled_reason", "created_at", "updated_at"),
}


def create(running: Any, **fields: Any) -> dict[str, Any]:
    made = running.client.post("/webhooks", json={**GOOD, **fields})
    assert made.status_code == 201, made.text
    return dict(made.json()["data"])


def error_of(answer: httpx.Response) -> dict[str, Any]:
    said = answer.json()
    assert said["data"] is None
    assert said["meta"]["request_id"].startswith("req_")
    assert said["error"]["retryable"] is False
    return dict(said["error"])


@pytest.mark.parametrize(("body", "words"), BAD_CREATES)
def test_a_bad_create_is_refused_in_a_sentence(instant, body, words):
    refused = instant.post("/webhooks", **{**GOOD, **body})
    assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_request")
    assert words in error_of(refused)["message"]
    for lacking, left in (("url", "events"), ("events", "url")):
        answer = instant.post("/webhooks", **{left: GOOD[left]})
        assert lacking in error_of(answer)["message"]


@pytest.mark.parametrize(("body", "words"), BAD_PATCHES)
def test_a_bad_update_is_refused_and_changes_nothing(instant, body, words):
    made = create(instant)
    refused = instant.client.patch(f"/webhooks/{made['id']}", json={"name": "new", **body})
    assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_request")
    assert words in error_of(refused)["message"]
    assert instant.client.get(f"/webhooks/{made['id']}").json()["data"]["name"] == ""


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"url"', b"null", b"\xff", b'{"url": NaN}'])
def test_what_is_not_a_json_object_is_refused(instant, raw):
    made = create(instant)
    for method, path in (("POST", "/webhooks"), ("PATCH", f"/webhooks/{made['id']}")):
        refused = instant.client.request(method, path, content=raw)
        assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_request")


def test_the_secret_is_in_the_answer_to_the_create_alone(instant):
    made, other = create(instant, name="Studio"), create(instant)
    assert set(made) == RECORD | {"secret"}
    assert made["id"].startswith("wh_")
    assert len(made["secret"]) >= 32
    assert made["secret"] != other["secret"]
    assert (made["is_active"], made["consecutive_failures"]) == (True, 0)
    path = f"/webhooks/{made['id']}"
    answers = [
        instant.client.get(path),
        instant.client.get("/webhooks"),
        instant.client.patch(path, json={"name": "Set"}),
        instant.client.get(f"{path}/deliveries"),
        instant.client.delete(path),
    ]
    assert [answer.status_code for answer in answers] == [200] * 5
    assert not any(made["secret"] in answer.text for answer in answers)
    assert set(answers[0].json()["data"]) == RECORD


def test_secrets_are_kept_where_only_their_owner_reads(start, tmp_path):
    running = start("--render", "instant")
    secret = create(running)["secret"].encode()
    running.kill()
    assert [file for file in tmp_path.glob("state.*") if secret in file.read_bytes()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("state.*")} == {0o600}


def test_a_webhook_is_listed_changed_and_deleted(instant):
    made = create(instant, name="First")
    path = f"/webhooks/{made.pop('id')}"
    listed = instant.client.get("/webhooks").json()["data"]["webhooks"]
    assert listed[-1]["name"] == "First"
    changes = {"url": "https://example.org/", "events": ["video.ready", "ping"], "name": "Second"}
    changed = instant.client.patch(path, json=changes).json()["data"]
    assert {name: changed[name] for name in changes} == changes
    assert changed["created_at"] == made["created_at"]
    assert instant.client.get(path).json()["data"] == changed
    assert instant.client.patch(path, json={}).json()["data"]["name"] == "Second"
    gone = instant.client.delete(path)
    assert gone.json()["data"] == {"id": path.removeprefix("/webhooks/"), "deleted": True}
    assert instant.client.get(path).status_code == 404
    assert instant.client.delete(path).status_code == 404


def test_is_active_goes_off_and_on_again_and_a_kind_named_twice_is_kept_once(instant):
    made = create(instant, events=["video.ready"] * 3)
    assert made["events"] == ["video.ready"]
    path = f"/webhooks/{made['id']}"
    off = instant.client.patch(path, json={"is_active": False}).json()["data"]
    assert (off["is_active"], off["disabled_at"] is None) == (False, False)
    assert "PATCH" in off["disabled_reason"]
    on = instant.client.patch(path, json={"is_active": True}).json()["data"]
    assert (on["is_active"], on["disabled_at"], on["disabled_reason"]) == (True, None, None)


def test_a_ping_is_signed_and_says_what_the_receiver_answered(hooked):
    with receiving() as receiver:
        made = create(hooked, url=f"{receiver.url}/hook?nonce=1")
        path = f"/webhooks/{made['id']}"
        # It reaches a disabled one, and does not enable it.
        hooked.client.patch(path, json={"is_active": False})
        result = ping(hooked, path)
        got = receiver.wait(1)[0]
        assert got.is_signed_with(made["secret"])
        assert (got.method, got.path, got.header("Attempt")) == ("POST", "/hook?nonce=1", "1")
        assert got.said["data"]["test"] is True
        assert got.header("Event") == got.said["type"] == "ping"
        assert got.header("Event-Id") == got.said["id"] == result["event_id"]
        assert (result["delivered"], result["status"], result["error"]) == (True, 200, None)
        receiver.answer = status(503)
        result = ping(hooked, path)
        assert (result["delivered"], result["error"]) == (False, "It answered 503.")
    assert ping(hooked, path)["error"] == "It cannot be connected to."
    tried = hooked.data(f"{path}/deliveries")["deliveries"]
    assert [one["status"] for one in tried] == [None, 503, 200]
    assert {(one["event"], one["next_attempt_at"]) for one in tried} == {("ping", None)}
    assert hooked.data(path)["is_active"] is False
    hooked.client.delete(path)
    unknown = f"/webhooks/{create(hooked, url='https://receiver.invalid/hook')['id']}"
    assert ping(hooked, unknown)["delivered"] is False
    hooked.client.delete(unknown)


def ping(running: Any, path: str) -> dict[str, Any]:
    answer = running.client.post(f"{path}/test", timeout=30)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["milliseconds"] >= 0
    return dict(answer.json()["data"])
