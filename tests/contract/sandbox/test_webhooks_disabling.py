"""When a webhook is given up, how it comes back, and what a stop or a kill does to deliveries."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.sandbox.receiver import WITHIN, Got, Handler, Receiver, receiving, status
from tests.contract.sandbox.subscription import Subscription, control, subscribe

#: Retries come after 30 s and more: within a test, there are none.
NO_RETRIES = ("--render", "instant", "--allow-loopback-webhooks", "--time-scale", "1")
#: The first retry comes after 3 s.
ONE_RETRY = ("--render", "instant", "--allow-loopback-webhooks", "--time-scale", "10")


@pytest.fixture
def subscription(unhurried: Any, receiver: Receiver) -> Iterator[Subscription]:
    one = subscribe(unhurried, receiver.url)
    yield one
    one.delete()


def fail(subscription: Subscription, receiver: Receiver, times: int) -> None:
    receiver.answer = status(500)
    already = len(subscription.tried(0))
    for _ in range(times):
        subscription.running.create()
    subscription.tried(already + times)


def test_failures_that_come_in_after_the_twentieth_lead_to_nothing(
    unhurried, receiver, subscription
):
    fail(subscription, receiver, 19)
    together = threading.Barrier(4)

    def refuse_together(handler: Handler, got: Got) -> None:
        together.wait(WITHIN)
        status(500)(handler, got)

    receiver.answer = refuse_together
    for _ in range(4):
        unhurried.create()
    tried = subscription.tried(23)
    assert {one["next_attempt_at"] for one in tried} == {None}
    assert subscription.shown()["consecutive_failures"] == 20
    assert subscription.pending() == []


@pytest.mark.merge
def test_twenty_failures_in_a_row_disable_a_webhook_which_later_does_not_get_what_it_missed(
    unhurried, receiver, subscription
):
    with receiving() as well:
        other = subscribe(unhurried, well.url)
        fail(subscription, receiver, 19)
        shown = subscription.shown()
        assert (shown["is_active"], shown["consecutive_failures"]) == (True, 19)
        assert len(subscription.pending()) == 19
        fail(subscription, receiver, 1)
        other.tried(20)
        assert other.shown()["is_active"] is True
        other.delete()
    shown = subscription.shown()
    assert (shown["is_active"], shown["consecutive_failures"]) == (False, 20)
    assert shown["disabled_reason"] == "20 attempts in a row failed."
    assert (shown["disabled_at"] is None, subscription.pending()) == (False, [])
    unhurried.wait(unhurried.create(title="missed"))
    receiver.answer = status(200)
    subscription.patch(is_active=True)
    shown = subscription.shown()
    assert (shown["is_active"], shown["consecutive_failures"]) == (True, 0)
    assert (shown["disabled_at"], shown["disabled_reason"]) == (None, None)
    unhurried.create(title="seen")
    titles = [one.said["data"]["title"] for one in receiver.wait(21)]
    assert titles == [*["Aurora"] * 20, "seen"]


def test_one_success_begins_the_count_anew_and_pings_count_neither_way(
    unhurried, receiver, subscription
):
    fail(subscription, receiver, 19)
    path = f"/webhooks/{subscription.id}/test"
    assert unhurried.client.post(path).json()["data"]["status"] == 500
    receiver.answer = status(204)
    assert unhurried.client.post(path).json()["data"]["delivered"] is True
    assert subscription.shown()["consecutive_failures"] == 19
    unhurried.create()
    subscription.tried(22)
    assert subscription.shown()["consecutive_failures"] == 0
    fail(subscription, receiver, 1)
    shown = subscription.shown()
    assert (shown["is_active"], shown["consecutive_failures"]) == (True, 1)


def test_deleting_or_switching_off_stops_what_is_on_its_way(unhurried, receiver, subscription):
    other = subscribe(unhurried, receiver.url)
    fail(subscription, receiver, 2)
    other.tried(2)
    assert len(control(unhurried)["pending"]) == 4
    subscription.patch(is_active=False)
    other.delete()
    assert control(unhurried)["pending"] == []
    subscription.patch(is_active=True)
    assert control(unhurried)["pending"] == []


@pytest.mark.merge
def test_a_waiting_delivery_goes_to_the_new_address(start, receiver):
    running = start(*ONE_RETRY)
    subscription = subscribe(running, f"{receiver.url}/old")
    fail(subscription, receiver, 1)
    receiver.answer = status(200)
    subscription.patch(url=f"{receiver.url}/new")
    assert [one.path for one in receiver.wait(2)] == ["/old", "/new"]


@pytest.mark.merge
def test_a_kill_in_the_middle_of_the_schedule_loses_nothing(start, receiver):
    first = start(*ONE_RETRY)
    subscription = subscribe(first, receiver.url)
    fail(subscription, receiver, 1)
    planned = subscription.pending()[0]
    assert (planned["attempt"], len(receiver.got)) == (2, 1)
    first.kill()
    receiver.answer = status(200)
    again = start(*ONE_RETRY)
    after = Subscription(again, subscription.id, subscription.secret)
    got = receiver.wait(2)
    assert [one.header("Attempt") for one in got] == ["1", "2"]
    assert got[0].header("Event-Id") == got[1].header("Event-Id") == planned["event_id"]
    assert got[0].body == got[1].body
    assert got[1].is_signed_with(subscription.secret)
    tried = after.tried(2)
    assert tried[0]["started_at"] >= planned["due_at"]
    assert [(one["attempt"], one["status"]) for one in tried] == [(2, 200), (1, 500)]
    assert after.shown()["consecutive_failures"] == 0


@pytest.mark.merge
def test_what_was_under_way_at_a_kill_is_sent_again(start, receiver):
    first = start(*NO_RETRIES)
    subscription = subscribe(first, receiver.url)
    receiver.answer = lambda handler, got: time.sleep(WITHIN)
    first.create()
    receiver.wait(1)
    first.kill()
    receiver.answer = status(200)
    again = start(*NO_RETRIES)
    got = receiver.wait(2)
    assert got[0].header("Event-Id") == got[1].header("Event-Id")
    assert [one.header("Attempt") for one in got] == ["1", "1"]
    assert len(Subscription(again, subscription.id, "").tried(1)) == 1
