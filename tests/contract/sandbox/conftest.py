"""Starts sandboxes as processes of their own. Nothing of the product is imported here: these
tests speak to it over sockets, as any client of the service does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.sandbox.agent import Agent, agent_of
from tests.contract.sandbox.reader import Reader
from tests.contract.sandbox.receiver import Receiver, receiving
from tests.launcher import Process, launcher

BRIEF = {
    "tool": "product-launch",
    "fields": {"product": "Aurora kettle", "benefits": ["quiet", "fast"]},
    "title": "Aurora",
    "duration_seconds": 6,
    "start_generation": True,
}


@dataclass
class Running:
    """One running sandbox and a client that holds every scope."""

    process: Process
    ready: dict[str, Any]
    client: httpx.Client

    def create(self, **fields: Any) -> str:
        answer = self.client.post("/videos", json={**BRIEF, **fields})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["data"]["id"])

    def get(self, video: str) -> dict[str, Any]:
        return dict(self.data(f"/videos/{video}"))

    def wait(self, video: str, status: str = "completed", within: float = 20) -> dict[str, Any]:
        until = time.monotonic() + within
        while (seen := self.get(video))["status"] != status:
            assert time.monotonic() < until, seen
            time.sleep(0.05)
        return seen

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.client.post(path, json=body)

    def data(self, path: str) -> Any:
        return self.client.get(path).json()["data"]

    def url(self, video: str) -> str:
        """Give the signed address of a video, once it is finished."""
        self.wait(video, within=60)
        return str(self.data(f"/videos/{video}/download")["url"])

    def file(self, video: str) -> bytes:
        return self.client.get(self.url(video)).content

    def door(self, name: str) -> str:
        """Give the address of one of the sandbox's own doors."""
        return f"{self.ready['auth_url']}/_sandbox/{name}"

    def credits(self) -> dict[str, int]:
        return dict(self.data("/credits"))

    def charges(self) -> list[dict[str, Any]]:
        return list(self.client.get(self.door("charges")).json())

    def events(self, video: str) -> list[str]:
        return [entry["event"] for entry in self.charges() if entry["video_id"] == video]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> tuple[int, float, str]:
        began = time.monotonic()
        self.process.terminate()
        _, complaint = self.process.communicate(timeout=10)
        return self.process.returncode, time.monotonic() - began, complaint


Start = Callable[..., Running]


def _start(*options: str, state: Path, env: dict[str, str] | None = None) -> Running:
    process = launcher("sandbox").start(
        ["--port", "0", "--json", "--state", str(state), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    ready = json.loads(process.stdout.readline())
    client = httpx.Client(
        base_url=ready["base_url"], headers={"authorization": f"Bearer {ready['api_key']}"}
    )
    return Running(process, ready, client)


def _end(running: Running) -> None:
    running.client.close()
    process = running.process
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@contextmanager
def _starting() -> Iterator[Start]:
    """Yield what starts sandboxes, which end with the block."""
    with ExitStack() as begun:

        def start(*options: str, state: Path, env: dict[str, str] | None = None) -> Running:
            running = _start(*options, state=state, env=env)
            begun.callback(_end, running)
            return running

        yield start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start sandboxes with options of the test's own; they end with the test."""
    with _starting() as one:
        yield partial(one, state=tmp_path)


@pytest.fixture(scope="module")
def begin() -> Iterator[Start]:
    """Start sandboxes that end with the module."""
    with _starting() as one:
        yield one


@pytest.fixture(scope="session")
def anyone() -> Iterator[httpx.Client]:
    """A client without a key."""
    with httpx.Client() as client:
        yield client


def _shared(*options: str) -> Any:
    """Make a fixture: one sandbox with these options for the whole session."""

    @pytest.fixture(scope="session")
    def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
        with _starting() as one:
            yield one(*options, state=tmp_path_factory.mktemp("shared"))

    return shared


HOOKED = ("--render", "instant", "--allow-loopback-webhooks")
#: Its videos are ready at once.
instant = _shared("--render", "instant")
#: Its renders outlast every test.
slow = _shared("--time-scale", "0.5")
#: It makes real videos in about a second.
quick = _shared("--time-scale", "200")
#: It sends webhooks to this machine; six hours of retries take seconds.
hooked = _shared(*HOOKED, "--time-scale", "10000")
#: It sends webhooks to this machine, and retries after half a minute or more.
unhurried = _shared(*HOOKED)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


@pytest.fixture(scope="module")
def agent(instant: Running) -> Iterator[Agent]:
    """A program at the instant sandbox."""
    with agent_of(instant) as one:
        yield one


@pytest.fixture(scope="module")
def reader(agent: Agent) -> Iterator[Reader]:
    """Somebody at the pages."""
    with httpx.Client(base_url=agent.ready["auth_url"]) as http:
        yield Reader(http)


Plan = Callable[..., dict[str, Any]]


@pytest.fixture
def plan(instant: Running) -> Iterator[Plan]:
    """Plan faults in the instant sandbox; they go when the test does."""
    door = instant.door("faults")

    def one(on: str, do: str, **members: Any) -> dict[str, Any]:
        answer = instant.client.post(door, json={"on": on, "do": do, **members})
        assert answer.status_code == 201, answer.text
        return dict(answer.json()[0])

    yield one
    instant.client.delete(door)
