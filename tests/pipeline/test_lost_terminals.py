"""Whoever started a command leaves: the terminal or the pipe is closed, or the folder is gone."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launcher import Process, launcher
from tests.programs import CALLSHEET, Desk, Sandbox, sandbox, simple_sheet

pytestmark = pytest.mark.merge


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox whose videos take a few seconds."""
    with sandbox(tmp_path / "slow") as running:
        running.plan_fault(on="render", do="slow", every=1, seconds=3)
        yield running


@pytest.fixture
def desk(tmp_path: Path, slow: Sandbox) -> Desk:
    return Desk(tmp_path, dict(slow.environ))


def test_a_closed_terminal_parks_the_run_and_the_next_one_finishes_it(
    desk: Desk, slow: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    # None is finished before the terminal is closed, however slow this machine is.
    slow.clear_faults()
    slow.plan_fault(on="render", do="slow", every=1, seconds=15)
    ours, theirs = pty.openpty()
    files = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = _started(desk, sheet, **files)
    os.close(theirs)
    _wait_for(lambda: slow.calls().get("create", 0) == 4)

    os.close(ours)
    # The system tells of it, and then the shell.
    for _ in range(2):
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)

    assert process.wait(60) == 5
    assert "stopped by a signal" in desk.call("status", name).out
    assert desk.run(sheet).status == 0
    _is_paid_once(desk, slow, name)


def test_a_run_with_nohup_outlives_its_terminal(desk: Desk, slow: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    words = ["nohup", *CALLSHEET, "run", sheet, "--yes", "--without-prefect"]
    with subprocess.Popen(
        words, cwd=desk.folder, env=desk.environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        _wait_for(lambda: slow.calls().get("create", 0) == 2)
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    _is_paid_once(desk, slow, name)


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
    _is_paid_once(desk, slow, name)


def test_a_folder_that_is_gone_is_named(desk: Desk) -> None:
    gone = desk.folder / "gone"
    gone.mkdir()
    words = 'cd gone && rmdir ../gone && exec "$@"'
    ended = subprocess.run(
        ["sh", "-c", words, "-", *CALLSHEET, "run", "../s.csv", "--yes"],
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

    assert ended.returncode == 2
    words = f"callsheet: {what} has letters that this locale cannot read; nothing was spent"
    assert ended.stderr.splitlines()[0] == words
    assert "LC_ALL=C.UTF-8" in ended.stderr


def _started(desk: Desk, sheet: str, *words: str, **files: int) -> Process:
    command = ("run", sheet, "--yes", "--without-prefect", *words)
    return launcher().start(command, cwd=desk.folder, env=desk.environment(), **files)


def _is_paid_once(desk: Desk, service: Sandbox, name: str) -> None:
    keys = [row["key"] for row in desk.rows(name).values()]
    assert service.charged(keys) == dict.fromkeys(keys, 1)


def _wait_for(met: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not met():
        assert time.monotonic() < until
        time.sleep(0.02)
