"""Sandboxes that the tests of the client share; each is started when it is first asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest

from callsheet.tasks.service import VideoService
from tests.contract.sandboxes import DIALECTS, USUAL, client, sandbox


@pytest.fixture(scope="session")
def running_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., dict]]:
    """Start a sandbox with options, once for all tests that ask for the same ones."""
    started: dict[tuple[str, ...], dict] = {}
    with ExitStack() as stack:

        def start(*options: str) -> dict:
            if options not in started:
                state = tmp_path_factory.mktemp("sandbox")
                started[options] = stack.enter_context(sandbox(state, *options))
            return started[options]

        yield start


@pytest.fixture(scope="session")
def running(running_with: Callable[..., dict]) -> dict:
    """A sandbox whose videos are ready at once."""
    return running_with(*USUAL)


@pytest.fixture(scope="session")
def slow(running_with: Callable[..., dict]) -> dict:
    """A sandbox whose renders stay under way, and whose credits are few."""
    return running_with("--time-scale", "0.001", "--credits", "20")


@pytest.fixture
async def service(running: dict) -> AsyncIterator[VideoService]:
    """A client with every scope."""
    async with client(running) as service:
        yield service


@pytest.fixture(params=DIALECTS)
def speaking(request: pytest.FixtureRequest, running_with: Callable[..., dict]) -> dict:
    """A sandbox whose videos are ready at once, in each way of answering."""
    usual = request.param == DIALECTS[0]
    return running_with(*USUAL) if usual else running_with(*USUAL, "--answers", request.param)


@pytest.fixture
async def spoken(speaking: dict) -> AsyncIterator[VideoService]:
    """A client with every scope, in each way of answering."""
    async with client(speaking) as service:
        yield service
