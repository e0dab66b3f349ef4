"""Starting and stopping: ready means ready, nothing is lost by a kill, nobody is left behind."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.launcher import launcher

COMMAND = [sys.executable, "-m", "callsheet.deployments.sandbox"]


def run(*options: str) -> tuple[int | None, str, str]:
    """Run a sandbox that ends by itself; return its exit status and what it said."""
    process = launcher("sandbox").start(options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def test_it_prints_one_line_when_ready_and_stops_cleanly(start: Any, tmp_path: Path) -> None:
    running = start("--render", "instant")
    assert set(running.ready) == {"base_url", "auth_url", "mcp_url", "api_key", "keys"}
    assert running.ready["base_url"] == running.ready["auth_url"] + "/api/v1"
    assert running.client.get("/videos").status_code == 200
    assert stat.S_IMODE(os.stat(tmp_path / "keys.json").st_mode) == 0o600
    status, out, err = run("--port", "0", "--json", "--state", str(tmp_path))
    assert (status, out) == (2, "")
    assert "Another sandbox" in err
    assert len(err.strip().splitlines()) == 1
    running.process.terminate()
    began = time.monotonic()
    rest, complaint = running.process.communicate(timeout=5)
    assert (running.process.returncode, rest, complaint) == (0, "", "")
    assert time.monotonic() - began < 2


@pytest.mark.merge
def test_it_stops_at_once_with_renders_under_way(start: Any) -> None:
    running = start("--time-scale", "1")
    for _ in range(4):
        running.create(duration_seconds=120)
    time.sleep(0.5)
    children = psutil.Process(running.process.pid).children(recursive=True)
    status, seconds, complaint = running.stop()
    assert (status, complaint) == (0, "")
    assert seconds < 2
    _, left = psutil.wait_procs(children, timeout=3)
    assert not left


@pytest.mark.merge
def test_everything_is_there_after_a_kill(start: Any) -> None:
    first = start("--time-scale", "150")
    finished = first.create(duration_seconds=1, idempotency_key="kept")
    first.wait(finished)
    under_way = first.create(duration_seconds=3)
    time.sleep(0.3)
    children = psutil.Process(first.process.pid).children(recursive=True)
    before, keys = first.charges(), first.ready["keys"]
    first.kill()
    _, left = psutil.wait_procs(children, timeout=5)
    assert not left
    again = start("--time-scale", "150")
    assert again.ready["keys"] == keys
    assert again.get(finished)["status"] == "completed"
    assert again.create(duration_seconds=1, idempotency_key="kept") == finished
    assert again.charges()[: len(before)] == before
    again.wait(under_way)
    assert again.events(under_way) == ["reserve", "charge"]
    assert again.client.get(f"/videos/{finished}/download").status_code == 200


def test_it_says_in_a_sentence_what_cannot_work(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refusals = {
            "loopback": run("--host", "0.0.0.0"),
            port: run("--port", port, "--state", str(tmp_path)),
            "cannot be used": run("--port", "0", "--state", "/dev/null/x"),
        }
    for words, (status, out, err) in refusals.items():
        assert (status, out) == (2, "")
        assert words in err
        assert len(err.strip().splitlines()) == 1


@pytest.mark.merge
def test_it_tells_people_what_to_paste_and_ends_with_its_parent(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--state", str(tmp_path), "--exit-with-parent"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    wanted = {f"export CALLSHEET_{name}" for name in ("BASE_URL", "AUTH_URL", "API_KEY")}
    while wanted:
        line = process.stdout.readline()
        assert line, wanted
        wanted.discard(line.split("=")[0])
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(timeout=3) == 0
    process.stdout.close()
