"""The lines that `nights install` prints at a terminal, run as printed.

Cron's environment has almost nothing; the folder may have spaces and percent signs in its name, and
the ledger may be in a folder above.
"""

from __future__ import annotations

import os
import pty
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.launcher import IMPORTS
from tests.programs import CALLSHEET, Desk, simple_sheet

pytestmark = pytest.mark.merge

TOML = """\
[inbox."{name}"]
place = "sheets"
cron = "0 2 * * *"
timezone = "Europe/Berlin"
approval = "auto"
per_night = 100
notify = ["file:address"]
digest_at = "08:00"
"""


@pytest.fixture
def office(desk: Desk, name: str) -> Desk:
    """A folder below the ledger's with an inbox; the settings are variables of the shell."""
    folder = desk.folder / "50% off" / "this spring"
    (folder / "sheets").mkdir(parents=True)
    (folder / "nights.toml").write_text(TOML.format(name=name))
    (folder / "address").write_text("json://127.0.0.1:9/")
    (folder / "key").write_text(desk.environ.pop("CALLSHEET_API_KEY"))
    settings = {"CALLSHEET_API_KEY_FILE": "key", "CALLSHEET_STORE": "the store/"}
    return Desk(folder, {**desk.environ, **settings, "HOME": str(desk.folder)})


def printed(office: Desk, *words: str, columns: int = 80) -> list[str]:
    """Return what a command prints at a terminal of that width, each line as it is there."""
    ours, theirs = pty.openpty()
    environ = {**office.environment(), "COLUMNS": str(columns), "TERM": "dumb"}
    process = subprocess.Popen(
        [*CALLSHEET, *words], cwd=office.folder, env=environ,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with open(ours, "rb", buffering=0) as terminal:
        while piece := _read(terminal.fileno()):
            shown += piece
    assert process.wait() == 0, shown
    return shown.decode().splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says so when the other end is closed.
        return b""


def cron(office: Desk) -> dict[str, str]:
    """Return the environment of cron's commands; only the tests' own packages are extra."""
    given = {"HOME": office.environ["HOME"], "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}
    nobody = {name: office.environment()[name] for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return {**given, **nobody, "PYTHONPATH": IMPORTS}


def run(line: str, environ: Mapping[str, str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=cwd, env=environ, capture_output=True, text=True, timeout=120
    )


def put_sheet(office: Desk, name: str) -> None:
    """Put a sheet there, as if it had lain there for a while."""
    file = office.folder / "sheets" / f"{name}.csv"
    file.write_text(simple_sheet(1))
    os.utime(file, (time.time() - 1000,) * 2)


@pytest.mark.always
def test_each_line_starts_what_it_says_in_an_empty_environment(office: Desk, name: str) -> None:
    shown = printed(office, "nights", "install", "--without-prefect")

    home = office.folder.parent.parent / ".callsheet"
    lines = [line.strip() for line in shown]
    put_sheet(office, name)
    for line in (line for line in lines if " * * * cd " in line):
        # What cron makes of it: five fields, then a command, its percent signs escaped.
        command = line.split(maxsplit=5)[5].replace("\\%", "%")
        assert run(command, cron(office), cwd=home).stderr == ""
    assert "1 sheet, charged 15 credits" in (home / f"callsheet-nightly-{name}.log").read_text()
    assert (home / f"callsheet-digest-{name}.log").exists()
    assert len(list((office.folder / "the store").rglob("*.mp4"))) == 1

    # The one ledger is that of the folder above.
    assert not (office.folder / ".callsheet").exists()


@pytest.mark.always
def test_a_ledger_with_a_password_is_not_left_out_of_the_lines(office: Desk) -> None:
    secret = "postgresql://studio:hunter2@127.0.0.1:9/studio"
    (office.folder / "ledger").write_text(secret)
    before = (office.folder / "nights.toml").read_text()

    office.environ["CALLSHEET_LEDGER"] = secret
    refused = office.call("nights", "install", "--without-prefect", "--cron", "5 5 * * *")
    del office.environ["CALLSHEET_LEDGER"]
    office.environ["CALLSHEET_LEDGER_FILE"] = "ledger"
    done = office.call("nights", "install", "--without-prefect", "--json")

    assert refused.status == 2
    assert "begin a new ledger; nothing was installed" in refused.err
    assert "CALLSHEET_LEDGER_FILE" in refused.err
    assert (office.folder / "nights.toml").read_text() == before
    assert done.status == 0, done.err
    assert "CALLSHEET_LEDGER_FILE=ledger" in done.json["lines"][0]["cron"][1]
    assert "hunter2" not in refused.out + refused.err + done.out + done.err
