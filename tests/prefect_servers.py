"""Prefect's server for tests, as a team's own that is up before Callsheet is."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.process import listen_on, origin_of
from callsheet.deployments.servers import BACKLOG, server_environ, server_words
from tests.launcher import PLACE

#: How long it may take to come up, in seconds; the first time it makes its database.
START_LIMIT = 240.0


class PrefectServer:
    """A server at an address; `stop` ends it if it is our child."""

    def __init__(self, url: str, child: subprocess.Popen[bytes] | None = None) -> None:
        self.url = url
        self._child = child

    def wait(self) -> None:
        """Wait until it answers."""
        at = PrefectAddress(url=self.url, stands_in="this test")
        until = time.monotonic() + START_LIMIT
        while not at.answers():
            assert self._child is None or self._child.poll() is None, "it did not start"
            assert time.monotonic() < until, "it did not start in time"
            time.sleep(0.1)

    def stop(self) -> None:
        """End it, in whatever way is quickest."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()


def started_server(home: Path) -> PrefectServer:
    """Start a server and wait for it: with a copy of the empty history of this run's first one.

    To make a history takes ten seconds of a processor.
    """
    place = Path(os.environ[PLACE])
    made, own = place / "history.db", home / "history.db"
    home.mkdir(parents=True, exist_ok=True)
    with (place / "history.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_first := not made.exists():
            running = start_server(home)
            running.wait()
            with closing(sqlite3.connect(own)) as history, closing(sqlite3.connect(made)) as kept:
                history.backup(kept)
    if not is_first:
        shutil.copy(made, own)
        running = start_server(home)
        running.wait()
    return running


def start_server(home: Path, **environ: str) -> PrefectServer:
    """Start a server that keeps its history in a folder; it cannot outlive the tests."""
    home.mkdir(parents=True, exist_ok=True)
    serve = [sys.executable, "-P", "-m", "callsheet.deployments.servers"]
    with listen_on(socket.AF_INET, ("127.0.0.1", 0), backlog=BACKLOG) as listening:
        url = f"{origin_of(listening)}/api"
        with (home / "server.log").open("ab") as log:
            child = subprocess.Popen(
                [*serve, *server_words(listening)],
                pass_fds=(listening.fileno(),),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**server_environ(home, url), **environ},
                cwd=home,
                start_new_session=True,
            )
    return PrefectServer(url, child)
