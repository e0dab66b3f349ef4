"""The keyring of the operating system: used if it answers, waited for no longer than that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launcher import IMPORTS, launcher

pytestmark = pytest.mark.merge


KEY = "mav_canary0key0of0the0tests"
BACKEND = """
import json, os, pathlib, time
from keyring.backend import KeyringBackend
STATE = pathlib.Path(__file__).parent / "kept.json"
class Keyring(KeyringBackend):
    name, priority = "Studio Keyring", 5
    def _all(self):
        (STATE.parent / "touched").write_text("")
        if os.environ.get("KEYRING_DOES") == "hang": time.sleep(600)
        if os.environ.get("KEYRING_DOES") == "refuse": raise RuntimeError("locked mav_inside1")
        return json.loads(STATE.read_text()) if STATE.exists() else {}
    def get_password(self, service, name): return self._all().get(f"{service} {name}")
    def set_password(self, service, name, key):
        kept = self._all() | {f"{service} {name}": key}
        if os.environ.get("KEYRING_DOES") != "forget": STATE.write_text(json.dumps(kept))
    def delete_password(self, service, name):
        kept = self._all(); kept.pop(f"{service} {name}"); STATE.write_text(json.dumps(kept))
"""
PROGRAM = """
import sys
from pathlib import Path
from callsheet.tasks.credentials import *
from callsheet.tasks.runtime.errors import CallsheetError
from datetime import UTC, datetime
folder = Path({folder!r})
def login(kept_in): return Login(profile="default", base_url="https://api.test/api/v1",
    auth_url=None, mcp_url=None, scopes=None, kept_in=kept_in, fingerprint="mav_…",
    at=datetime(2026, 1, 1, tzinfo=UTC))
def found(): return read_register(folder, "default").of(None)
try:
    {act}
except CallsheetError as error:
    print("error:", error, "|", error.remedy)
"""


class Machine:
    """A machine with a keyring of its own, on which a few lines are run."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.kept = folder / "kept.json"
        self.touched = folder / "touched"
        (folder / "studio_keyring.py").write_text(BACKEND)
        self.environ = {
            **os.environ,
            "PYTHONPATH": f"{IMPORTS}{os.pathsep}{folder}",
            "PYTHON_KEYRING_BACKEND": "studio_keyring.Keyring",
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def run(self, act: str, **environ: str) -> str:
        program = PROGRAM.format(folder=str(self.credentials), act=act)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
            env={**self.environ, **environ}, cwd=self.folder, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def callsheet(self, *words: str, **environ: str) -> str:
        process = launcher().start(
            words, cwd=self.folder, env={**self.environ, **environ},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = process.communicate(timeout=120)
        assert "Traceback" not in err, err
        return out + err

    @property
    def credentials(self) -> Path:
        return self.folder / "config" / "callsheet" / "credentials"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("does", "words"), [("hang", "did not answer within"), ("refuse", "RuntimeError")]
)
def test_a_keyring_that_is_of_no_use_is_passed_over_and_named(machine, does, words):
    said = machine.run("print(choose_place(folder, 'default', None))", KEYRING_DOES=does)
    assert "kept_in='file'" in said
    assert "plain text" in said
    assert words in said
    assert "mav_inside1" not in said
    said = machine.run("choose_place(folder, 'default', 'keyring')", KEYRING_DOES=does)
    assert said.startswith("error: the key cannot be kept in the keyring")
    assert "CALLSHEET_CREDENTIALS=file" in said


@pytest.mark.always
def test_a_keyring_that_loses_the_key_at_once_is_found_out(machine):
    said = machine.run(f"keep(folder, login('keyring'), {KEY!r})", KEYRING_DOES="forget")
    assert said.startswith("error: the key could not be kept: the keyring did not keep the key")
    assert not (machine.credentials / "default.json").exists()


def test_a_key_that_left_the_keyring_asks_for_a_new_login(machine):
    machine.run(f"keep(folder, login('keyring'), {KEY!r})")
    machine.kept.unlink()
    said = machine.run("key_of(found())")
    assert "no longer in the keyring" in said
    assert "callsheet login" in said


def test_only_a_command_that_needs_the_key_asks_the_keyring(machine):
    machine.run(f"keep(folder, login('keyring'), {KEY!r})")
    machine.touched.unlink()
    (machine.folder / "s.csv").write_text("id,tool,fields.product\nr1,product-launch,Kettle\n")
    machine.callsheet("check", "s.csv")
    machine.callsheet("--help")
    assert not machine.touched.exists()
    said = machine.callsheet("whoami", KEYRING_DOES="hang")
    assert "the keyring did not answer within 3 s" in said
    assert "CALLSHEET_API_KEY" in said
    assert machine.touched.exists()


def test_a_stand_in_for_a_keyring_is_none(machine):
    for backend in ("fail", "null"):
        said = machine.run(
            "print(choose_place(folder, 'default', None).words)",
            PYTHON_KEYRING_BACKEND=f"keyring.backends.{backend}.Keyring",
        )
        assert "this machine has no keyring" in said
