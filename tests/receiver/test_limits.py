"""Those who send nothing, or as good as nothing, keep nobody waiting but themselves."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from callsheet.deployments.web_server import MOST_SILENT
from tests.receiver.hearing import Hearing, body_about, fresh, head, hearing, post

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
