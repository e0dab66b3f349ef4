"""Flows that a program of somebody's calls, in a process of its own, at a Prefect server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.launcher import IMPORTS
from tests.prefect_servers import PrefectServer
from tests.programs import Desk


def call_flows(
    program: str, orders: Sequence[Any], *, desk: Desk, server: PrefectServer
) -> subprocess.CompletedProcess[str]:
    """Run a program that is given its orders as JSON; return what it said."""
    path = {"PATH": "/usr/bin:/bin", "HOME": str(desk.folder), "PYTHONPATH": IMPORTS}
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(orders)],
        cwd=desk.folder,
        env={**path, **desk.environ, "PREFECT_API_URL": server.url},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
