"""A run is stopped at any time, says how to go on, and goes on; or whoever started it leaves."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.launcher import Process, launcher
from tests.programs import CALLSHEET, Desk, Sandbox, sandbox, simple_sheet, wait_until

pytestmark = pytest.mark.merge


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox whose videos take a few seconds."""
    with sandbox(tmp_path / "slow") as running:
        running.plan_fault(on="render", do="slow", every=1, seconds=5)
        yield running


@pytest.fixture
def desk(tmp_path: Path, slow: Sandbox) -> Desk:
    return Desk(tmp_path, dict(slow.environ))


@pytest.mark.always
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_within_seconds_and_the_next_run_goes_on(
    desk: Desk, slow: Sandbox, name: str, number: signal.Signals
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    process = desk.start("run", sheet, "--yes", "--json", "--without-prefect")
    wait_until(lambda: slow.creates() == 4)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["exit"]) == (5, 5)
    assert "run the same command again" in err
    assert "Traceback" not in err
    assert desk.run(sheet).status == 0
    assert desk.paid_once(name, slow)


def test_max_wait_parks_the_run(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    parked, ended = (desk.run(sheet, "--max-wait", wait) for wait in ("1s", "2m"))
    assert (parked.status, ended.status) == (5, 0)
    assert parked.json["not_before"] > f"{datetime.now(UTC):%Y-%m-%d}"
    assert parked.json["rows"]["total"] == 2
    assert "delivered" not in parked.json["rows"]
    assert "--max-wait" in parked.err
    assert ended.json["credits"]["charged"] == 30


@pytest.mark.always
def test_a_sheet_that_is_being_typed_is_left_at_once(desk: Desk) -> None:
    process = desk.start("check", "-", "--campaign", "typed", "--json", stdin=subprocess.PIPE)
    process.stdin.write("id,tool\n")
    process.stdin.flush()
    # It has read the first line, and waits for more.
    unread = b"\0" * 4
    while struct.unpack("i", fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, unread))[0]:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    try:
        status = process.wait(timeout=30)
    finally:
        process.kill()
        out, err = process.communicate()
    again = "run the same command again to continue"
    told = {"error": "stopped", "exit": 5, "spent": None, "remedy": again}
    assert (status, json.loads(out)) == (5, told)
    assert err == f"stopped; {again}\n"


def test_a_closed_terminal_parks_the_run_and_the_next_one_finishes_it(
    desk: Desk, slow: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    # None is finished before the terminal is closed, however slow this machine is.
    slow.clear_faults()
    slow.plan_fault(on="render", do="slow", every=1, seconds=15)
    ours, theirs = pty.openpty()
    process = _started(desk, sheet, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    wait_until(lambda: slow.creates() == 4)
    os.close(ours)
    # The system tells of it, and then the shell.
    for _ in range(2):
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
    assert process.wait(60) == 5
    assert "stopped by a signal" in desk.call("status", name).out
    assert desk.run(sheet).status == 0
    assert desk.paid_once(name, slow)


def test_a_run_with_nohup_outlives_its_terminal(desk: Desk, slow: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    words = ["nohup", *CALLSHEET, "run", sheet, "--yes", "--without-prefect"]
    with subprocess.Popen(
        words, cwd=desk.folder, env=desk.environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_until(lambda: slow.creates() == 2)
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert desk.paid_once(name, slow)


@pytest.mark.parametrize("told", [(), ("--json",)])
def test_a_run_goes_on_when_nobody_reads_its_output(
    desk: Desk, slow: Sandbox, name: str, told: tuple[str, ...]
) -> None:
    """As with `callsheet run ... | head -1`, also where the pipe takes its errors."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    reading, writing = os.pipe()
    process = _started(desk, sheet, *told, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing)
    os.close(writing)
    os.close(reading)
    assert process.wait(60) == 0
    assert desk.run(sheet).json["rows"] == {"total": 2, "delivered": 2}
    assert list(desk.folder.glob(f"deliveries/{name}/*.csv"))
    assert desk.paid_once(name, slow)


def test_a_folder_that_is_gone_is_named(desk: Desk) -> None:
    (desk.folder / "gone").mkdir()
    words = ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "-", *CALLSHEET]
    ended = subprocess.run(
        [*words, "run", "../s.csv", "--yes"],
        cwd=desk.folder, env=desk.environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.startswith("callsheet: the current folder was deleted; nothing was spent")


@pytest.mark.parametrize(
    ("folder", "word", "environ", "what"),
    [
        ("\u00fc", "s", {}, "the path of the current folder"),
        ("s", "\u00fc.csv", {}, "word 2 of the command"),
        ("s", "s", {"CALLSHEET_STORE": "\u00fc"}, "CALLSHEET_STORE"),
    ],
)
def test_a_locale_without_a_letter_is_named(
    desk: Desk, folder: str, word: str, environ: dict[str, str], what: str
) -> None:
    (desk.folder / folder).mkdir()
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0"}
    ended = subprocess.run(
        [*CALLSHEET, "check", word], cwd=desk.folder / folder,
        env={**desk.environment(), **ascii_only, **environ}, capture_output=True, text=True,
    )  # fmt: skip
    words = f"callsheet: {what} has letters that this locale cannot read; nothing was spent"
    assert (ended.returncode, ended.stderr.splitlines()[0]) == (2, words)
    assert "LC_ALL=C.UTF-8" in ended.stderr


def _started(desk: Desk, sheet: str, *words: str, **files: int) -> Process:
    command = ("run", sheet, "--yes", "--without-prefect", *words)
    return launcher().start(command, cwd=desk.folder, env=desk.environment(), **files)
