"""Whether somebody keeps it all up is told by a lock, not by what is written."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from callsheet.deployments.up.up_file import (
    KeptPart,
    UpAlready,
    WhatIsUp,
    folder_of,
    holder,
    holding,
    last_up,
    prefect_kept,
    sandbox_kept,
    what_is_up,
    write_up,
)
from tests.programs import Desk

PARTS = {
    "prefect": KeptPart(state="up", since=1.0, log="log", address="http://127.0.0.1:4200"),
    "board": KeptPart(state="starting", since=1.0, log="log", address="http://127.0.0.1:8788"),
}
NOW = WhatIsUp(pid=1, mark="m", folder="/", parts=PARTS, sandbox={"base_url": "http://s/api/v1"})
HOLDS = """
import sys, time
from pathlib import Path
from callsheet.deployments.up.up_file import holding
with holding(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_what_is_written_counts_while_somebody_holds_it(tmp_path: Path) -> None:
    with holding(tmp_path):
        write_up(tmp_path, NOW)

        assert what_is_up(tmp_path) == NOW
        assert (folder_of(tmp_path) / "up.json").stat().st_mode & 0o777 == 0o600
        # Commands are led to parts that are up.
        assert prefect_kept(tmp_path) == "http://127.0.0.1:4200/api"
        assert sandbox_kept(tmp_path) == {"base_url": "http://s/api/v1"}
        assert NOW.address("board") is None

    assert (what_is_up(tmp_path), last_up(tmp_path)) == (None, NOW)
    assert (prefect_kept(tmp_path), sandbox_kept(tmp_path)) == (None, None)
    (folder_of(tmp_path) / "up.json").write_text('{"pid": 1')
    assert last_up(tmp_path) is None


def test_the_status_says_who_is_suspended_or_silent_and_not_since_when(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(sleeping) as worker, socket.create_server(("127.0.0.1", 0)) as silent:
        worker.send_signal(signal.SIGSTOP)
        since, address = time.time() - 52, f"http://127.0.0.1:{silent.getsockname()[1]}"
        parts = {
            "board": KeptPart(state="up", since=since, log="log", address=address),
            "worker": KeptPart(state="up", since=since, log="log", pid=worker.pid),
        }
        with holding(tmp_path / ".callsheet"):
            write_up(tmp_path / ".callsheet", replace(NOW, parts=parts, ready=True))
            status = desk.call("up", "--status", here=True)
        worker.kill()

    assert status.status == 1
    assert status.out.count("does not answer, started 5") == 2, status.out
    assert "for 5" not in status.out


def test_the_kernel_takes_it_back_from_whoever_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLDS, str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    assert holder(tmp_path) == process.pid
    with pytest.raises(UpAlready), holding(tmp_path):
        pass

    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    assert holder(tmp_path) is None
    with holding(tmp_path):
        assert holder(tmp_path) == os.getpid()
