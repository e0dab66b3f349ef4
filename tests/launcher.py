"""Starts commands quickly: one process imports the program, every command is a fork of it.

What is under test stays a process of its own, with its own folder, environment, files and end;
only the second that Python takes to import its libraries is paid once instead of every time.

    python -m tests.launcher    reads orders from stdin, a JSON line each, and answers exit statuses
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
#: What a run imports; Prefect is not here, because it reads its environment when it is imported.
PROGRAM = (
    "deployments.terminal_run",
    "deployments.servers",
    "deployments.commands.explain",
    "deployments.commands.export",
    "deployments.commands.reconcile",
    "deployments.commands.resolve",
    "deployments.commands.rows",
    "deployments.commands.run",
    "deployments.commands.status",
    "deployments.commands.verify",
    "tasks.campaign.report",
    "tasks.store.bucket",
    "tasks.service.transport",
    "asyncio.subprocess",
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.dialects.postgresql",
    "alembic.command",
    "av",
    "boto3",
    "pandas",
    "psycopg",
    "rich.live",
    "ruamel.yaml",
    "traceback",
)


class Launcher:
    """The process that forks, and the way to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.launcher"],
            cwd=ROOT,
            # Threads of a library do not survive a fork.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(self._process.kill)

    def run(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
        hook: Mapping[str, Any] | None = None,
    ) -> tuple[int, str, str]:
        """Run one command to its end; return exit status, output and errors.

        `hook` is an order to its crash points (`tests.torture.hook`); a killed one ends with -9.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            order: dict[str, Any] = {"words": list(words), "cwd": str(cwd), "env": dict(env)}
            order |= {"out": str(out), "err": str(err), "hook": hook}
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                self._process.kill()
                launcher.cache_clear()
                raise subprocess.TimeoutExpired(list(words), timeout)
            status = int(self._process.stdout.readline())
            return status, out.read_text(), err.read_text()


@cache
def launcher() -> Launcher:
    """Return the launcher of this test process, started at its first use."""
    return Launcher()


def main() -> None:
    """Import the program, then fork for every order until stdin ends."""
    for module in PROGRAM:
        importlib.import_module(module)
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            _carry_out(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _carry_out(order: Mapping[str, Any]) -> None:
    """Become the command: its files, its folder, its environment; never return."""
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, str(order["out"]), os.O_WRONLY | os.O_CREAT),
        (2, str(order["err"]), os.O_WRONLY | os.O_CREAT),
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["callsheet", *order["words"]]
    status = 1
    try:
        from deployments.cli import main as callsheet

        if order["hook"]:
            from tests.torture.hook import hang_on

            hang_on(order["hook"])
        callsheet(order["words"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
