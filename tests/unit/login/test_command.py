"""The real `login` and `logout` against an auth server that misbehaves: no key is left unseen."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.launcher import IMPORTS, Process, launcher
from tests.unit.login.conftest import GRANTED, KEY, PENDING, AuthServer
from tests.unit.login.test_keyring import BACKEND

DEVICE, TOKEN = "/api/oauth/device_authorization", "/api/oauth/token"
IDENTITY, FRESH, REVOKE = "/agent/identity", "/agent/identity/claim", "/api/oauth/revoke"
VIDEOS = "/api/v1/videos"
STARTED = {"device_code": "canary0device0code", "user_code": "WDJB-MJHT", "interval": 0.05}
CLAIMED = {
    "claim_token": "clm_canary0claim",
    "claim": {"user_code": "BBBB-CCCC", "interval": 0.05, "expires_in": 600},
}
SECRETS = (KEY, "canary0device0code", "clm_canary0claim")


@dataclass
class Done:
    out: str
    err: str
    status: int


@dataclass
class Machine:
    """A machine with the command on it; `start` and `call` check that no secret is ever shown."""

    folder: Path
    environ: dict[str, str]

    async def start(self, *words: str, stdin: int = subprocess.DEVNULL) -> Process:
        given = {"cwd": self.folder, "env": self.environ, "stdin": stdin}
        pipe = subprocess.PIPE
        return await asyncio.to_thread(launcher().start, words, **given, stdout=pipe, stderr=pipe)

    async def call(self, *words: str, stdin: int = subprocess.DEVNULL) -> Done:
        return await self.end(await self.start(*words, stdin=stdin))

    async def end(self, process: Process) -> Done:
        done = Done(*await asyncio.to_thread(process.communicate, None, 120), process.wait())
        assert not [secret for secret in SECRETS if secret in done.out + done.err]
        return done

    def kept(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*.json"))


@pytest.fixture
def machine(server: AuthServer, tmp_path: Path) -> Machine:
    server.on(DEVICE, STARTED).on(TOKEN, GRANTED).on(VIDEOS, {"data": []}).on(REVOKE, (200, b""))
    server.on(IDENTITY, CLAIMED)
    clean = {name: v for name, v in os.environ.items() if not name.startswith("CALLSHEET_")}
    return Machine(
        tmp_path,
        {
            **clean,
            "PYTHONPATH": f"{IMPORTS}{os.pathsep}{tmp_path}",
            "CALLSHEET_BASE_URL": f"{server.url}/api/v1",
            "CALLSHEET_CREDENTIALS": "file",
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
        },
    )


async def test_a_key_that_the_service_does_not_take_is_revoked_and_not_kept(machine, server):
    server.on(VIDEOS, (401, {"error": {"code": "unauthorized"}}))
    done = await machine.call("login", "--device", "-v")
    assert (done.status, "does not accept the key" in done.err) == (2, True)
    assert [asked.members for asked in server.to(REVOKE)] == [{"token": KEY}]
    assert machine.kept() == []


async def test_a_key_that_cannot_be_kept_is_revoked(machine, server):
    (machine.folder / "studio_keyring.py").write_text(BACKEND)
    machine.environ |= {
        "CALLSHEET_CREDENTIALS": "keyring",
        "PYTHON_KEYRING_BACKEND": "studio_keyring.Keyring",
        "KEYRING_DOES": "forget",
    }
    done = await machine.call("login", "--device", "-v")
    assert (done.status, "could not be kept" in done.err) == (2, True)
    assert [asked.members for asked in server.to(REVOKE)] == [{"token": KEY}]


async def test_a_key_that_cannot_be_tried_yet_is_kept(machine, server):
    server.on(VIDEOS, (503, b""))
    done = await machine.call("login", "--device", "--json")
    assert (done.status, json.loads(done.out)["accepted"]) == (0, None)
    assert "could not be tried yet" in done.err
    assert machine.kept() == ["default.json"]
    assert not server.to(REVOKE)


@pytest.mark.merge
async def test_a_key_in_the_keyring_is_used_by_the_next_command_and_gone_after_logout(
    machine, server
):
    (machine.folder / "studio_keyring.py").write_text(BACKEND)
    machine.environ |= {"PYTHON_KEYRING_BACKEND": "studio_keyring.Keyring"}
    del machine.environ["CALLSHEET_CREDENTIALS"]
    done = await machine.call("login", "--device", "--json")
    assert json.loads(done.out)["stored_in"] == "keyring"
    assert "in the keyring (Studio Keyring)" in done.err
    assert json.loads((await machine.call("whoami", "--json")).out)["source"] == "keyring"
    server.on(VIDEOS, (401, {}))
    assert (await machine.call("logout")).status == 0
    assert machine.kept() == ["kept.json"]
    assert (machine.folder / "kept.json").read_text() == "{}"


async def test_ctrl_c_while_waiting_leaves_nothing_behind(machine, server):
    server.on(TOKEN, PENDING)
    process = await machine.start("login", "--device")
    await _until(lambda: len(server.to(TOKEN)) > 0)
    process.send_signal(signal.SIGINT)
    done = await machine.end(process)
    assert (done.status, "stopped" in done.err, machine.kept()) == (5, True, [])


async def test_a_claim_is_put_down_by_ctrl_c_and_taken_up_again(machine, server):
    server.on(TOKEN, PENDING)
    process = await machine.start("login", "--email", "ada@studio.example")
    await _until(lambda: len(server.to(TOKEN)) > 0)
    process.send_signal(signal.SIGINT)
    assert (await machine.end(process)).status == 5
    (claim,) = machine.folder.rglob("claims/*.json")
    assert claim.stat().st_mode & 0o777 == 0o600
    server.on(TOKEN, GRANTED)
    done = await machine.call("login", "--email", "ada@studio.example", "--json")
    assert (done.status, "going on with" in done.err, "BBBB-CCCC" in done.err) == (0, True, True)
    assert (len(server.to(IDENTITY)), server.to(FRESH)) == (1, [])
    assert machine.kept() == ["default.json"]


@pytest.mark.parametrize("error", ["access_denied", "invalid_grant"])
async def test_a_claim_that_is_over_is_not_taken_up_again(machine, server, error):
    server.on(TOKEN, {"error": error})
    done = await machine.call("login", "--email", "ada@studio.example")
    assert (done.status, machine.kept()) == (2, [])


async def test_a_claim_of_somebody_else_is_not_taken_up(machine, server):
    server.on(TOKEN, (503, b""))
    server.on(IDENTITY, {**CLAIMED, "claim": {**CLAIMED["claim"], "expires_in": 1}})
    done = await machine.call("login", "--email", "ada@studio.example")
    assert (done.status, machine.kept()) == (5, ["default.json"])
    server.on(TOKEN, GRANTED)
    server.on(IDENTITY, CLAIMED)
    assert (await machine.call("login", "--email", "ben@studio.example")).status == 0
    assert [asked.members["login_hint"] for asked in server.to(IDENTITY)] == [
        "ada@studio.example",
        "ben@studio.example",
    ]


async def test_a_key_that_lives_on_after_logout_is_told(machine, server):
    await machine.call("login", "--device")
    done = await machine.call("logout", "--json")
    said = json.loads(done.out)
    assert (done.status, said["logged_out"], said["revoked"], said["exit"]) == (3, True, False, 3)
    assert "Settings, Advanced, API keys" in done.err
    assert machine.kept() == []


async def test_a_key_that_was_handed_in_is_revoked_only_on_request(machine, server, tmp_path):
    (tmp_path / "key").write_text(KEY)
    for words, revoked in ((("logout",), 0), (("logout", "--revoke"), 1)):
        with (tmp_path / "key").open() as key:
            assert (await machine.call("login", "--with-token", stdin=key.fileno())).status == 0
        await machine.call(*words)
        assert len(server.to(REVOKE)) == revoked


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
