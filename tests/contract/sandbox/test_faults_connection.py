"""Faults of the connection, seen on the wire: what acted, what came back, and how it ended."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

import pytest

from tests.contract.sandbox.wire import PATIENCE, Heard, Line

VIDEOS = "/api/v1/videos"


def body(key: str) -> dict[str, Any]:
    return {"tool": "explainer", "duration_seconds": 5, "idempotency_key": key}


def new_key() -> str:
    return f"wire_{secrets.token_hex(6)}"


def acted(running: Any, key: str) -> bool:
    return any(entry["idempotency_key"] == key for entry in running.charges())


def hear(running: Any, name: str = "tools") -> Heard:
    """Ask once and listen until the connection has ended."""
    with Line(running.ready) as line:
        line.ask("GET", f"/api/v1/{name}")
        return line.hear()


def struck(running: Any) -> int:
    return sum(fault["struck"] for fault in running.client.get(running.door("faults")).json())


@pytest.mark.parametrize(
    ("do", "acts", "end"),
    [
        ("drop-before", False, "closed"),
        ("drop-after", True, "closed"),
        ("reset-before", False, "reset"),
        ("reset-after", True, "reset"),
    ],
)
def test_a_connection_in_use_ends_without_a_byte(instant, plan, do, acts, end):
    plan("create", do)
    key = new_key()
    with Line(instant.ready) as line:
        line.ask("GET", "/api/v1/tools")
        assert line.answer().head.startswith("http/1.1 200")
        line.ask("POST", VIDEOS, body(key))
        heard = line.hear()
    assert (heard.data, heard.end) == (b"", end)
    assert acted(instant, key) is acts


@pytest.mark.parametrize(
    ("do", "acts", "told"),
    [
        ("hang", True, {}),
        ("slow", True, {"seconds": 600}),
        ("hang-before", False, {}),
        ("slow-before", False, {"seconds": 600}),
    ],
)
def test_it_keeps_silent_and_acts_or_not(instant, plan, do, acts, told):
    plan("create", do, **told)
    key, until = new_key(), time.monotonic() + PATIENCE
    with Line(instant.ready) as line:
        line.ask("POST", VIDEOS, body(key))
        while not (acted(instant, key) if acts else struck(instant)):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert line.hear(within=0.2).data == b""
        # The service lives on beside the silent call.
        assert instant.client.get("/tools").status_code == 200
    assert acted(instant, key) is acts


def test_a_silent_call_does_not_keep_the_sandbox_from_stopping(start):
    running = start("--render", "instant")
    running.client.post(running.door("faults"), json={"on": "tools", "do": "hang"})
    with Line(running.ready) as line:
        line.ask("GET", "/api/v1/tools")
        assert line.hear(within=0.2).end == "silent"
        status, _, complaint = running.stop()
    assert (status, complaint) == (0, "")


def test_it_closes_an_idle_connection_unannounced_or_resets_it_half_way(instant, plan):
    plan("tools", "close-idle")
    heard = hear(instant)
    assert heard.end == "closed"
    assert "connection: close" not in heard.head
    assert int(heard.header("content-length") or 0) == len(heard.body)
    plan("credits", "reset-midway")
    heard = hear(instant, "credits")
    assert heard.end == "reset"
    assert len(heard.body) < int(heard.header("content-length") or 0)


@pytest.mark.parametrize(
    ("framing", "length", "encoding"),
    [("length", True, None), ("chunked", False, "chunked"), ("close", False, None)],
)
def test_it_cuts_a_body(instant, plan, framing, length, encoding):
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
