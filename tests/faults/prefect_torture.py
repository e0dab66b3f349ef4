"""A Prefect server that dies under a run, or dies and comes back. Slow: not collected by default.

python -m pytest tests/faults/prefect_torture.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from callsheet.deployments.servers import SERVER
from tests.faults.production import Production
from tests.prefect_servers import PrefectServer
from tests.web import free_port


@pytest.mark.parametrize("render", [8, 60])
def test_a_prefect_server_that_dies_does_not_cost_a_video(
    production: Production, tmp_path: Path, render: int
) -> None:
    with prefect(tmp_path / "prefect") as (url, kill, _):
        ended = _run_while(production, url, kill, render=render)
    assert ended.returncode == 0, ended.stderr
    (said,) = [line for line in ended.stderr.splitlines() if "Prefect" in line]
    assert "does not answer" in said
    for noise in ("Traceback", "ERROR"):
        assert noise not in ended.stderr
    production.ends_well()


def test_a_prefect_server_that_restarts_does_not_cost_a_video(
    production: Production, tmp_path: Path
) -> None:
    with prefect(tmp_path / "prefect") as (url, kill, start):

        def restart() -> None:
            kill()
            time.sleep(3)
            start()

        ended = _run_while(production, url, restart)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    production.ends_well()


def test_a_prefect_server_that_is_not_there_does_not_cost_a_video(
    production: Production,
) -> None:
    production.asks_for(1)
    production.desk.environ["PREFECT_API_URL"] = "http://127.0.0.1:9/api"

    ended = production.desk.call("run", production.sheet, "--yes", "--json")

    assert ended.status == 0, ended.err
    assert "does not answer: the run continues without it" in ended.err
    production.ends_well()


def test_a_prefect_server_that_wants_credentials_is_used_with_the_right_ones_alone(
    production: Production, tmp_path: Path
) -> None:
    right, dotenv = "team:Kettle-1963", production.desk.folder / ".env"
    with prefect(tmp_path / "prefect", PREFECT_SERVER_API_AUTH_STRING=right) as (url, *_):
        for said, videos in (("team:wrong-one", 1), (right, 2)):
            dotenv.write_text(f"PREFECT_API_URL={url}\nPREFECT_API_AUTH_STRING={said}\n")
            production.asks_for(videos)
            ended = production.desk.call("run", production.sheet, "--yes", "--json")
            assert ended.status == 0, ended.err
            refused = "refuses PREFECT_API_AUTH_STRING of .env: the run continues without it"
            assert (refused in ended.err) is (said != right)
            assert said not in ended.err
        auth = ("team", "Kettle-1963")
        assert httpx.post(f"{url}/flow_runs/count", json={}, auth=auth).json() == 1
    dotenv.unlink()
    production.ends_well()


def _run_while(
    production: Production, url: str, strike: Callable[[], None], *, render: int = 8
) -> subprocess.CompletedProcess[str]:
    """Run beside the server, strike once it shows videos being made; wait for the end."""
    production.asks_for(4)
    production.desk.environ["PREFECT_API_URL"] = url
    production.service.plan_fault(on="render", do="slow", seconds=render)
    process = production.desk.start("run", production.sheet, "--yes", "--json")
    production.waits_for(lambda: production.count("reserve") == 4)
    production.waits_for(lambda: httpx.post(f"{url}/flow_runs/count", json={}).json() == 1)
    strike()
    out, err = process.communicate(timeout=300)
    print(process.returncode, out, err)
    return subprocess.CompletedProcess([], process.returncode, out, err)


@contextmanager
def prefect(
    home: Path, **environ: str
) -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """Run a server of our own; yield its address, what kills it and what starts it again."""
    home.mkdir()
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    running: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        database = f"sqlite+aiosqlite:///{home / 'history.db'}"
        mine = {"PREFECT_HOME": str(home), "PREFECT_SERVER_DATABASE_CONNECTION_URL": database}
        words = ["uvicorn", "--factory", "prefect.server.api.server:create_app"]
        words += ["--port", str(port), "--log-level", "error"]
        with (home / "server.log").open("ab") as log:
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", *words],
                    env={**os.environ, **SERVER, **mine, **environ},
                    stdout=log,
                    stderr=log,
                )
            )
        PrefectServer(url, running[-1]).wait()

    def kill() -> None:
        running[-1].kill()
        running[-1].wait()

    start()
    try:
        yield url, kill, start
    finally:
        kill()
