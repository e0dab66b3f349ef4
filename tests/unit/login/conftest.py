"""An auth server that says what a test scripts, on a real socket, and time only sleep moves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest
from aiohttp import web

from callsheet.tasks.service.login import Endpoints, Exchange, endpoints_of

KEY = "mav_canary0key0of0the0tests"
GRANTED = {"access_token": KEY, "token_type": "Bearer", "scope": "read write ai"}
PENDING = {"error": "authorization_pending"}

Step = Any


@dataclass
class Request:
    """One request as it came in; `members` of its form, JSON body or query."""

    method: str
    path: str
    members: dict[str, Any]
    headers: dict[str, str]


@dataclass
class AuthServer:
    """Answers the nth request to a path with its nth step; the last one for ever after.

    A step is a JSON document (200, or 400 with an `error`), `(status, body)`, `(status, body,
    headers)`, or "close" for no answer at all. A path without steps is not found.
    """

    url: str = ""
    steps: dict[str, list[Step]] = field(default_factory=dict)
    seen: list[Request] = field(default_factory=list)

    def on(self, path: str, *steps: Step) -> AuthServer:
        self.steps[path] = list(steps)
        return self

    def to(self, path: str) -> list[Request]:
        """Return the requests to a path."""
        return [request for request in self.seen if request.path == path]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.text()
        form = "form" in request.headers.get("content-type", "")
        members = dict(parse_qsl(raw)) if form else json.loads(raw or "{}")
        members = members or dict(request.query)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Request(request.method, request.path, members, headers))
        steps = self.steps.get(request.path, [(404, b"<html><title>Not found</title></html>")])
        step = steps[min(len(self.to(request.path)), len(steps)) - 1]
        if step == "close":
            request.transport.abort()
        if not isinstance(step, tuple):
            step = (400 if "error" in step else 200, step)
        status, body, answered = (*step, {})[:3]
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=content, headers=answered)


@dataclass
class Time:
    """Clocks that only `sleep` moves, and what was slept."""

    passed: float = 0.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
        self.passed += seconds

    def monotonic(self) -> float:
        return 1000.0 + self.passed

    def clock(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    made = AuthServer()
    runner = web.ServerRunner(web.Server(made.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
def endpoints(server: AuthServer) -> Endpoints:
    return endpoints_of(server.url)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def exchange(time: Time) -> AsyncIterator[Exchange]:
    async with Exchange(
        sleep=time.sleep, clock=time.clock, monotonic=time.monotonic, random=lambda: 0.0
    ) as made:
        yield made


@dataclass
class Heard:
    """What a person was told, and the codes they were shown."""

    said: list[str] = field(default_factory=list)
    codes: list[Any] = field(default_factory=list)

    def say(self, words: str) -> None:
        self.said.append(words)

    def show(self, code: Any) -> None:
        self.codes.append(code)


@pytest.fixture
def heard() -> Heard:
    return Heard()
