"""`callsheet up` as somebody types it, without Prefect, which takes the longest to start."""

from __future__ import annotations

import json
import socket
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.up.orphans import marked
from callsheet.deployments.up.programs import PAGES, UpContext, deployments, prefect_server, worker
from callsheet.tasks.runtime.settings import load_settings
from tests.programs import Desk, simple_sheet
from tests.up.conftest import up_at


@pytest.mark.merge
def test_it_is_up_with_nothing_configured_and_down_again(desk: Desk) -> None:
    with up_at(desk, "--without", "prefect") as up:
        ready = up.ready()
        assert set(ready) >= {"board", "prefect", "receiver", "token", "login"}
        assert ready["prefect"] is None
        campaigns = urllib.request.Request(
            f"{ready['board']}/api/v1/campaigns",
            headers={"authorization": f"Bearer {ready['token']}"},
        )
        with urllib.request.urlopen(campaigns, timeout=30) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{ready['receiver']}/health", timeout=30) as answer:
            assert json.load(answer)["receiver"] == "callsheet"

        again = desk.call("up", "--json")
        assert again.status == 0
        assert {**again.json, "login": None} == {**ready, "login": None}
        assert again.json["login"] != ready["login"]
        status = desk.call("up", "--status", "--json")
        assert status.status == 0, status.out
        assert status.json["token"] == ready["token"]
        assert {name: part["ok"] for name, part in status.json["parts"].items()} == {
            "sandbox": True, "receiver": True, "board": True,
        }  # fmt: skip
        # A sandbox that is there is used; another could not have its state.
        ended = desk.run(desk.sheet("tea.csv", simple_sheet(1)), "--sandbox")
        assert ended.status == 0, ended.err

        down = desk.call("up", "--down", "--json")

        assert down.json == {"up": False, "was_up": True}
        assert up.process.wait(30) == 0
        assert marked(up.mark()) == {}
        assert "Traceback" not in up.errors()
    assert desk.call("up", "--status", "--json").json == {"up": False, "parts": {}}
    assert desk.call("up", "--down").status == 0


@pytest.mark.merge
def test_the_ports_are_its_own_also_while_parts_are_started_again(desk: Desk) -> None:
    with up_at(desk, "--without", "prefect") as up:
        ready = up.ready()
        for part in ("board", "receiver"):
            address = urlsplit(ready[part])
            page, before = f"{ready[part]}{PAGES[part]}", up.part(part)
            process = psutil.Process(before.pid)

            process.kill()

            # Whoever asks meanwhile waits in the queue for its next start.
            process.wait(30)
            with pytest.raises(OSError, match="in use"):
                socket.create_server((str(address.hostname), address.port))
            with urllib.request.urlopen(page, timeout=60) as answer:
                assert answer.status == 200
            assert up.part(part).pid not in (None, before.pid)
            assert up.part(part).address == before.address


@pytest.mark.safeguard(
    "deployments/up/programs.py", '("prefect-sandbox" if self.is_trial else "prefect")', '"prefect"'
)
def test_what_is_scheduled_with_a_sandbox_is_kept_apart(tmp_path: Path) -> None:
    around = _around(tmp_path, api="http://127.0.0.1:4200/api")
    trial = replace(around, is_trial=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        real, other = [prefect_server(one, taken).environ for one in (around, trial)]
    for name in ("PREFECT_HOME", "PREFECT_SERVER_DATABASE_CONNECTION_URL"):
        assert real[name] != other[name]
    assert trial.environ()["PREFECT_HOME"] != around.environ()["PREFECT_HOME"]
    # One server knowing of its deployments says nothing of the other.
    assert deployments(trial).words != deployments(around).words


def _around(folder: Path, *, api: str | None = None, **settings: str) -> UpContext:
    environ = {f"CALLSHEET_{name.upper()}": value for name, value in settings.items()}
    found = load_settings(environ=environ, folder=folder)
    return UpContext(settings=found, folder=folder, mark="m", api=api)


OWN = "http://127.0.0.1:4200/api"


@pytest.mark.parametrize(
    ("api", "profile", "settings", "pool"),
    [
        # Its own server has no other environment.
        (OWN, "production", {}, "callsheet"),
        (None, None, {}, "callsheet-spring-26"),
        (None, "production", {}, "callsheet-production"),
        (OWN, None, {"prefect_pool": "videos"}, "videos"),
    ],
)
def test_environments_on_one_server_have_work_pools_of_their_own(
    tmp_path: Path, api: str | None, profile: str | None, settings: dict[str, str], pool: str
) -> None:
    folder = tmp_path / "spring & 26"
    folder.mkdir()
    around = replace(_around(folder, api=api, **settings), profile=profile)

    at = PrefectAddress(url="http://prefect.example/api", stands_in="a test")
    words = worker(around, at, needs=()).words
    assert words[words.index("--pool") + 1] == around.pool == pool
    assert deployments(around).words[-1] == pool


def test_a_sandbox_carries_nothing_that_another_server_schedules(desk: Desk) -> None:
    desk.environ["PREFECT_API_URL"] = "http://prefect.example:4200/api"

    refused = desk.call("up", "--sandbox", "--without", "prefect", "--without", "receiver")

    assert refused.status == 2
    assert "deployments and worker of a sandbox cannot use the Prefect server" in refused.err
    assert "nothing was started" in refused.err
    assert "`--without deployments --without worker`" in refused.err
    assert not (desk.folder / ".callsheet" / "up" / "sandbox.log").exists()


def test_a_port_that_was_named_has_to_be_free(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        refused = desk.call("up", "--port", port, "--without", "prefect", "--without", "receiver")

    assert refused.status == 2
    assert f"127.0.0.1:{port}: another program has that port" in refused.err
