"""`callsheet receive`, from its start to its end, and what it says."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.launcher import Process
from tests.programs import Desk
from tests.receiver.hearing import (
    SECRET,
    body_about,
    fresh,
    head,
    keep,
    post,
    read_inbox,
    send,
    signature,
)

FREE = {"CALLSHEET_RECEIVER": "127.0.0.1:0", "CALLSHEET_WEBHOOK_SECRET": SECRET}


@contextmanager
def receive(desk: Desk, *words: str) -> Iterator[tuple[Process, dict[str, Any]]]:
    """Start it; yield the process and the line that says it is ready."""
    process = desk.start("receive", "--json", *words)
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def place_of(said: Mapping[str, str]) -> tuple[str, int]:
    host, _, port = said["receiver"].removeprefix("http://").rpartition(":")
    return host, int(port)


def ended(process: Process, number: signal.Signals) -> tuple[int, str, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, dict(FREE))


@pytest.mark.merge
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, desk: Desk) -> None:
    more = {
        "CALLSHEET_WEBHOOK_URL": "https://videos.example/hooks",
        "CALLSHEET_METRICS": "127.0.0.1:0",
    }
    desk = Desk(tmp_path, {**FREE, **more})
    with receive(desk, "-v") as (process, said):
        place = place_of(said)
        video = fresh()
        body = body_about(video)
        assert said["webhook_url"] == "https://videos.example/hooks"
        assert post(place, body).status == 200
        assert post(place, body).status == 200
        assert post(place, body, signed=signature(body, "another")).status == 401
        assert send(place, head(b"x" * 10**6)).status == 413
        is_refused_beside(desk, place, tmp_path)
        tells_metrics_elsewhere(said)
        status, out, err = ended(process, signal.SIGTERM)

    assert (status, out) == (0, "")
    assert len(read_inbox(f"sqlite:///{tmp_path}/.callsheet/ledger.db", video)) == 1
    assert "https://videos.example/hooks" in err
    for words in ("heard video.ready", "heard before", "no secret that is kept", "bytes at most"):
        assert words in err
    assert "1 webhook received" in err
    for secret in (SECRET, body.decode(), signature(body).decode()[10:], video):
        assert secret not in err


def tells_metrics_elsewhere(said: Mapping[str, str]) -> None:
    """Prometheus is answered at an address of its own, and nobody at the one of webhooks."""
    assert "callsheet_ledger_bytes " in httpx.get(said["metrics"]).text
    assert httpx.get(said["metrics"].removesuffix("metrics")).status_code == 404
    assert httpx.get(f"{said['receiver']}/metrics").status_code == 405


def is_refused_beside(desk: Desk, place: tuple[str, int], folder: Path) -> None:
    """A second one says whose the first is, and goes."""
    desk.environ["CALLSHEET_RECEIVER"] = f"127.0.0.1:{place[1]}"
    same = desk.call("receive", "--json", here=True)
    desk.environ["CALLSHEET_LEDGER"] = f"sqlite:///{folder / 'other.db'}"
    other = desk.call("receive", "--json", here=True)

    assert (same.status, other.status) == (2, 2)
    assert "for this ledger answers" in same.json["error"]
    assert "for another ledger answers" in other.json["error"]


def test_a_port_of_another_program_is_told_as_such(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        other.settimeout(0)
        desk.environ["CALLSHEET_RECEIVER"] = address
        refused = desk.call("receive", here=True)

    assert refused.status == 2
    assert f"another program has {address}" in refused.err
    assert "CALLSHEET_RECEIVER" in refused.err


@pytest.mark.parametrize(
    "address",
    ["8790", "localhost", "127.0.0.1:", ":8790", "127.0.0.1:65536", "::1:8790", "192.0.2.7:8790",
     "nowhere.invalid:8790", "127.0.0.1:²"],
)  # fmt: skip
def test_an_address_that_cannot_be_is_refused_with_a_remedy(desk: Desk, address: str) -> None:
    desk.environ["CALLSHEET_RECEIVER"] = address
    refused = desk.call("receive", "--json", here=True)

    assert refused.status == 2
    assert address in refused.json["error"]
    assert "CALLSHEET_RECEIVER" in refused.err


def test_without_a_secret_it_says_so_and_takes_one_up_while_it_runs(tmp_path: Path) -> None:
    with receive(Desk(tmp_path, {"CALLSHEET_RECEIVER": "127.0.0.1:0"})) as (process, said):
        place, body = place_of(said), body_about(fresh())
        signed = signature(body, "made while it runs")
        assert said["webhook_url"] is None
        assert post(place, body, signed=signed).status == 401
        keep(tmp_path / ".callsheet" / "webhooks", "n1", "made while it runs", 0)
        assert post(place, body, signed=signed).status == 200
        status, _, err = ended(process, signal.SIGINT)

    assert status == 0
    assert "there is no secret yet" in err
    assert "callsheet webhooks ensure" in err
    assert "CALLSHEET_WEBHOOK_URL is not set" in err
