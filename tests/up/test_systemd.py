"""The unit for servers starts a command that there is, and is told when it is up."""

from __future__ import annotations

import configparser
import shlex
import socket
from pathlib import Path

import pytest

from callsheet.deployments.parser import parse
from callsheet.deployments.up.output import tell_systemd
from tests.programs import ROOT

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
