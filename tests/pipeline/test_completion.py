"""What Tab offers: in real shells, and by what a shell asks the program."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launcher import IMPORTS
from tests.programs import Desk
from tests.shells import SHELLS

pytestmark = pytest.mark.merge

#: How a shell without anybody's settings is started, at a terminal.
STARTED = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}
#: What is typed before Tab, and how the line goes on: of one possibility, all of it.
TYPED = {
    "callsheet expl": "callsheet explain",
    "callsheet run --at-l": "callsheet run --at-limit",
    "callsheet run --at-limit f": "callsheet run --at-limit fit",
    "callsheet check spr": "callsheet check spring.csv",
    "callsheet nights inst": "callsheet nights install",
}


@pytest.fixture
def office(desk: Desk) -> Desk:
    """A folder with a sheet and a profile; `callsheet` is on the path."""
    (desk.folder / "spring.csv").write_text("id\n")
    (desk.folder / "spring.txt").write_text("no sheet")
    (desk.folder / "configs" / "profiles").mkdir(parents=True)
    (desk.folder / "configs" / "profiles" / "team.toml").write_text('store = "there/"\n')
    program = desk.folder / "bin" / "callsheet"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m callsheet.deployments.cli "$@"\n')
    program.chmod(0o700)
    desk.environ |= {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": IMPORTS}
    return desk


def offered(office: Desk, line: str, **environ: str) -> list[str]:
    """Return what the program offers a shell for a line."""
    answer = office.folder / "bin" / "answer"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line,
             "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}  # fmt: skip
    done = subprocess.run(
        ["callsheet"], cwd=office.folder, env=office.environment() | asked | environ,
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")
    return sorted(one.strip() for one in answer.read_text().split("\n") if one)


def typed(office: Desk, shell: str, script: Path, line: str) -> str:
    """Type a line and Tab in a shell; return how the line goes on."""
    if shell == "fish":
        words = f"source {script}; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", words], cwd=office.folder, env=office.environment(),
            capture_output=True, text=True,
        )  # fmt: skip
        return line.rpartition(" ")[0] + " " + done.stdout.partition("\t")[0].strip()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [shell, *STARTED[shell]], cwd=office.folder, env=office.environment() | {"TERM": "dumb"},
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with open(ours, "r+b", buffering=0) as terminal:
        terminal.write(f". {script}; echo is-$((40 + 2))\n".encode())
        while b"is-42" not in shown:
            shown += terminal.read(4096)
        # To the beginning of the line, and there what shows it: spaces and all.
        terminal.write(f"{line}\t\x01echo line-$((40 + 2))= \n".encode())
        while b"line-42= " not in shown or not shown.partition(b"line-42= ")[2].count(b"\n"):
            shown += terminal.read(4096)
        terminal.write(b"exit\n")
    process.wait()
    return shown.partition(b"line-42= ")[2].splitlines()[0].decode().strip()


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_in_a_shell(office: Desk, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}: python -m tests.shells")
    script = office.folder / "bin" / "script"
    script.write_text(office.call("completion", shell).out)

    assert {line: typed(office, shell, script, line) for line in TYPED} == TYPED


@pytest.mark.always
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("callsheet run ", ["bin/", "configs/", "spring.csv"]),
        ("callsheet rows ", []),
        ("callsheet review autumn lamp k", ["keep"]),
        ("callsheet rows --review ", ["kept", "none", "rejected"]),
        ("callsheet rows --profile ", ["team"]),
        ("callsheet export -o spr", ["spring.csv", "spring.txt"]),
        ("callsheet completion ", ["bash", "fish", "zsh"]),
        ("callsheet run --budget ", []),
    ],
)
def test_what_is_offered(office: Desk, line: str, expected: list[str]) -> None:
    assert offered(office, line) == expected


def test_it_writes_nothing(office: Desk) -> None:
    before = {path: path.stat().st_mtime_ns for path in office.folder.rglob("*")}
    assert offered(office, "callsheet review spring-launch kettle ") == ["keep", "reject", "undo"]
    after = {path: path.stat().st_mtime_ns for path in office.folder.rglob("*")}

    answer = office.folder / "bin" / "answer"
    assert {path: at for path, at in after.items() if path not in (answer, answer.parent)} == {
        path: at for path, at in before.items() if path != answer.parent
    }


def test_it_loads_little() -> None:
    heavy = ("asyncio", "httpx", "prefect", "pydantic", "rich", "sqlalchemy")
    words = f"import sys, callsheet.deployments.completion; print(set({heavy}) & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)

    assert done.stdout.strip() == "set()"
