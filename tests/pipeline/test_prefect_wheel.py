"""The wheel, installed into empty environments, beside packages of somebody else's.

The folder has packages called `flows`, `tasks` and `deployments`, as teams that use Prefect have.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.pipeline.served import Server, ask_server, served
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Desk, Finished, Sandbox, simple_sheet
from tests.wheel import build_wheel

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheel")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    return build_wheel(folder)


@pytest.fixture(scope="module")
def pins(folder: Path) -> Path:
    """The versions that everything else is tested with."""
    names = ("constraints.txt", "constraints-parquet.txt", "constraints-sandbox.txt")
    text = "".join((ROOT / name).read_text() for name in names)
    file = folder / "pins.txt"
    file.write_text(re.sub(r" \\$|^ +--hash.*\n", "", text, flags=re.MULTILINE))
    return file


@pytest.fixture(scope="module")
def python(folder: Path, wheel: Path, pins: Path) -> str:
    """The Python of an environment that uv has installed the wheel into, and the sandbox."""
    home = folder / "by-uv"
    uv = (sys.executable, "-m", "uv")
    call(folder, *uv, "venv", "--quiet", "--python", sys.executable, str(home))
    made = str(home / "bin" / "python")
    install = ("pip", "install", "--quiet", "--python", made, "--constraints", str(pins))
    call(folder, *uv, *install, f"{wheel}[sandbox]")
    return made


@pytest.fixture
def team(tmp_path: Path, service: Sandbox) -> Desk:
    """A folder with a sheet, and packages that nobody of ours may import."""
    for name in ("flows", "tasks", "deployments"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('raise RuntimeError("somebody else\'s")\n')
    home = {"PREFECT_HOME": str(tmp_path / "home"), "DO_NOT_TRACK": "1", "PWD": str(tmp_path)}
    return Desk(tmp_path, {**service.environ, **home, "PYTHONPATH": ""})


def call(folder: Path, *words: str, environ: dict[str, str] | None = None) -> Finished:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def callsheet(team: Desk, python: str, *words: str) -> Finished:
    """Run the command that the installation made."""
    command = str(Path(python).with_name("callsheet"))
    return call(team.folder, command, *words, environ=team.environment())


def test_the_command_makes_videos_and_names_the_extra_that_is_missing(
    team: Desk, python: str, name: str
) -> None:
    sheet = team.sheet(f"{name}.csv", simple_sheet(2, title=name))
    ended = callsheet(
        team, python, "run", sheet, "--sandbox", "--without-prefect", "--yes", "--json"
    )
    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}

    ended = callsheet(team, python, "export", name, "-o", "rows.parquet")
    assert ended.status == 2
    assert "a Parquet file needs pyarrow, which is not installed; nothing was spent" in ended.err
    assert "pip install 'callsheet[parquet]'" in ended.err
    assert not (team.folder / "rows.parquet").exists()


@pytest.fixture
def page(team: Desk, server: PrefectServer, python: str) -> Iterator[Server]:
    with served(team, server, python=python) as page:
        yield page


def test_a_flow_of_somebody_s_own_calls_run_campaign_and_is_served(
    team: Desk, page: Server, name: str
) -> None:
    sheet = team.sheet(f"{name}.csv", simple_sheet(1, title=name))
    run = page.rest(page.start("mine", sheet=sheet, approve="yes"))
    assert run["state"]["message"] == "1 rows, 15 credits, 0", run["state"]
    assert page.child(run["id"])["state_type"] == "COMPLETED"


def test_prefect_deploys_it_and_a_worker_runs_it(
    team: Desk, server: PrefectServer, python: str, name: str
) -> None:
    sheet = team.sheet(f"{name}.csv", simple_sheet(1, title=name))
    environ = {**team.environment(), "PREFECT_API_URL": server.url}
    prefect = (str(Path(python).with_name("prefect")), "--no-prompt")
    file = next(Path(python).parents[1].glob("lib/python3*/site-packages/callsheet"))
    file = file / "deployments" / "prefect.yaml"
    pool = f"pool-{name}"
    for words in (
        ("work-pool", "create", pool, "--type", "process"),
        ("deploy", "--name", "campaign", "--pool", pool, "--prefect-file", str(file)),
    ):
        done = call(team.folder, *prefect, *words, environ=environ)
        assert done.status == 0, done.out + done.err
    with httpx.Client(base_url=server.url, timeout=30) as client:
        there = ask_server(client, "GET", "/deployments/name/campaign/campaign")
        assert there["job_variables"]["command"] == f"{python} -P -m prefect.engine"
        asked = {"parameters": {"sheet": sheet, "approve": "yes"}}
        path = f"/deployments/{there['id']}/create_flow_run"
        run = ask_server(client, "POST", path, asked)
        words = ("worker", "start", "--pool", pool, "--run-once", "--limit", "1")
        done = call(team.folder, *prefect, *words, environ=environ)
        ended = Server(client).rest(run["id"])
        client.delete(f"/deployments/{there['id']}")
    assert ended["state_type"] == "COMPLETED", json.dumps(ended["state"]) + done.out
