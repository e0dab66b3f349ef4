"""`callsheet up` as somebody types it, without Prefect, which takes the longest to start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from deployments.up.leftovers import marked
from deployments.up.what_is_up import last_up
from tests.programs import CALLSHEET, Desk, simple_sheet

WITHOUT = ("--sandbox", "--port", "0", "--without", "prefect")


class Up:
    """One `callsheet up`, and its ready line."""

    def __init__(self, desk: Desk, *words: str) -> None:
        self.home = desk.folder / ".callsheet"
        self.errors = desk.folder / "errors.txt"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*CALLSHEET, "up", "--json", *words],
                cwd=desk.folder,
                env=desk.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self.process.stdout is not None
        self.ready: dict[str, Any] = json.loads(self.process.stdout.readline() or "{}")
        found = last_up(self.home)
        assert found is not None, self.errors.read_text()
        self.mark = found.mark

    def processes(self) -> list[psutil.Process]:
        """Return everything that it has started, whatever session it is in."""
        return self_and_children(self.process.pid)[1:]

    def end(self) -> None:
        """End it, however the test has left it."""
        self.process.kill()
        self.process.wait()
        for pid in marked(self.mark):
            os.kill(pid, signal.SIGKILL)


def self_and_children(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder of somebody who has nothing configured; a port of its own for webhooks."""
    return Desk(tmp_path, {"CALLSHEET_RECEIVER": "127.0.0.1:0"})


@pytest.fixture
def up(desk: Desk) -> Iterator[Up]:
    made = Up(desk, *WITHOUT)
    yield made
    made.end()


def test_it_is_up_with_nothing_configured_and_down_again(desk: Desk, up: Up) -> None:
    assert set(up.ready) >= {"board", "prefect", "receiver", "token", "login"}
    assert up.ready["prefect"] is None
    campaigns = urllib.request.Request(
        f"{up.ready['board']}/api/v1/campaigns",
        headers={"authorization": f"Bearer {up.ready['token']}"},
    )
    with urllib.request.urlopen(campaigns, timeout=30) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(f"{up.ready['receiver']}/health", timeout=30) as answer:
        assert json.load(answer)["receiver"] == "callsheet"

    again = desk.call("up", "--json")
    assert again.status == 0
    assert {**again.json, "login": None} == {**up.ready, "login": None}
    assert again.json["login"] != up.ready["login"]
    status = desk.call("up", "--status", "--json")
    assert status.status == 0, status.out
    assert status.json["token"] == up.ready["token"]
    assert {name: part["ok"] for name, part in status.json["parts"].items()} == {
        "sandbox": True, "receiver": True, "board": True,
    }  # fmt: skip
    # A sandbox that is there is used; another could not have its state.
    ended = desk.run(desk.sheet("tea.csv", simple_sheet(1)), "--sandbox")
    assert ended.status == 0, ended.err

    down = desk.call("up", "--down", "--json")

    assert down.json == {"up": False, "was_up": True}
    assert up.process.wait(30) == 0
    assert marked(up.mark) == {}
    assert "Traceback" not in up.errors.read_text()
    assert desk.call("up", "--status", "--json").json == {"up": False, "parts": {}}
    assert desk.call("up", "--down").status == 0


def test_whatever_is_killed_nothing_outlives_it(up: Up) -> None:
    there = up.processes()
    assert len(there) == 4

    up.process.send_signal(signal.SIGKILL)
    up.process.wait()

    assert psutil.wait_procs(there, timeout=30)[1] == []
    assert marked(up.mark) == {}


def test_it_ends_by_a_signal_and_leaves_nothing(up: Up) -> None:
    there = up.processes()

    up.process.send_signal(signal.SIGTERM)

    assert up.process.wait(30) == 0
    assert psutil.wait_procs(there, timeout=0)[1] == []
