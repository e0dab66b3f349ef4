"""An error that a command can fix ends with that command, in full: to paste, and it parses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from callsheet.deployments.cli import _with_command
from callsheet.deployments.parser import build_parser
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.suggest import remember_typed
from tests.campaigns import Stage, brief
from tests.programs import Desk

#: What is typed, in a folder with a sheet, a bad sheet, a profile and a campaign; and the command
#: that the error ends with.
ERRORS = {
    "statsu": "callsheet status",
    "rows spring --selct tag:x": "callsheet rows spring --select tag:x",
    "export spring --what row": "callsheet export spring --what rows",
    "video": "callsheet video --help",
    "run": "callsheet run SHEET",
    "run spring.csv": "callsheet run spring.csv --sandbox",
    "check bad.csv": "callsheet check bad.csv",
    "check bad.csv --campaign 'my campaign'": "callsheet check bad.csv --campaign 'my campaign'",
    "status --profile nowhere": "callsheet init --profile nowhere",
    "status --profile wrong": "callsheet help WORD",
    "status sprng": "callsheet status",
    "rows spring --state faild": "callsheet help states",
    "review spring keep": "callsheet review spring ROW keep",
    "review spring lamp": "callsheet review CAMPAIGN ROW reject",
    "retake spring": "callsheet retake spring --select 'state:failed|stalled'",
    "export spring --json": "callsheet export spring --json -o FILE",
    "export spring --kept": "callsheet export spring --kept --zip FILE.zip",
    "contact-sheet spring -o all.gif": "callsheet contact-sheet spring -o FILE.html",
    "contact-sheet spring -o all.html": "callsheet rows spring",
    "login": "callsheet init",
    "whoami": "callsheet run SHEET --sandbox",
    "help deliverd": "callsheet help",
    "init launch.txt": "callsheet init launch.yaml",
}


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    """A folder with a campaign, and no service."""
    made = Desk(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "c")})
    (tmp_path / ".callsheet").mkdir()
    async with await open_ledger(f"sqlite:///{tmp_path}/.callsheet/ledger.db") as ledger:
        await Stage.set(ledger, brief("lamp"))
    (tmp_path / "spring.csv").write_text("id,tool\nlamp,announcement\n")
    (tmp_path / "bad.csv").write_text("id,tool,aspect_ratio\nlamp,announcement,4:5\n")
    profiles = tmp_path / "configs" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "team.toml").write_text('store = "there/"\n')
    (profiles / "wrong.toml").write_text('stor = "there/"\n')
    return made


def ending(said: str) -> str:
    """Return the last command that an error names."""
    found: list[str] = re.findall(r"callsheet(?: [\w.'-][^`\n]*)?(?=`|$)", said, re.MULTILINE)
    return found[-1] if found else said


@pytest.mark.merge
def test_an_error_ends_with_the_command_to_type(desk):
    for file in ("spring.csv", "bad.csv"):
        assert (desk.folder / file).exists()
    ended = {typed: desk.call(*shlex.split(typed)) for typed in ERRORS}

    assert {typed: ending(done.err) for typed, done in ended.items()} == ERRORS
    assert {done.status for done in ended.values()} == {2}
    for command in ERRORS.values():
        if "--help" not in command:
            build_parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize(
    ("typed", "remedy", "command"),
    [
        ("run a.csv", "run the same command again", "callsheet run a.csv"),
        ("run a.csv --budget 5", "run the same command again with `--budget 9`",
         "callsheet run a.csv --budget 9"),
        ("check 'my sheet.csv'", "fix it, then run the command again",
         "callsheet check 'my sheet.csv'"),
        # Standard input is gone, and what signs an address is not shown.
        ("run -", "run the same command again", None),
        ("run https://a.example/s.csv?X-Amz-Signature=0123456789abcdef0123456789abcdef",
         "run the same command again", None),
        ("run a.csv", "check the key", None),
    ],
)  # fmt: skip
def test_what_is_to_be_run_again_stands_below_in_full(typed, remedy, command):
    remember_typed(shlex.split(typed))

    assert _with_command(remedy) == (f"{remedy}:\n{command}" if command else remedy)
