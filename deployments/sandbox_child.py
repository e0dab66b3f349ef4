"""A sandbox of a command's own: started on a free port, ended with the command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.errors import CallsheetError

#: With --sandbox renders take seconds instead of minutes.
TIME_SCALE = "20"


@contextmanager
def sandbox(state: Path, *, time_scale: str | None = None) -> Iterator[dict[str, str]]:
    """Run a sandbox; yield the settings that point at it. It cannot outlive this process."""
    state.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "deployments.sandbox", "--port", "0", "--json"]
    command += ["--exit-with-parent", "--state", str(state), "--allow-loopback-webhooks"]
    command += ["--time-scale", time_scale or TIME_SCALE]
    with (state / "sandbox.log").open("ab") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield _settings(child, state)
    finally:
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _settings(child: subprocess.Popen[bytes], state: Path) -> dict[str, str]:
    assert child.stdout is not None
    line = child.stdout.readline()
    try:
        ready = json.loads(line)
        return {name: str(ready[name]) for name in ("base_url", "auth_url", "mcp_url", "api_key")}
    except (ValueError, KeyError) as error:
        raise CallsheetError(
            "the sandbox did not start; nothing was spent", remedy=f"see {state / 'sandbox.log'}"
        ) from error
