"""Commands under rules of Windows, on whatever system the tests run.

`tests/guards/windows/sitecustomize.py` has the rules: signals, locks, names of files, open files,
time zones and encodings. `make lint` has mypy look for what Windows and macOS lack.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
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


def windows(desk: Desk, words: str, *, encoding: str = "cp1252") -> Finished:
    """Run a command under the rules; none may end in a fault."""
    environ = desk.environment()
    rules = {
        "PYTHONPATH": os.pathsep.join((str(RULES), environ["PYTHONPATH"])),
        "PYTHONWARNDEFAULTENCODING": "1",
        "PYTHONIOENCODING": encoding,
        # Windows has no time zones; a package brings them.
        "PYTHONTZPATH": "",
    }
    done = subprocess.run(
        [*CALLSHEET, *words.split()], cwd=desk.folder, env={**environ, **rules}, check=False,
        capture_output=True, stdin=subprocess.DEVNULL, encoding=encoding, timeout=180,
    )  # fmt: skip
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert "fault in Callsheet" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A folder with a campaign that was delivered under the rules, and an inbox."""
    desk = Desk(tmp_path_factory.mktemp("windows"))
    (desk.folder / "inbox").mkdir()
    (desk.folder / "spring.csv").write_text(SHEET, "utf-8")
    (desk.folder / "inbox" / "autumn.csv").write_text(SHEET.replace("r0", "q0"), "utf-8")
    run = windows(desk, "run spring.csv --sandbox --yes --without-prefect --json")
    assert run.json["rows"] == {"total": 1, "delivered": 1}, run.err
    return desk


@pytest.mark.parametrize(
    ("words", "encoding"),
    [*((one, "cp1252") for one in COMMANDS), ("rows spring", "cp437"), ("status", "cp437")],
)
def test_a_command_works_under_the_rules_of_windows(desk: Desk, words: str, encoding: str) -> None:
    ended = windows(desk, words, encoding=encoding)
    assert ended.status == 0, ended.err


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_has_every_letter_in_every_encoding(desk: Desk, encoding: str) -> None:
    said = windows(desk, "explain spring r0 --json", encoding=encoding).out
    assert TITLE in json.dumps(json.loads(said), ensure_ascii=False)


def test_up_says_what_to_do_instead(desk: Desk) -> None:
    ended = windows(desk, "up")
    assert ended.status == 2
    for command in re.findall(r"`callsheet ([^`]+)`", ended.err.partition("\n")[2]):
        build_parser().parse_args(command.split())


def test_a_ledger_that_is_there_is_not_replaced(desk: Desk) -> None:
    windows(desk, "ledger backup before.db")
    ended = windows(desk, "ledger restore before.db --instead")
    assert (ended.status, "rename" in ended.err) == (2, True), ended.err


def test_no_time_is_written_in_a_form_that_one_system_has() -> None:
    """`%-d` is a fault on Windows."""
    files = [*files_in(*PROGRAM), *files_in("deployments", of="**/*.html")]
    texts = {str(one): one.read_text("utf-8") for one in files}
    assert [name for name, text in texts.items() if re.search(r"%-[A-Za-z]", text)] == []
