"""Faults of the connection, seen on the wire: what acted, what came back, and how it ended."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

import aiohttp
import httpx
import pytest

from tests.contract.sandbox.wire import PATIENCE, Heard, Line

VIDEOS = "/api/v1/videos"


def body(key: str) -> dict[str, Any]:
    return {"tool": "explainer", "duration_seconds": 5, "idempotency_key": key}


def new_key() -> str:
    return f"wire_{secrets.token_hex(6)}"


def acted(running: Any, key: str) -> bool:
    return any(entry["idempotency_key"] == key for entry in running.charges())


def calls(running: Any, name: str) -> int:
    counts = running.client.get(f"{running.ready['auth_url']}/_sandbox/calls").json()
    return int(counts.get(name, 0))


def until_acted(running: Any, key: str) -> None:
    until = time.monotonic() + PATIENCE
    while not acted(running, key):
        assert time.monotonic() < until
        time.sleep(0.02)


def hear(running: Any, name: str = "tools") -> Heard:
    """Ask once and listen until the connection has ended."""
    with Line(running.ready) as line:
        line.ask("GET", f"/api/v1/{name}")
        return line.hear()


def struck(running: Any) -> int:
    said = running.client.get(f"{running.ready['auth_url']}/_sandbox/faults").json()
    return sum(fault["struck"] for fault in said)


@pytest.mark.parametrize(
    ("do", "acts", "end"),
    [
        ("drop-before", False, "closed"),
        ("drop-after", True, "closed"),
        ("reset-before", False, "reset"),
        ("reset-after", True, "reset"),
    ],
)
def test_a_connection_in_use_ends_without_a_byte(
    instant: Any, plan: Any, do: str, acts: bool, end: str
) -> None:
    plan("create", do)
    key = new_key()
    with Line(instant.ready) as line:
        line.ask("GET", "/api/v1/tools")
        assert line.answer().head.startswith("http/1.1 200")
        line.ask("POST", VIDEOS, body(key))
        heard = line.hear()
    assert (heard.data, heard.end) == (b"", end)
    assert acted(instant, key) is acts


@pytest.mark.parametrize("do", ["hang", "slow"])
def test_it_acts_and_keeps_silent(instant: Any, plan: Any, do: str) -> None:
    plan("create", do, **({"seconds": 600} if do == "slow" else {}))
    key = new_key()
    with Line(instant.ready) as line:
        line.ask("POST", VIDEOS, body(key))
        until_acted(instant, key)
        assert line.hear(within=0.2).data == b""


@pytest.mark.parametrize("do", ["hang-before", "slow-before"])
def test_it_keeps_silent_without_acting(instant: Any, plan: Any, do: str) -> None:
    plan("create", do, **({"seconds": 600} if do == "slow-before" else {}))
    key, creates = new_key(), calls(instant, "create")
    with Line(instant.ready) as line:
        line.ask("POST", VIDEOS, body(key))
        until = time.monotonic() + PATIENCE
        while not struck(instant):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert line.hear(within=0.2).data == b""
        # The service lives on beside the silent call.
        assert instant.client.get("/tools").status_code == 200
    assert calls(instant, "create") == creates
    assert not acted(instant, key)


@pytest.mark.parametrize("do", ["slow", "slow-before"])
def test_it_answers_late_and_whole(instant: Any, plan: Any, do: str) -> None:
    plan("create", do, seconds=0.1)
    key = new_key()
    answer = instant.client.post("/videos", json=body(key))
    assert answer.status_code == 202
    assert struck(instant) == 1
    assert acted(instant, key)


def test_a_silent_call_does_not_keep_the_sandbox_from_stopping(start: Any) -> None:
    running = start("--render", "instant")
    door = f"{running.ready['auth_url']}/_sandbox/faults"
    running.client.post(door, json={"on": "tools", "do": "hang"})
    with Line(running.ready) as line:
        line.ask("GET", "/api/v1/tools")
        assert line.hear(within=0.2).end == "silent"
        status, _, complaint = running.stop()
    assert (status, complaint) == (0, "")


def test_it_drips_the_body(instant: Any, plan: Any) -> None:
    plan("tools", "drip", bytes=40, seconds=0.01)
    with Line(instant.ready) as line:
        line.ask("GET", "/api/v1/tools")
        heard = line.answer()
    assert len(heard.pieces) > 2
    assert json.loads(heard.body)["error"] is None


def test_it_drips_the_headers(instant: Any, plan: Any) -> None:
    plan("credits", "drip-headers", bytes=10, seconds=0.01)
    heard = hear(instant, "credits")
    assert heard.end == "closed"
    assert b"\r\n\r\n" not in heard.pieces[0]
    assert int(heard.header("content-length") or 0) == len(heard.body)
    assert heard.body.startswith(b'{"data":{"balance":')


def test_it_stops_dripping_when_nobody_listens(instant: Any, plan: Any) -> None:
    plan("tools", "drip", seconds=0.01)
    with Line(instant.ready) as line:
        line.ask("GET", "/api/v1/tools")
    assert instant.client.get("/credits").status_code == 200


def test_it_closes_an_idle_connection_unannounced(instant: Any, plan: Any) -> None:
    plan("tools", "close-idle")
    heard = hear(instant)
    assert heard.end == "closed"
    assert "connection: close" not in heard.head
    assert int(heard.header("content-length") or 0) == len(heard.body)


@pytest.mark.parametrize(
    ("framing", "length", "encoding"),
    [("length", True, None), ("chunked", False, "chunked"), ("close", False, None)],
)
def test_it_cuts_a_body(
    instant: Any, plan: Any, framing: str, length: bool, encoding: str | None
) -> None:
    plan("tools", "cut-body", framing=framing)
    heard = hear(instant)
    assert heard.end == "closed"
    assert (heard.header("content-length") is not None) is length
    assert heard.header("transfer-encoding") == encoding
    if length:
        assert int(heard.header("content-length") or 0) // 2 == len(heard.body)
    # In the last way nobody can tell.
    assert b"0\r\n\r\n" not in heard.body
    assert heard.body
    with pytest.raises(json.JSONDecodeError):
        json.loads(heard.body)


def test_it_resets_half_way(instant: Any, plan: Any) -> None:
    plan("tools", "reset-midway")
    heard = hear(instant)
    assert heard.end == "reset"
    assert len(heard.body) < int(heard.header("content-length") or 0)


TOLD = [
    ("drop-before", httpx.RemoteProtocolError, aiohttp.ServerDisconnectedError),
    ("drop-after", httpx.RemoteProtocolError, aiohttp.ServerDisconnectedError),
    ("reset-before", httpx.ReadError, aiohttp.ClientOSError),
    ("reset-after", httpx.ReadError, aiohttp.ClientOSError),
    ("hang", httpx.ReadTimeout, TimeoutError),
    ("cut-body", httpx.RemoteProtocolError, aiohttp.ClientPayloadError),
]


@pytest.mark.parametrize(("do", "in_httpx", "in_aiohttp"), TOLD)
async def test_clients_tell_it_by_the_error_they_know(
    instant: Any,
    plan: Any,
    do: str,
    in_httpx: type[Exception],
    in_aiohttp: type[Exception],
) -> None:
    plan("tools", do)
    headers = {"authorization": f"Bearer {instant.ready['api_key']}"}
    url = f"{instant.ready['base_url']}/tools"
    with pytest.raises(in_httpx):
        instant.client.get("/tools", timeout=0.5 if do == "hang" else PATIENCE)
    timeout = aiohttp.ClientTimeout(total=0.5 if do == "hang" else PATIENCE)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        with pytest.raises(in_aiohttp):
            async with session.get(url) as answer:
                await answer.read()
