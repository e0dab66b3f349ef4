"""At a terminal a code that ran out is replaced, in the real command on a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import sys
from pathlib import Path

import pytest

from tests.launcher import IMPORTS
from tests.unit.login.conftest import GRANTED, AuthServer

STARTED = {"device_code": "canary0device", "user_code": "WDJB-MJHT", "interval": 0.1}


@pytest.mark.merge
async def test_a_code_that_ran_out_is_replaced_at_a_terminal(server: AuthServer, tmp_path: Path):
    server.on("/api/oauth/device_authorization", STARTED, {**STARTED, "user_code": "BBBB-CCCC"})
    server.on("/api/oauth/token", {"error": "expired_token"}, GRANTED)
    server.on("/api/v1/videos", {"data": []})
    environ = {name: v for name, v in os.environ.items() if not name.startswith("CALLSHEET_")}
    environ |= {
        "PYTHONPATH": IMPORTS,
        "CALLSHEET_BASE_URL": f"{server.url}/api/v1",
        "CALLSHEET_CREDENTIALS": "file",
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    primary, secondary = pty.openpty()
    words = [sys.executable, "-m", "callsheet.deployments.cli", "login", "--device"]
    process = await asyncio.create_subprocess_exec(
        *words, env=environ, cwd=tmp_path, stdin=secondary, stderr=secondary,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    os.close(secondary)
    said = await asyncio.to_thread(_read_until, primary, "press Enter")
    assert "WDJB-MJHT" in said
    os.write(primary, b"\n")
    assert "BBBB-CCCC" in await asyncio.to_thread(_read_until, primary, "BBBB-CCCC")
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    os.close(primary)
    assert (process.returncode, b"for read, write, ai" in out) == (0, True)


def _read_until(terminal: int, words: str) -> str:
    said = ""
    while words not in said:
        said += os.read(terminal, 4096).decode()
    return said
