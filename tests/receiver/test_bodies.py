"""Bodies without end or without sense, and requests that are no deliveries."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from callsheet.deployments.receiver.acceptance import LARGEST
from tests.receiver.hearing import Answer, Hearing, body_about, fresh, head, post, read, send

HUGE = 10_000_000


def padded(size: int) -> bytes:
    """Return a good body of exactly so many bytes."""
    body = body_about(fresh())
    return body + b" " * (size - len(body))


def chunked(body: bytes, size: int) -> bytes:
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


def test_the_largest_body_is_heard_and_a_byte_more_is_not(hears: Hearing) -> None:
    for size, status in ((LARGEST, 200), (LARGEST + 1, 413)):
        for length in (True, False):
            body = padded(size)
            sent = body if length else chunked(body, 5000)
            assert send(hears.address, head(body, length=length), sent).status == status


def test_ten_megabytes_are_refused_before_they_are_read(hears: Hearing) -> None:
    body = padded(HUGE)
    with socket.create_connection(hears.address, timeout=20) as connection:
        connection.sendall(head(body))
        assert read(connection).status == 413, "nothing of the body was sent yet"


def test_a_body_that_is_cut_off_is_not_heard(hears: Hearing) -> None:
    video = fresh()
    body = body_about(video)
    with socket.create_connection(hears.address, timeout=20) as connection:
        connection.sendall(head(body) + body[:-1])
        connection.shutdown(socket.SHUT_WR)
        assert read(connection).status in (0, 400)
    assert hears.inbox(video) == []


def test_a_sender_that_asks_before_its_body_is_told_to_go_on(hears: Hearing) -> None:
    body = body_about(fresh())
    with socket.create_connection(hears.address, timeout=20) as connection:
        connection.sendall(head(body, more=[(b"Expect", b"100-continue")]))
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert read(connection).status == 200


def test_the_path_says_nothing_and_only_a_post_is_a_delivery(hears: Hearing) -> None:
    for path in (b"/", b"/hooks/a/b?c=d", b"/%2e%2e/x", b"/" + b"n" * 5000):
        assert post(hears.address, body_about(fresh()), path=path).status == 200, path
    for method in (b"GET", b"PUT", b"DELETE", b"OPTIONS", b"BREW"):
        video = fresh()
        answer = post(hears.address, body_about(video), method=method)
        assert (answer.status, b"allow: POST" in answer.raw) == (405, True), method
        assert hears.inbox(video) == []


def test_its_health_says_what_it_is_and_nothing_secret(hears: Hearing) -> None:
    answer = send(hears.address, b"GET /health HTTP/1.1\r\nHost: receiver\r\n\r\n")

    assert answer.status == 200
    said = json.loads(answer.body)
    assert said.pop("receiver") == "callsheet"
    assert set(said) == {"ledger"}
    assert str(hears.settings.home) not in answer.body.decode()
    assert send(hears.address, b"HEAD /health HTTP/1.1\r\nHost: receiver\r\n\r\n").body == b""


STRANGERS = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no number": b"POST / HTTP/1.1\r\nHost: receiver\r\nContent-Length: ten\r\n\r\n",
    "less than nothing": b"POST / HTTP/1.1\r\nHost: receiver\r\nContent-Length: -1\r\n\r\n",
    "a long head": b"POST / HTTP/1.1\r\nHost: receiver\r\nX: " + b"y" * 100_000,
}


@pytest.mark.parametrize("said", STRANGERS.values(), ids=STRANGERS)
def test_what_is_no_request_is_refused(hears: Hearing, said: bytes) -> None:
    assert send(hears.address, said).status in (0, 400, 405)


def test_a_connection_serves_one_request(hears: Hearing) -> None:
    body = body_about(fresh())
    answer = send(hears.address, (head(body) + body) * 200)

    assert answer.raw.count(b"HTTP/1.1 ") <= 1
    assert len(hears.inbox()) >= 1


@pytest.mark.parametrize("length", [True, False], ids=["of known length", "without a length"])
def test_ten_megabytes_are_cut_off(hears: Hearing, length: bool) -> None:
    body = padded(HUGE)
    sent = body if length else chunked(body, 65536)
    with pushing(hears.address, head(body, length=length), sent) as (answer, pushed):
        assert answer.status == 413
    assert pushed[0] < HUGE
    assert post(hears.address, body_about(fresh())).status == 200


@contextmanager
def pushing(address: tuple[str, int], *pieces: bytes) -> Iterator[tuple[Answer, list[int]]]:
    """Write as long as it goes while the answer is read; yield it, and how much went."""
    pushed = [0]
    with socket.create_connection(address, timeout=20) as connection:

        def push() -> None:
            try:
                for piece in pieces:
                    for start in range(0, len(piece), 65536):
                        connection.sendall(piece[start : start + 65536])
                        pushed[0] += len(piece[start : start + 65536])
            except OSError:
                pass

        thread = threading.Thread(target=push)
        thread.start()
        answer = read(connection)
        thread.join()
        yield answer, pushed
