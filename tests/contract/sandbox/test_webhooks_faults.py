"""Faults on deliveries: each looks to the receiver as it would from a real service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.sandbox.receiver import Got, Handler, Receiver, status
from tests.contract.sandbox.subscription import Subscription, control, subscribe


@pytest.fixture
def subscription(hooked: Any, receiver: Receiver) -> Iterator[Subscription]:
    one = subscribe(hooked, receiver.url)

    def careful(handler: Handler, got: Got) -> None:
        status(200 if got.is_signed_with(one.secret) else 401)(handler, got)

    receiver.answer = careful
    yield one
    hooked.client.delete(hooked.door("faults"))
    one.delete()


def strike_once(running: Any, do: str, **members: Any) -> None:
    fault = {"on": "webhook", "do": do, "nth": 1, **members}
    planned = running.client.post(running.door("faults"), json=fault)
    assert planned.status_code == 201, planned.text


def outcomes(tried: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Give attempt and status of each, oldest first."""
    return [(one["attempt"], one["status"]) for one in reversed(tried)]


def test_missing_is_sent_to_nobody(hooked, receiver, subscription):
    lost = control(hooked)["counts"]["lost"]
    strike_once(hooked, "missing")
    hooked.wait(hooked.create(title="lost"))
    hooked.create(title="kept")
    assert receiver.wait(1)[0].said["data"]["title"] == "kept"
    assert outcomes(subscription.tried(1)) == [(1, 200)]
    assert control(hooked)["counts"]["lost"] == lost + 1
    assert subscription.pending() == []


def test_late_is_sent_later_once(hooked, receiver, subscription):
    strike_once(hooked, "late", nth="1-2", seconds=1.5)
    began = time.time()
    hooked.create(title="late")
    got = receiver.wait(1)[0]
    assert got.at - began >= 1.5
    assert got.header("Attempt") == "1"
    assert got.is_signed_with(subscription.secret)
    assert hooked.client.get(hooked.door("faults")).json()[0]["struck"] == 1
    assert outcomes(subscription.tried(1)) == [(1, 200)]


@pytest.mark.parametrize(
    ("do", "same_id", "same_body", "same_signature", "good", "attempts"),
    [
        ("doubled", True, True, True, [True, True], [(1, 200)]),
        ("forged", True, True, False, [False, True], [(1, 200)]),
        ("replayed", False, True, True, [True, True], [(1, 200)]),
        # What does not fit its signature is refused, and the retry fits.
        ("reserialized", True, False, True, [False, True], [(1, 401), (2, 200)]),
        ("unsigned", True, True, False, [False, True], [(1, 401), (2, 200)]),
    ],
)
def test_two_come_for_one(
    receiver, subscription, do, same_id, same_body, same_signature, good, attempts
):
    strike_once(subscription.running, do)
    subscription.running.create(title="Grüße")
    one, two = receiver.wait(2)
    assert (one.header("Event-Id") == two.header("Event-Id")) is same_id
    assert (one.body == two.body) is same_body
    assert one.said == two.said
    assert (one.header("Signature") == two.header("Signature")) is same_signature
    assert ("X-Service-Signature" in one.headers) is (do != "unsigned")
    assert [got.is_signed_with(subscription.secret) for got in (one, two)] == good
    assert outcomes(subscription.tried(len(attempts))) == attempts


def test_a_ping_is_struck_by_nothing(hooked, receiver, subscription):
    strike_once(hooked, "unsigned")
    hooked.client.post(f"/webhooks/{subscription.id}/test")
    assert receiver.wait(1)[0].is_signed_with(subscription.secret)
