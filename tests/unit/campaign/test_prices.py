"""Prices are asked for once a brief, by a fixed number of workers, and kept as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

import pytest

from callsheet.tasks.campaign.quotes import KEPT, TROUBLED, ask_prices
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.runtime.errors import (
    BadRequest,
    ConfigurationError,
    Parked,
    ServerTrouble,
    Unauthenticated,
)
from callsheet.tasks.service import Quote
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import brief
from tests.unit.engine.test_poll import told


class Estimates:
    """Answers with 12 credits, or for a topic with what it is told; knows who asks at once."""

    def __init__(self, topics: Mapping[str, Exception] | None = None) -> None:
        self.asked: list[str] = []
        self.most = 0
        self._topics = topics or {}
        self._under_way = 0

    async def estimate(self, request: Mapping[str, Any]) -> Quote:
        topic = str(request["topic"])
        self.asked.append(topic)
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        if topic in self._topics:
            raise self._topics[topic]
        return Quote(amount=Decimal(12), seconds=None, raw={})

    async def templates(self) -> list[Any]:
        return []

    async def list_videos(self) -> Any:
        return
        yield


async def prices_of(service: Estimates, rows: Sequence[Brief], **options: Any) -> dict[str, Price]:
    return await ask_prices(cast(Any, service), rows, at_once=4, clock=lambda: 0.0, **options)


def briefs(*topics: str) -> list[Brief]:
    return [brief(f"r{n}", topic) for n, topic in enumerate(topics)]


async def test_rows_of_one_brief_are_asked_for_once():
    service = Estimates()
    found = await prices_of(service, briefs("Tea", "Coffee", "Tea", "Tea"))
    assert sorted(service.asked) == ["Coffee", "Tea"]
    assert {row: price.amount for row, price in found.items()} == {f"r{n}": 12 for n in range(4)}


async def test_a_clip_costs_what_its_row_allows_and_is_not_asked_for():
    service = Estimates()
    clips = [
        brief(row, operation="image-to-video", max_credits=Decimal(limit))
        for row, limit in (("a", 5), ("b", 7))
    ]
    found = await prices_of(service, clips)
    assert (service.asked, found["a"].amount, found["b"].amount) == ([], 5, 7)


async def test_a_refusal_names_the_line_of_every_row():
    refused = BadRequest("estimate was refused (400): topic", operation="estimate", status=400)
    rows = [brief("a", line=2), brief("b", line=3)]
    found = await prices_of(Estimates({"Tea": refused}), rows)
    assert ["line 2" in str(found["a"].refusal), "line 3" in str(found["b"].refusal)] == [True] * 2


async def test_what_is_heard_is_kept_in_groups_and_told():
    groups: list[list[str]] = []
    heard: list[tuple[int, int]] = []

    async def keep(found: Sequence[tuple[Brief, Price]]) -> None:
        groups.append([row.row for row, _ in found])
        await asyncio.sleep(0.001)

    rows = briefs(*map(str, range(3 * KEPT)))
    service = Estimates()
    await prices_of(service, rows, keep=keep, tell=lambda *of: heard.append(of))
    assert (len(service.asked), service.most) == (len(rows), 4), "at once, and no more"
    assert sorted(row for group in groups for row in group) == sorted(row.row for row in rows)
    assert max(map(len, groups)) <= KEPT
    assert len(groups) < len(rows) / 4
    assert heard[-1] == (len(rows), len(rows))


@pytest.mark.parametrize(
    ("error", "raised"),
    [(told(Unauthenticated, 401), ConfigurationError), (told(ServerTrouble, 500), Parked)],
)
async def test_a_service_that_cannot_be_asked_ends_it_and_what_was_heard_is_kept(error, raised):
    kept: list[str] = []
    bad = [f"bad {n}" for n in range(TROUBLED + 1)]

    async def keep(found: Sequence[tuple[Brief, Price]]) -> None:
        kept.extend(row.row for row, _ in found)

    service = Estimates(dict.fromkeys(bad, error))
    with pytest.raises(raised):
        await prices_of(service, briefs(*bad), keep=keep)
    assert kept == []
    service = Estimates({"bad": told(Unauthenticated, 401)})
    with pytest.raises(ConfigurationError):
        await prices_of(service, briefs("Tea", "Coffee", "bad", *map(str, range(50))), keep=keep)
    assert kept[:2] == ["r0", "r1"]
    assert len(service.asked) < 50
