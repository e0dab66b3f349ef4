"""What a container begins with, and how it is asked whether it is alive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.deployments.container import alive, make_secrets
from callsheet.deployments.container.enter import SECRETS, command_of, with_secrets
from callsheet.tasks.runtime.known_settings import KNOWN
from callsheet.tasks.runtime.known_settings import SECRETS as OURS
from tests.containers.named import prefect_settings
from tests.programs import Desk
from tests.web import watcher

pytestmark = pytest.mark.merge

RECEIVER = b'{"receiver": "callsheet", "ledger": "x"}'
ANSWERS = {
    "well": ("board", 200, b"", None),
    "a worker that no longer asks": ("worker", 503, b"", "answers 503"),
    "a receiver": ("receiver", 200, RECEIVER, None),
    "another program in its place": ("receiver", 200, b"<html>", "another program answers"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_role_is_alive_when_it_answers_well(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    role, status, body, expected = ANSWERS[case]
    with watcher(status, body) as web:
        monkeypatch.setitem(alive.ROLES, role, (web.port, "/here"))
        found = alive.trouble_of(role)
    assert found is None if expected is None else (found or "").startswith(expected)


@pytest.mark.always
def test_a_role_that_does_not_answer_or_that_there_is_not_is_not_alive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(alive.ROLES, "board", (9, "/live"))

    assert alive.main(["board"]) == 1
    assert "no answer at port 9" in capsys.readouterr().out
    assert alive.main(["bord"]) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the ports are told by Linux")
def test_without_a_role_whoever_listens_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with watcher(500) as web:
        roles = {"board": (web.port, "/live"), "worker": (9, "/health")}
        monkeypatch.setattr(alive, "ROLES", roles)
        assert alive.main([]) == 1
    assert alive.main([]) == 0


@pytest.mark.always
def test_prefects_secrets_come_out_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "login").write_text("user:word\n")
    # Callsheet reads its own, and this is no secret.
    kept = {"CALLSHEET_API_KEY_FILE": "/run/secrets/api-key", "PREFECT_API_SSL_CERT_FILE": "/ca"}
    given = {"PREFECT_API_AUTH_STRING": "x"}
    given["PREFECT_API_AUTH_STRING_FILE"] = str(tmp_path / "login")

    assert with_secrets(given | kept) == {"PREFECT_API_AUTH_STRING": "user:word", **kept}


def test_secrets_are_settings_that_there_are() -> None:
    assert set(SECRETS) <= prefect_settings()
    # None of them with _FILE is a setting of its own.
    assert not {f"{name}_FILE" for name in SECRETS} & prefect_settings()
    secret = {name for name, (_, words) in KNOWN.items() if words.endswith("; a secret")}
    assert secret | {"ledger"} <= set(OURS)


@pytest.mark.parametrize(
    ("words", "status", "out", "err"),
    [
        (["sh", "-c", "echo $PREFECT_API_KEY; exit 7"], 7, "k\n", ""),
        ([], 2, "", "callsheet"),
        (["callsheet", "--version"], 2, "", "/nowhere/key: No such file or directory\n"),
    ],
    ids=["a command", "no command", "a secret that is not there"],
)
def test_a_container_becomes_its_command(words: list[str], status: int, out: str, err: str) -> None:
    environ = {**os.environ, "PREFECT_API_KEY": "k"}
    if "callsheet" in words:
        environ["PREFECT_API_KEY_FILE"] = "/nowhere/key"
    command = [sys.executable, "-m", "callsheet.deployments.container.enter", *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout, err in done.stderr) == (status, out, True)


def test_commands_are_started_with_packages_of_ours() -> None:
    start = [sys.executable, "-P", "-m"]
    assert command_of(["callsheet", "receive"]) == [*start, "callsheet.deployments.cli", "receive"]
    assert command_of(["prefect", "version"]) == [*start, "prefect", "version"]
    assert command_of(["sh", "-c", "true"]) == ["sh", "-c", "true"]


@pytest.mark.always
def test_secrets_are_made_once(tmp_path: Path) -> None:
    """By a Python that has no package installed, as on a machine that only runs containers."""
    folder = tmp_path / "secrets"
    command = [sys.executable, "-I", "-S", make_secrets.__file__, "--demo", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    made = {path.name: path.read_text() for path in folder.iterdir()}
    (folder / "ledger").unlink()

    subprocess.run(command, check=True, capture_output=True)

    # What was lost has the same password again.
    assert {path.name: path.read_text() for path in folder.iterdir()} == made
    assert made["postgres-password"] in made["ledger"]
    assert made["postgres-password"] in made["prefect-database"]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_key_that_is_not_typed_is_asked_for_again(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", make_secrets.__file__, str(tmp_path)]

    for typed, status in (("", 2), ("\n", 2), ("mav_typed\n", 0)):
        # Without a terminal, getpass reads standard input.
        how = {"capture_output": True, "text": True, "start_new_session": True}
        done = subprocess.run(command, input=typed, **how)
        assert done.returncode == status, done.stderr
        assert ("no key was typed" in done.stderr) == bool(status)

    assert (tmp_path / "api-key").read_text() == "mav_typed"


@pytest.mark.parametrize("words", ["run x.csv --sandbox", "board --sandbox", "sandbox --port 0"])
def test_without_its_encoder_the_sandbox_says_what_to_install(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_text("id,script\na,Hello there\n")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    done = Desk(tmp_path).call(*words.split(), here=True)

    assert (done.status, "pip install 'callsheet[sandbox]'" in done.err) == (2, True)


def test_a_ledger_is_made_where_a_schema_is_asked_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.call("ledger", "upgrade").status == 2
    assert "the ledger was made, with schema" in desk.call("ledger", "upgrade", "--make").out
    again = desk.call("ledger", "upgrade", "--make", "--json").json
    assert again["old"] == again["new"]
