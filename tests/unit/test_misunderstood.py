"""What cannot be meant is told in a sentence of ours, in any folder, and leads on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callsheet.deployments.cli import main
from callsheet.deployments.parser import build_parser

COMMANDS = next(a.choices for a in build_parser()._actions if a.dest == "command")
#: These wait for somebody, or for work, wherever they are.
WAITING = {"up", "board", "login", "receive", "sandbox", "mcp"}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and nobody who is logged in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "80")


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(words)
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return int(left.value.code or 0), said.out, said.err


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "COMMAND is missing"),
        ("run", "the run needs a sheet"),
        ("statsu", "is status meant?"),
        ("--profile p status", "options stand behind the command"),
        ("run x.csv --at-limit", "--at-limit needs a value: stop or fit"),
        ("run x.csv --budget", "--budget needs a value: N"),
        ("export --what costs", '"costs" is not one of rows, takes, events, chargeback, traffic'),
        ("rows --selct tag:x", "is --select meant?"),
        ("review r1 reject --reason dull", "is --because meant?"),
        ("status a b", 'does not understand "b"'),
        ("sandbox --port x", '--port "x" is not a whole number'),
        ("sandbox --port 99999", "0 (any free one) to 65535"),
        ("video", "VERB is missing"),
        ("video shwo vid_1", "is show meant?"),
        ("video list --lmit 3", "is --limit meant?"),
        ("login --browser --device", "--device and --browser do not go together"),
        ("run x.csv --max-wait soon", "write it like 45s, 10m or 2h"),
    ],
)
def test_a_slip_is_told_in_a_sentence(capsys, typed, told):
    status, out, err = call(capsys, *typed.split())

    assert (status, out) == (2, "")
    assert told in err
    assert "usage:" not in err
    assert "nothing was spent" in err


def test_a_slip_is_a_document_too(capsys):
    status, out, _ = call(capsys, "run", "--json")

    assert status == 2
    told = json.loads(out)
    assert (told["exit"], told["spent"]) == (2, 0)
    # What to do next is for programs too.
    assert told["remedy"] == "name it: `callsheet run SHEET`"


@pytest.mark.merge
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - WAITING))
@pytest.mark.parametrize("words", [(), ("nobody",)], ids=["alone", "unknown"])
def test_every_command_leads_on_in_an_empty_folder(capsys, command, words):
    status, _, err = call(capsys, command, *words)

    if command in ("help", "init", "logout", "schema") and not words:
        assert status == 0
        return
    assert status == 2
    if command == "doctor" and not words:
        # It was understood, and finds that there is no service.
        return
    assert err.startswith(("callsheet: ", "creating a new ledger, "))
    assert "nothing was spent" in err
    assert any(way in err for way in ("`callsheet", "check its path", "make the folder"))


@pytest.mark.parametrize("typed", ["run spring.csv", "video tools", "whoami", "webhooks list"])
def test_without_a_service_it_says_how_to_try_it_at_no_cost(capsys, tmp_path, typed):
    (tmp_path / "spring.csv").write_text("id,tool\n")

    status, _, err = call(capsys, *typed.split())

    assert status == 2
    sheet = "spring.csv" if "spring" in typed else "SHEET"
    assert f"`callsheet run {sheet} --sandbox`" in err
