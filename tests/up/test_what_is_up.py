"""What is up is told by a lock, what parts say by their logs; systemd is told when all is up."""

from __future__ import annotations

import configparser
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from callsheet.deployments.parser import parse
from callsheet.deployments.up.output import tell_systemd
from callsheet.deployments.up.programs import PIECE, Log, last_words
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
from tests.programs import ROOT, Desk

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


def test_only_whole_lines_that_are_new_are_read(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    file.write_text("of yesterday\n")
    log = Log(file)

    with file.open("a") as out:
        out.write("one\nhal")
        out.flush()
        assert list(log.new_lines()) == ["one"]
        assert list(log.new_lines()) == []
        out.write("f\n")

    assert list(log.new_lines()) == ["half"]


def test_a_line_that_never_ends_is_read_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    log = Log(file)

    file.write_text("x" * (PIECE + 10) + "\n")

    assert [len(line) for line in log.new_lines()] == [PIECE, 10]


def test_a_large_log_begins_anew_under_whoever_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    log = Log(file, largest=10)
    with file.open("a") as out:
        out.write("more than ten bytes\n")
        out.flush()
        assert list(log.new_lines()) == ["more than ten bytes"]
        out.write("after\n")

    assert file.read_text() == "after\n"
    assert (tmp_path / "board.log.1").read_text() == "more than ten bytes\n"
    assert list(log.new_lines()) == ["after"]


def test_last_words_are_those_that_say_anything(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    file.write_text("one\n\ntwo  \n\n")

    assert last_words(file, 1) == ["two"]
    assert last_words(file, since=len("one\n")) == ["two"]
    assert last_words(file, since=1000) == ["one", "two"]
    assert last_words(tmp_path / "none.log") == []


UNIT = ROOT / "deployments" / "systemd" / "callsheet.service"


def test_the_unit_starts_a_command_that_there_is() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    program, *words = shlex.split(unit["Service"]["ExecStart"])

    assert Path(program).name == "callsheet"
    assert parse(words).command == "up"
    assert unit["Service"]["Type"] == "notify"
    # A ledger that is away ends it with 2, and comes back.
    assert "RestartPreventExitStatus" not in unit["Service"]
    # Every part ends within that, also one that is killed in the end.
    assert int(unit["Service"]["TimeoutStopSec"]) > 2 * 20


def test_systemd_is_told_where_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))

        tell_systemd("READY=1")

        assert listening.recv(100) == b"READY=1"
    monkeypatch.delenv("NOTIFY_SOCKET")
    tell_systemd("READY=1")
