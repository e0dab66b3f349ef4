"""The flow tests with the newest Prefect, and with a server of another version than the flows'.

Minutes each, so not collected by default. `make torture` installs the other Prefect first.

python -m pytest tests/pipeline/prefect_versions_torture.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.pipeline.conftest import GIVEN
from tests.programs import ROOT

PINNED = Path(sys.executable)
NEWEST = ROOT / ".venv-prefect-3.9" / "bin" / "python"

#: Of a worker's flow runs, beside what those files have, which call flows or serve them.
CANCELLED = "states_torture.py::test_a_run_that_is_cancelled_on_the_page_ends_in_order"

#: Starts a server, says where it is, and ends it with its own end.
SERVER = """
import sys
from pathlib import Path
from tests.prefect_servers import start_server
running = start_server(Path(sys.argv[1]))
running.wait()
print(running.url, flush=True)
sys.stdin.read()
running.stop()
"""

#: The Python of the flows, and that of the server.
PAIRS = {
    "the newest of both": (NEWEST, NEWEST),
    "a newer server": (PINNED, NEWEST),
    "an older server": (NEWEST, PINNED),
}


@pytest.mark.skipif(not NEWEST.exists(), reason="make torture installs Prefect 3.9, where it can")
@pytest.mark.parametrize("pair", PAIRS)
def test_flows_run_with(pair: str, tmp_path: Path) -> None:
    flows, of_server = PAIRS[pair]
    with _server(of_server, tmp_path) as url:
        done = subprocess.run(
            [
                flows,
                "-m",
                "pytest",
                "-m",
                "",
                "-q",
                "-p",
                "no:cacheprovider",
                *_files(),
            ],
            cwd=ROOT,
            env={**os.environ, GIVEN: url},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout[-6000:]


def _files() -> list[str]:
    """Return the files whose tests ask for a Prefect server, and a worker's test."""
    folder = ROOT / "tests" / "pipeline"
    files = [file for file in folder.glob("test_*.py") if "PrefectServer" in file.read_text()]
    return [*sorted(map(str, files)), str(folder / CANCELLED)]


@contextmanager
def _server(python: Path, folder: Path) -> Iterator[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with subprocess.Popen(
        [python, "-c", SERVER, str(folder)],
        cwd=ROOT,
        env={**own, "PREFECT_API_URL": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate()
