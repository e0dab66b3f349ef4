"""Commands under rules of Windows, on whatever system the tests run.

`tests/guards/windows/sitecustomize.py` has the rules: signals, locks, names of files, open files,
time zones and encodings. `make lint` has mypy look for what Windows and macOS lack.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from callsheet.deployments.parser import build_parser
from tests.programs import CALLSHEET, Desk, Finished
from tests.repository import PROGRAM, files_in

pytestmark = pytest.mark.merge

RULES = Path(__file__).with_name("windows")
#: A title in letters that no console of Windows has, nor the other encodings below.
TITLE = "漢字 „Tee“ — Ω ✓ 🎬"
SHEET = f"id,title,topic,script\nr0,{TITLE},Lighthouse,Here is the lighthouse.\n"
#: Code pages of consoles, and of files: a program that pipes gets the latter.
ENCODINGS = ("cp437", "cp1252")
COMMANDS = (
    "check spring.csv", "plan spring.csv --sandbox", "status", "rows spring", "explain spring r0",
    "verify spring", "costs --sandbox", "export spring -o rows.csv", "export spring -o rows.xlsx",
    "export spring --zip videos.zip", "contact-sheet spring -o sheet.html", "review spring r0 keep",
    "ledger check", "ledger backup copy.db", "tools --sandbox", "video list --sandbox", "schema",
    "help", "help held", "nightly inbox --sandbox --approve-up-to 100", "init --yes --sandbox",
)  # fmt: skip


#: Calls a command for every line on stdin, each in its own words and encoding.
CALLING = """
import json, os, sys
from dataclasses import asdict
from pathlib import Path
from tests.here import called_here
for line in sys.stdin:
    words, encoding = json.loads(line)
    ended = called_here(words, Path.cwd(), dict(os.environ), encoding=encoding)
    print(json.dumps(asdict(ended)), flush=True)
"""


@dataclass
class Windows:
    """A folder, and one process under the rules that commands are called in."""

    folder: Path
    process: subprocess.Popen[str]

    def call(self, words: str, *, encoding: str = "cp1252") -> Finished:
        """Run a command under the rules; none may end in a fault."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([words.split(), encoding]), file=self.process.stdin, flush=True)
        ended = Finished(**json.loads(self.process.stdout.readline()))
        assert "fault in Callsheet" not in ended.err, ended.err
        return ended


def rules_of(desk: Desk) -> dict[str, str]:
    """Return the environment of a process under the rules."""
    environ = desk.environment()
    return {
        **environ,
        "PYTHONPATH": os.pathsep.join((str(RULES), environ["PYTHONPATH"])),
        "PYTHONWARNDEFAULTENCODING": "1",
        # Windows has no time zones; a package brings them.
        "PYTHONTZPATH": "",
    }


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Windows]:
    """A folder with a campaign that was delivered under the rules, and an inbox."""
    desk = Desk(tmp_path_factory.mktemp("windows"))
    (desk.folder / "inbox").mkdir()
    (desk.folder / "spring.csv").write_text(SHEET, "utf-8")
    (desk.folder / "inbox" / "autumn.csv").write_text(SHEET.replace("r0", "q0"), "utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", CALLING], cwd=desk.folder, env=rules_of(desk),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        there = Windows(desk.folder, process)
        run = there.call("run spring.csv --sandbox --yes --without-prefect --json")
        assert run.json["rows"] == {"total": 1, "delivered": 1}, run.err
        yield there


@pytest.mark.parametrize(
    ("words", "encoding"),
    [*((one, "cp1252") for one in COMMANDS), ("rows spring", "cp437"), ("status", "cp437")],
)
def test_a_command_works_under_the_rules_of_windows(
    windows: Windows, words: str, encoding: str
) -> None:
    ended = windows.call(words, encoding=encoding)
    assert ended.status == 0, ended.err


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_process_writes_every_letter_in_every_encoding(windows: Windows, encoding: str) -> None:
    done = subprocess.run(
        [*CALLSHEET, "explain", "spring", "r0", "--json"], cwd=windows.folder, check=True,
        env={**rules_of(Desk(windows.folder)), "PYTHONIOENCODING": encoding},
        capture_output=True, encoding=encoding,
    )  # fmt: skip
    assert TITLE in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_up_says_what_to_do_instead(windows: Windows) -> None:
    ended = windows.call("up")
    assert ended.status == 2
    for command in re.findall(r"`callsheet ([^`]+)`", ended.err.partition("\n")[2]):
        build_parser().parse_args(command.split())


def test_a_ledger_that_is_there_is_not_replaced(windows: Windows) -> None:
    windows.call("ledger backup before.db")
    ended = windows.call("ledger restore before.db --instead")
    assert (ended.status, "rename" in ended.err) == (2, True), ended.err


def test_no_time_is_written_in_a_form_that_one_system_has() -> None:
    """`%-d` is a fault on Windows."""
    files = [*files_in(*PROGRAM), *files_in("deployments", of="**/*.html")]
    texts = {str(one): one.read_text("utf-8") for one in files}
    assert [name for name, text in texts.items() if re.search(r"%-[A-Za-z]", text)] == []
