"""Section 6 of the specification: what is delivered, what acknowledges it, what is tried again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.contract.sandbox.receiver import WITHIN, Got, Handler, Receiver, receiving, status
from tests.contract.sandbox.subscription import Subscription, subscribe

SCALE = 10000
RETRIES = [30, 120, 600, 3600, 21600]


@pytest.fixture
def subscription(hooked: Any, receiver: Receiver) -> Iterator[Subscription]:
    one = subscribe(hooked, receiver.url)
    yield one
    one.delete()


def seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def test_a_finished_render_is_told_with_a_signature(hooked, receiver, subscription):
    began = time.time()
    video = hooked.create(title="Löwen & Bären")
    got = receiver.wait(1)[0]
    assert got.is_signed_with(subscription.secret)
    assert not got.is_signed_with("another secret")
    assert got.method == "POST"
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["User-Agent"]
    assert got.header("Event") == got.said["type"] == "video.ready"
    assert got.header("Event-Id") == got.said["id"]
    assert got.header("Attempt") == "1"
    assert int(began) <= int(got.header("Timestamp")) <= time.time()
    assert set(got.said) == {"id", "type", "created_at", "data"}
    shown = hooked.get(video)
    for member in ("id", "status", "title"):
        assert got.said["data"][member] == shown[member]
    tried = subscription.tried(1)
    assert tried[0]["outcome"] == "delivered"
    assert (tried[0]["status"], tried[0]["next_attempt_at"]) == (200, None)


def test_every_subscription_gets_its_own_copy_of_one_event(hooked, receiver, subscription):
    other = subscribe(hooked, f"{receiver.url}/other")
    elsewhere = subscribe(hooked, f"{receiver.url}/elsewhere", events=["ping"])
    hooked.create()
    got = {one.path: one for one in receiver.wait(2)}
    assert set(got) == {"/", "/other"}
    assert got["/"].is_signed_with(subscription.secret)
    assert got["/other"].is_signed_with(other.secret)
    assert got["/"].header("Event-Id") == got["/other"].header("Event-Id")
    assert elsewhere.tried(0) == []
    other.delete()
    elsewhere.delete()


@pytest.mark.parametrize("number", [201, 299])
def test_any_2xx_acknowledges(hooked, receiver, subscription, number):
    receiver.answer = status(number)
    hooked.create()
    tried = subscription.tried(1)
    assert [(one["outcome"], one["status"]) for one in tried] == [("delivered", number)]


def test_a_failure_is_tried_again_five_times_and_then_no_more(hooked, receiver, subscription):
    receiver.answer = status(500)
    hooked.create()
    got = receiver.wait(6)
    assert [one.header("Attempt") for one in got] == ["1", "2", "3", "4", "5", "6"]
    assert len({(one.header("Event-Id"), one.body) for one in got}) == 1
    assert all(one.is_signed_with(subscription.secret) for one in got)
    tried = subscription.tried(6)[::-1]
    assert [one["attempt"] for one in tried] == [1, 2, 3, 4, 5, 6]
    assert {(one["outcome"], one["status"]) for one in tried} == {("failed", 500)}
    for one, after, retry in zip(tried, tried[1:], RETRIES, strict=False):
        planned = seconds(one["next_attempt_at"])
        # Stamps have whole milliseconds.
        assert planned - seconds(one["started_at"]) >= retry / SCALE - 0.002
        assert seconds(after["started_at"]) >= planned - 0.002
    assert tried[-1]["next_attempt_at"] is None
    assert subscription.shown()["consecutive_failures"] == 6
    assert subscription.pending() == []


def drop(handler: Handler, got: Got) -> None:
    handler.close_connection = True


def babble(handler: Handler, got: Got) -> None:
    handler.wfile.write(b"this is not HTTP\r\n\r\n")
    handler.close_connection = True


def endless_headers(handler: Handler, got: Got) -> None:
    handler.send_response(200)
    handler.end_headers = lambda: None  # type: ignore[method-assign]
    for number in range(100_000):
        handler.wfile.write(b"X-%d: %s\r\n" % (number, b"x" * 1000))


@pytest.mark.parametrize(
    ("answer", "number", "words"),
    [
        (status(307, Location="/elsewhere"), 307, "It answered 307."),
        (status(304), 304, "It answered 304."),
        (drop, None, "It closed the connection without an answer."),
        (babble, None, "Its answer was not HTTP."),
        (endless_headers, None, ""),
    ],
)
def test_anything_else_is_a_failure_told_in_a_sentence(
    hooked, receiver, subscription, answer, number, words
):
    receiver.answer = answer
    hooked.create()
    last = subscription.tried(1)[-1]
    assert (last["outcome"], last["status"]) == ("failed", number)
    assert words in last["error"]
    assert {one.path for one in receiver.got} == {"/"}


def test_a_body_without_end_is_not_read_to_the_end_of_patience(hooked, receiver, subscription):
    written = [0]
    gone = threading.Event()

    def endless(handler: Handler, got: Got) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                written[0] += handler.wfile.write(b"x" * 65536)
        except OSError:
            gone.set()

    receiver.answer = endless
    hooked.create()
    assert subscription.tried(1)[0]["outcome"] == "delivered"
    assert gone.wait(WITHIN)
    # What the two sockets hold between them, and no more.
    assert written[0] < 32_000_000


def test_a_receiver_that_hangs_fails_and_keeps_nobody_waiting(hooked, receiver, subscription):
    receiver.answer = lambda handler, got: time.sleep(WITHIN)
    hung = 40
    for _ in range(hung):
        hooked.create()
    receiver.wait(1)
    with receiving() as quick:
        other = subscribe(hooked, quick.url)
        hooked.create()
        quick.wait(1)
        # The first may have failed by now on a slow machine; the last have not.
        assert len(subscription.tried(0)) < hung
        other.delete()
    tried = subscription.tried(1)[0]
    assert (tried["outcome"], tried["status"]) == ("failed", None)
    assert tried["error"] == "It did not answer within 2 s."


@pytest.mark.merge
def test_the_last_fifty_attempts_are_listed_newest_first(hooked, receiver, subscription):
    for _ in range(55):
        hooked.create()
    receiver.wait(55)
    subscription.settle()
    tried = subscription.tried(50)
    assert len(tried) == 50
    began = [one["started_at"] for one in tried]
    assert began == sorted(began, reverse=True)
    assert len({one["id"] for one in tried}) == 50


def test_the_vendor_part_of_the_headers_can_be_chosen(start, receiver):
    options = ("--render", "instant", "--allow-loopback-webhooks", "--webhook-vendor", "Acme")
    running = start(*options)
    subscribe(running, receiver.url)
    running.create()
    names = {name.lower() for name in receiver.wait(1)[0].headers if name.startswith("X-")}
    parts = ("signature", "event", "event-id", "timestamp", "attempt")
    assert names == {f"x-acme-{part}" for part in parts}
