"""What a run hears: hints of any process, and whether they can be relied on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from callsheet.tasks.ledger.webhook_events import Hint, keep_hint
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.service import operations as ops
from callsheet.tasks.webhooks.listener import CheckIntervals, following_hints
from tests.contract.subscribing import PING_TIMEOUT, SHORT, Place, place
from tests.web import free_port

HINT = Hint(digest="a" * 64, nonce="n", videos=frozenset({"vid_1"}))


@dataclass
class Engine:
    """Notes what it is told."""

    named: list[str] = field(default_factory=list)
    sweeps: int = 0
    relies: bool = False
    said: list[str] = field(default_factory=list)

    def notify(self, videos: Collection[str]) -> None:
        self.named += sorted(videos)

    def sweep(self) -> None:
        self.sweeps += 1

    def rely_on_hints(self, rely: bool) -> None:
        self.relies = rely

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is so."""
        for _ in range(1200):
            if true():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(self)


@pytest.fixture
async def here(tmp_path: Path, running: dict) -> AsyncIterator[Place]:
    ledger = tmp_path / "ledger.db"
    async with place(tmp_path / "here", running, ledger=ledger, port=free_port()) as opened:
        yield opened
        for webhook in await opened.webhooks():
            await opened.at.service.ask(ops.DELETE_WEBHOOK, webhook.id)


@asynccontextmanager
async def listening(here: Place, engine: Engine, ping_timeout: float) -> AsyncIterator[None]:
    intervals = CheckIntervals(healthy=0.2, unhealthy=0.2, ping_timeout=ping_timeout)
    async with following_hints(here.at, engine, say=engine.said.append, intervals=intervals):
        yield


async def _keep(here: Place, hint: Hint) -> None:
    await here.at.ledger.write(keep_hint, hint=hint, at=here.at.clock())


@pytest.mark.merge
async def test_a_receiver_that_goes_is_missed_and_one_that_comes_back_is_relied_on(here):
    engine = Engine()
    async with listening(here, engine, SHORT):
        await engine.until(lambda: len(engine.said) == 1)
        assert not engine.relies
        async with here.receiver():
            await engine.until(lambda: engine.relies)
            await engine.until(lambda: len(engine.said) == 2)
        assert engine.sweeps == 1, "what came meanwhile is not repeated"
        await engine.until(lambda: not engine.relies)
        await engine.until(lambda: len(engine.said) == 3)
        # Looked at several times since, and said once.
        await asyncio.sleep(2 * SHORT)
    assert [words.split(":")[0] for words in engine.said] == [
        "videos are found by looking for them",
        "webhooks arrive again",
        "videos are found by looking for them",
    ]


async def test_a_webhook_that_was_disabled_is_mended_and_everything_is_looked_at(here):
    engine = Engine()
    async with here.receiver():
        made = await here.ensure()
        assert made.webhook_id is not None
        await here.at.service.ask(ops.EDIT_WEBHOOK, made.webhook_id, {"is_active": False})
        async with listening(here, engine, PING_TIMEOUT):
            await engine.until(lambda: engine.relies and engine.sweeps == 1)
    assert engine.said == []


async def test_hints_are_passed_on_once_and_those_from_before_are_not(here):
    engine = Engine()
    await _keep(here, replace(HINT, digest="0" * 64, videos=frozenset({"vid_0"})))
    async with listening(here, engine, SHORT):
        await _keep(here, HINT)
        await _keep(here, HINT)
        await engine.until(lambda: bool(engine.named))
        await _keep(here, replace(HINT, digest="b" * 64, videos=frozenset({"vid_2", "vid_3"})))
        await engine.until(lambda: len(engine.named) > 1)
    assert engine.named == ["vid_1", "vid_2", "vid_3"]
    assert engine.sweeps == 0


@pytest.mark.merge
async def test_a_delivery_that_names_no_video_has_all_looked_at_now_and_then(here):
    engine = Engine()
    async with listening(here, engine, SHORT):
        for n in range(5):
            await _keep(here, replace(HINT, digest=f"{n}" * 64, videos=frozenset()))
        await _keep(here, replace(HINT, digest="c" * 64, videos=frozenset(), ping=True))
        await _keep(here, HINT)
        await engine.until(lambda: engine.named == ["vid_1"])
    assert engine.sweeps == 1


async def test_whoever_insists_on_webhooks_does_not_begin_without_them(here):
    intervals = CheckIntervals(ping_timeout=SHORT)
    with pytest.raises(ConfigurationError, match="nothing new was spent"):
        async with following_hints(here.at, Engine(), say=print, strict=True, intervals=intervals):
            raise AssertionError("it began")
    engine = Engine()
    async with here.receiver(), following_hints(here.at, engine, say=print, strict=True):
        assert engine.relies
