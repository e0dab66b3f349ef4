"""Those who send nothing, or as good as nothing, keep nobody waiting but themselves."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from callsheet.deployments.receiver.acceptance import BODY_TIMEOUT
from callsheet.deployments.web_server import HEAD_TIMEOUT, MOST_SILENT
from tests.receiver.hearing import Hearing, body_about, fresh, head, hearing, post, read

MANY = 500
#: Seconds: a fraction of what anybody slow is waited for. A machine may be busy.
SOON = 5.0

SLOW = {
    "silent": b"",
    "in the head": b"POST /hook HTTP/1.1\r\nHost: rec",
    "in the body": head(b"x" * 1000) + b"x" * 10,
    "in a chunk": head(b"x" * 1000, length=False) + b"3e8\r\nxx",
}


@contextmanager
def crowd(address: tuple[str, int], said: bytes, size: int) -> Iterator[list[socket.socket]]:
    """Hold so many connections that say something and then nothing."""
    with ExitStack() as stack:
        held = []
        for _ in range(size):
            one = stack.enter_context(socket.create_connection(address, timeout=20))
            one.sendall(said)
            held.append(one)
        yield held


def closed(held: list[socket.socket]) -> int:
    """Return how many of these the other side has closed."""
    poll = select.poll()
    for one in held:
        poll.register(one, select.POLLIN)
    return len(poll.poll(0))


def delivers(hears: Hearing) -> float:
    """Deliver something; return how long that took in seconds."""
    began, video = time.monotonic(), fresh()
    assert post(hears.address, body_about(video)).status == 200
    took = time.monotonic() - began
    assert len(hears.inbox(video)) == 1
    return took


@pytest.mark.parametrize("where", SLOW)
def test_hundreds_of_slow_connections_keep_no_delivery_waiting(hears: Hearing, where: str) -> None:
    with crowd(hears.address, SLOW[where], MANY) as held:
        assert delivers(hears) < SOON
        if where in ("silent", "in the head"):
            hears.waits_for(lambda: closed(held) >= MANY - MOST_SILENT)
            assert delivers(hears) < SOON


@pytest.mark.merge
def test_it_stops_at_once_whoever_is_still_there(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with hearing(tmp_path) as one:
            for said in SLOW.values():
                stack.enter_context(crowd(one.address, said, 20))
            assert delivers(one) < SOON
            began = time.monotonic()
        assert time.monotonic() - began < 5


@pytest.mark.slow
def test_what_does_not_come_within_its_time_is_not_waited_for(hears: Hearing) -> None:
    held = {}
    with ExitStack() as stack:
        for name, said in SLOW.items():
            held[name] = stack.enter_context(socket.create_connection(hears.address, timeout=30))
            held[name].sendall(said)
        began, ends = time.monotonic(), dict[str, float]()
        answers = dict[str, int]()
        while len(ends) < len(held):
            assert time.monotonic() - began < 3 * HEAD_TIMEOUT
            for name, one in held.items():
                if name in ends:
                    continue
                if select.select([one], [], [], 0)[0]:
                    answers[name], ends[name] = read(one).status, time.monotonic() - began
                elif SLOW[name]:
                    # A byte now and then is no sign of good will.
                    one.sendall(b"x")
            time.sleep(0.25)
    assert answers == {"silent": 0, "in the head": 0, "in the body": 408, "in a chunk": 408}
    assert min(ends["silent"], ends["in the head"]) > HEAD_TIMEOUT - 1
    assert min(ends["in the body"], ends["in a chunk"]) > BODY_TIMEOUT - 1
    assert delivers(hears) < SOON
