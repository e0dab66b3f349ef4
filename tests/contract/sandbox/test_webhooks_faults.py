"""Faults on deliveries: each looks to the receiver as it would from a real service."""

from __future__ import annotations

import json
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
    hooked.client.delete(doors(hooked, "faults"))
    one.delete()


def doors(running: Any, name: str) -> str:
    return f"{running.ready['auth_url']}/_sandbox/{name}"


def strike_once(running: Any, do: str, **members: Any) -> None:
    fault = {"on": "webhook", "do": do, "nth": 1, **members}
    planned = running.client.post(doors(running, "faults"), json=fault)
    assert planned.status_code == 201, planned.text


def deliver(
    subscription: Subscription, receiver: Receiver, do: str, *, arrive: int, title: str = "Struck"
) -> list[Got]:
    """Have a fault strike one delivery; give all that arrives."""
    strike_once(subscription.running, do)
    subscription.running.create(title=title)
    return receiver.wait(arrive)


def outcomes(tried: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Give attempt and status of each, oldest first."""
    return [(one["attempt"], one["status"]) for one in reversed(tried)]


def test_missing_is_sent_to_nobody(
    hooked: Any, receiver: Receiver, subscription: Subscription
) -> None:
    lost = control(hooked)["counts"]["lost"]
    strike_once(hooked, "missing")
    hooked.wait(hooked.create(title="lost"))
    hooked.create(title="kept")
    assert receiver.wait(1)[0].said["data"]["title"] == "kept"
    assert outcomes(subscription.tried(1)) == [(1, 200)]
    assert control(hooked)["counts"]["lost"] == lost + 1
    assert subscription.pending() == []


def test_doubled_is_sent_twice_under_one_id(receiver: Receiver, subscription: Subscription) -> None:
    one, two = deliver(subscription, receiver, "doubled", arrive=2)
    assert (one.header("Event-Id"), one.body) == (two.header("Event-Id"), two.body)
    assert one.is_signed_with(subscription.secret)
    assert two.is_signed_with(subscription.secret)
    assert outcomes(subscription.tried(1)) == [(1, 200)]


def test_late_is_sent_later_once(
    hooked: Any, receiver: Receiver, subscription: Subscription
) -> None:
    strike_once(hooked, "late", nth="1-2", seconds=1.5)
    began = time.time()
    hooked.create(title="late")
    got = receiver.wait(1)[0]
    assert got.at - began >= 1.5
    assert got.header("Attempt") == "1"
    assert got.is_signed_with(subscription.secret)
    assert hooked.client.get(doors(hooked, "faults")).json()[0]["struck"] == 1
    assert outcomes(subscription.tried(1)) == [(1, 200)]


def test_forged_comes_before_the_true_one(receiver: Receiver, subscription: Subscription) -> None:
    forged, true = deliver(subscription, receiver, "forged", arrive=2)
    assert forged.header("Signature").startswith("sha256=")
    assert len(forged.header("Signature")) == len(true.header("Signature"))
    assert not forged.is_signed_with(subscription.secret)
    assert true.is_signed_with(subscription.secret)
    assert outcomes(subscription.tried(1)) == [(1, 200)]


def test_replayed_comes_again_under_another_id(
    receiver: Receiver, subscription: Subscription
) -> None:
    true, replayed = deliver(subscription, receiver, "replayed", arrive=2)
    assert true.body == replayed.body
    assert true.header("Signature") == replayed.header("Signature")
    assert true.header("Event-Id") == true.said["id"] != replayed.header("Event-Id")
    assert outcomes(subscription.tried(1)) == [(1, 200)]


def test_reserialized_does_not_fit_its_signature_and_the_retry_does(
    receiver: Receiver, subscription: Subscription
) -> None:
    spoilt, true = deliver(subscription, receiver, "reserialized", arrive=2, title="Grüße")
    assert json.loads(spoilt.body) == json.loads(true.body)
    assert spoilt.body != true.body
    assert spoilt.header("Signature") == true.header("Signature")
    assert not spoilt.is_signed_with(subscription.secret)
    assert outcomes(subscription.tried(2)) == [(1, 401), (2, 200)]


def test_unsigned_has_no_signature_and_the_retry_has(
    receiver: Receiver, subscription: Subscription
) -> None:
    spoilt, true = deliver(subscription, receiver, "unsigned", arrive=2)
    assert "X-Service-Signature" not in spoilt.headers
    assert spoilt.body == true.body
    assert outcomes(subscription.tried(2)) == [(1, 401), (2, 200)]


def test_a_ping_is_struck_by_nothing(
    hooked: Any, receiver: Receiver, subscription: Subscription
) -> None:
    strike_once(hooked, "unsigned")
    hooked.client.post(f"/webhooks/{subscription.id}/test")
    assert receiver.wait(1)[0].is_signed_with(subscription.secret)
