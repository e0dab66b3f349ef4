"""`callsheet up` under kills: of itself, of every part, at any moment. Not collected by default.

python -m pytest tests/up/up_torture.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import httpx
import psutil
import pytest

from callsheet.deployments.up.orphans import VARIABLE
from callsheet.deployments.up.up_file import last_up
from tests.programs import Desk, simple_sheet
from tests.up.conftest import Up, up_at

WITHIN = 180.0


def until(what: Callable[[], Any]) -> Any:
    """Wait until something is so, and return it."""
    end = time.monotonic() + WITHIN
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def left_in(desk: Desk) -> list[psutil.Process]:
    """Return what an `up` of this folder has started and what is still there."""
    found = []
    for process in psutil.process_iter(["environ"]):
        environ = process.info["environ"] or {}
        if VARIABLE in environ and str(desk.folder) in environ.get("PWD", ""):
            found.append(process)
    return found


class Board:
    """The board's interface, as a program of the first admin speaks to it."""

    def __init__(self, ready: Mapping[str, Any]) -> None:
        headers = {"authorization": f"Bearer {ready['token']}"}
        self.http = httpx.Client(base_url=f"{ready['board']}/api/v1/", headers=headers, timeout=60)

    def approve(self, name: str, rows: int) -> str:
        """Hand a sheet in, have it priced, approve it; return the run."""
        sheet = self.post("sheets", name=f"{name}.csv", text=simple_sheet(rows, title=name))[
            "sheet"
        ]
        plan = self.post("plans", sheet=sheet)["plan"]
        until(lambda: self.get(f"plans/{plan}")["state"] == "ready")
        return str(self.post(f"plans/{plan}/approve")["run"])

    def states(self, name: str) -> dict[str, int]:
        answer = self.http.get(f"campaigns/{name}")
        return dict(answer.json()["rows"]) if answer.status_code == 200 else {}

    def get(self, path: str) -> Any:
        return self.http.get(path).raise_for_status().json()

    def post(self, path: str, **body: Any) -> Any:
        return self.http.post(path, json=body).raise_for_status().json()


def bought(up: Up) -> int:
    """Return how many videos the sandbox has begun to make, by its own charge log."""
    found = last_up(up.home)
    headers = {"authorization": f"Bearer {found.sandbox['api_key']}"}
    log = httpx.get(f"{found.sandbox['auth_url']}/_sandbox/charges", headers=headers).json()
    return sum(entry["event"] == "reserve" for entry in log)


def guards(up: Up) -> list[psutil.Process]:
    """Return who is there to end what it leaves."""
    found = []
    for process in up.started():
        with suppress(psutil.NoSuchProcess):
            if "callsheet.deployments.up.orphans" in process.cmdline():
                found.append(process)
    return found


def kill(up: Up, part: str) -> None:
    found = last_up(up.home)
    pid = found.parts[part].pid
    psutil.Process(pid).kill()


@pytest.mark.parametrize("seconds", [0.2, 0.6, 1.2, 2.5, 4.0, 7.0])
def test_killed_at_any_moment_of_its_start_it_leaves_nothing(desk: Desk, seconds: float) -> None:
    with up_at(desk, "--without", "prefect") as up:
        time.sleep(seconds)

        up.kill()

        until(lambda: not left_in(desk))
    # And the next one starts on what is there.
    with up_at(desk, "--without", "prefect") as up:
        assert up.ready()["board"]


def test_every_part_that_is_killed_comes_again(desk: Desk) -> None:
    with up_at(desk, "--prefect-port", "0") as up:
        up.ready()
        for part in ("sandbox", "receiver", "board", "worker", "prefect"):
            kill(up, part)
            until(lambda part=part: last_up(up.home).parts[part].restarts == 1)  # type: ignore[union-attr,misc]
            until(lambda: desk.call("up", "--status", "--json").status == 0)
        (guard,) = guards(up)
        guard.kill()
        until(lambda: [one for one in guards(up) if one != guard])

        up.kill()

        until(lambda: not left_in(desk))


def test_what_was_approved_is_made_and_paid_once_whatever_is_killed(desk: Desk) -> None:
    with up_at(desk, "--prefect-port", "0", "--time-scale", "4") as up:
        board = Board(up.ready())
        # While the flow run is started, and while videos are rendered.
        board.approve("early", 3)
        time.sleep(2)
        up.kill()
        until(lambda: not left_in(desk))
    with up_at(desk, "--prefect-port", "0", "--time-scale", "4") as up:
        board = Board(up.ready())
        board.approve("late", 3)
        until(lambda: board.states("late").get("rendering"))
        # It carries its flow runs no more; they go on, and another Prefect worker leaves them
        # alone.
        kill(up, "worker")
        until(lambda: board.states("late").get("delivered") == 3)
        board.approve("later", 3)
        until(lambda: board.states("later").get("rendering"))
        up.kill()
        until(lambda: not left_in(desk))
    with up_at(desk, "--prefect-port", "0", "--time-scale", "60") as up:
        board = Board(up.ready())
        for name in ("early", "late", "later"):
            until(lambda name=name: board.states(name).get("delivered") == 3)  # type: ignore[misc]
        assert bought(up) == 9
        down = desk.call("up", "--down", "--json")
        assert down.json == {"up": False, "was_up": True}
        assert left_in(desk) == []
