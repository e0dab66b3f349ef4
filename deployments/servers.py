"""The sandbox that a command brings along, and Prefect's server: where it is, how `up` starts one.

A sandbox is started before anything heavy is imported, and cannot outlive the command. Imports
nothing of Prefect.

`python -m callsheet.deployments.servers MODULE [ARG ...]` runs a module until it ends or its
parent does, which keeps our standard input open.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from callsheet.deployments.prefect_address import (
    PrefectAddress,
    ServerAnswer,
    prefect_address,
)
from callsheet.deployments.up.up_file import prefect_kept, sandbox_kept
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError
from callsheet.tasks.runtime.files import lock
from callsheet.tasks.runtime.process import check_extra
from callsheet.tasks.runtime.redact import say

#: How many callers wait to be accepted while it starts.
BACKLOG = 128

#: What keeps a server quiet and its history whole: the recorder's own defaults write
#: one task run at a time and lose most of them when the server stops. Its seconds are whole ones:
#: of less than one it makes none, and never rests.
SERVER = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "DO_NOT_TRACK": "1",
}


def find_running(home: Path) -> PrefectAddress:
    """Return a server that answers: a configured one, or the one that `callsheet up` keeps.

    Raises ConfigurationError where there is none.
    """
    configured = prefect_address()
    if configured is not None and configured.health() is ServerAnswer.UP:
        return configured
    kept = _kept(home)
    if kept is None or not kept.answers():
        trouble = "none is set" if configured is None else f"{configured.url} does not answer"
        raise ConfigurationError(
            f"--workers needs a Prefect server with Prefect workers, and {trouble}; nothing was "
            "spent",
            remedy="set PREFECT_API_URL, or start `callsheet up`",
        )
    return kept


def point_at(at: PrefectAddress, *, verbose: bool) -> None:
    """Set Prefect up before it is imported: its address, and no output of its own."""
    os.environ["PREFECT_API_URL"] = at.url
    os.environ["PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED"] = "false"
    os.environ["DO_NOT_TRACK"] = SERVER["DO_NOT_TRACK"]
    if not verbose:
        os.environ["PREFECT_LOGGING_INTERNAL_LEVEL"] = "CRITICAL"


def prefect_of(home: Path) -> PrefectAddress | None:
    """Return the server that is configured, else the one that `callsheet up` keeps, if any."""
    return prefect_address() or _kept(home)


def _kept(home: Path) -> PrefectAddress | None:
    url = prefect_kept(home)
    return PrefectAddress(url=url, stands_in="`callsheet up`") if url is not None else None


#: Of the environment it inherits nothing that is meant for a team's own server: neither the
#: database of that nor the password it asks for.
NOT_INHERITED = ("CALLSHEET_", "PREFECT_API_", "PREFECT_SERVER_", "PREFECT_PROFILE")


def server_words(listening: socket.socket) -> list[str]:
    """Return the module that serves Prefect on a socket of this machine, and its argument."""
    where = f"port:{listening.getsockname()[1]}" if os.name == "nt" else str(listening.fileno())
    return ["callsheet.deployments.prefect_server", where]


def server_environ(home: Path, url: str) -> dict[str, str]:
    """Return the environment of a server that keeps its history in `home`."""
    return {
        **{name: v for name, v in os.environ.items() if not name.startswith(NOT_INHERITED)},
        **SERVER,
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home / 'history.db'}",
    }


#: A sandbox whose parent was killed ends by itself within this, in seconds.
GONE_SANDBOX = 5.0
#: In the folder of a sandbox that others may use as well: its settings.
SHARED = "shared.json"
#: How often is looked whether the sandbox of another run is gone, in seconds.
LOOK = 0.2
#: With --sandbox renders take seconds instead of minutes.
TIME_SCALE = "20"


@contextmanager
def sandbox(
    state: Path, *, time_scale: str | None = None, keep_port: bool = False
) -> Iterator[dict[str, str]]:
    """Run a sandbox; yield the settings that point at it. It cannot outlive this process.

    With `keep_port` it is where the one before it was: a run that outlived that finds it again.
    One that `callsheet up` or a board keeps is used as it is; one of another run is waited for,
    since it ends with that.
    """
    if kept := sandbox_kept(state.parent):
        yield kept
        return
    check_extra("sandbox", "imageio_ffmpeg", use="the sandbox")
    state.mkdir(parents=True, exist_ok=True)
    with _alone_with(state) as shared:
        if shared is not None:
            yield shared
            return
        with _sandbox_of_our_own(state, time_scale, keep_port=keep_port) as settings:
            yield settings


@contextmanager
def _alone_with(state: Path) -> Iterator[dict[str, str] | None]:
    """Be the only one with a sandbox here; yield the settings of one that is there to be shared."""
    file = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        found = _wait_for_our_turn(state, file)
        yield found
    finally:
        os.close(file)


def _wait_for_our_turn(state: Path, file: int) -> dict[str, str] | None:
    shared, said = state / SHARED, False
    while not lock(file):
        with contextlib.suppress(OSError, ValueError):
            return dict(json.loads(shared.read_text("utf-8")))
        if not said:
            words = "another command has the sandbox of this folder: waiting until it ends"
            say(words)
            said = True
        time.sleep(LOOK)
    # Of one before that was killed.
    shared.unlink(missing_ok=True)
    return None


@contextmanager
def _sandbox_of_our_own(
    state: Path, time_scale: str | None, *, keep_port: bool
) -> Iterator[dict[str, str]]:
    port = _port_before(state) if keep_port else 0
    words = sandbox_words(state, time_scale or TIME_SCALE)
    command = [sys.executable, "-P", "-m", *words, "--port", str(port), "--exit-with-parent"]
    with (state / "sandbox.log").open("ab") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        settings = _settings(child, state)
        if keep_port:
            (state / "port").write_text(f"{urlsplit(settings['base_url']).port}", "utf-8")
            (state / SHARED).touch(mode=0o600)
            (state / SHARED).write_text(json.dumps(settings), "utf-8")
        yield settings
    finally:
        (state / SHARED).unlink(missing_ok=True)
        _end(child)


def _port_before(state: Path) -> int:
    """Return the port of the sandbox before, once that is gone; 0 where someone else has it."""
    try:
        port = int((state / "port").read_text("utf-8"))
    except (OSError, ValueError):
        return 0
    until = time.monotonic() + GONE_SANDBOX
    while time.monotonic() < until:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
        time.sleep(0.1)
    return 0


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a server, in order if it can; doing it twice is doing it once."""
    child.terminate()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def sandbox_words(state: Path, time_scale: str) -> tuple[str, ...]:
    """Return the module of the sandbox, and the options of one that is kept in a folder."""
    options = ("--json", "--state", str(state), "--allow-loopback-webhooks")
    return ("callsheet.deployments.sandbox", *options, "--time-scale", time_scale)


def sandbox_settings(ready: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that point at a sandbox, by what it said when it was ready."""
    names = ("base_url", "auth_url", "mcp_url", "api_key")
    return {**{name: str(ready[name]) for name in names}, "sandbox": "yes"}


def _settings(child: subprocess.Popen[bytes], state: Path) -> dict[str, str]:
    assert child.stdout is not None
    line = child.stdout.readline()
    try:
        ready = json.loads(line)
        return sandbox_settings(ready)
    except (ValueError, KeyError) as error:
        raise CallsheetError(
            "the sandbox did not start; nothing was spent", remedy=f"see {state / 'sandbox.log'}"
        ) from error


#: How long an orderly stop may take before it is cut short, in seconds.
GRACE = 5.0


def main() -> None:
    """Run the module named on the command line, until it ends or the parent does."""
    threading.Thread(target=_stop_with_parent, name="parent", daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _stop_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


if __name__ == "__main__":
    main()
