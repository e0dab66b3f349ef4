"""What the service offers: asked for when it is due, kept, and never in anybody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.campaign.catalog import DAY, compared, compared_offline
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import catalogue_of, keep_catalogue
from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import VideoService
from callsheet.tasks.sheet import Sheet, parse_sheet
from callsheet.tasks.values.catalog import Catalogue
from tests.lent import lent

BASE = "https://s.test/api/v1"
LAUNCH = {"id": "launch", "fields": [{"name": "product"}]}
QUIZ = {"id": "quiz", "fields": [{"name": "subject"}]}
NOW = 1_795_000_000.0
GOOD = "id,tool,fields.product\na,launch,Tea\n"
NEW = "id,tool,fields.subject\na,quiz,Tea\n"
WRONG = "id,tool,fields.prodct\na,launch,Tea\n"


@dataclass
class Service:
    """A service whose lists a test decides on."""

    lists: dict[str, Any] = field(default_factory=lambda: {"tools": [LAUNCH]})
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        self.asked.append(name)
        if name not in self.lists:
            error = {"message": "no", "code": "c", "retryable": False}
            return httpx.Response(404, json={"data": None, "error": error, "meta": {}})
        data = {name: self.lists[name]}
        return httpx.Response(200, json={"data": data, "error": None, "meta": {}})


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[VideoService]:
    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    connections = lent(httpx.MockTransport(service.answer))
    named: Any = {"base_url": BASE, "api_key": "mav_x", "sleep": at_once}
    async with VideoService(**named, connections=connections) as client:
        yield client


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    def make(**more: str) -> Settings:
        environ = {"CALLSHEET_BASE_URL": BASE, "CALLSHEET_API_KEY": "mav_x", **more}
        return load_settings(environ=environ, folder=tmp_path)

    return make


@pytest.fixture
def compare(ledger: Ledger, client: VideoService, settings: Callable[..., Settings]):
    """Compare a sheet with what the service offers at a moment."""

    async def compare(text: str, *, at: float = NOW, keep: bool = True, **more: str) -> Sheet:
        sheet = parse_sheet(text.encode(), name="s.csv")
        rows = {brief.row for brief in sheet.briefs if brief.enabled}
        given = {"ledger": ledger if keep else None, "service": client, "clock": lambda: at}
        return await compared(sheet, rows, settings(**more), **given)

    return compare


def told(at: float = NOW, **body: Any) -> Catalogue:
    return Catalogue(base_url=BASE, told_at=at, body=body)


async def known(ledger: Ledger) -> Catalogue | None:
    return await ledger.read(catalogue_of, base_url=BASE)


@pytest.mark.parametrize("keep", [True, False])
async def test_it_is_asked_for_where_nothing_is_known(compare, service, ledger, keep):
    await compare("id,script\na,Tea hums.\n")
    await compare("id,tool,enabled\na,none,no\nb,none,no\n")
    assert service.asked == [], "nobody names any of it"
    sheet = await compare(GOOD, keep=keep)

    assert sorted(service.asked) == ["characters", "templates", "tools"]
    assert (sheet.advice, sheet.notes) == ((), ())
    assert await known(ledger) == (told(tools=[LAUNCH]) if keep else None)


async def test_a_day_old_one_is_asked_for_again_and_a_younger_one_is_not(compare, service, ledger):
    """A part that is not told then stays as it was, and no signed address is kept."""
    service.lists["characters"] = [{"id": 1, "picture": "https://c.test/1.png?sig=s3cret"}]
    for at in (NOW, NOW + DAY, NOW + DAY + 1, NOW + DAY + 2):
        await compare(GOOD, at=at)
        service.lists.pop("characters", None)

    assert service.asked.count("tools") == 2
    characters = [{"id": 1, "picture": "https://c.test/1.png?***"}]
    assert await known(ledger) == told(NOW + DAY + 1, tools=[LAUNCH], characters=characters)


async def test_before_something_is_said_to_be_unknown_it_is_asked_for_once(compare, service):
    await compare(GOOD)
    service.lists["tools"] = [LAUNCH, QUIZ]
    await compare(NEW, at=NOW + 1)
    asked = service.asked.count("tools")
    with pytest.raises(SheetError) as caught:
        await compare(WRONG, at=NOW + 2)

    assert (asked, service.asked.count("tools")) == (2, 3)
    (problem,) = caught.value.problems
    assert "column fields.prodct is not a field of launch" in str(problem)
    advised = await compare(WRONG, CALLSHEET_UNLISTED="advise")
    assert ["prodct" in str(one) for one in advised.advice] == [True]


async def offline(text: str, settings: Settings) -> Sheet:
    return await compared_offline(parse_sheet(text.encode(), name="s.csv"), settings)


async def test_offline_the_last_word_of_the_service_counts(ledger, made_address, settings):
    at_hand = settings(CALLSHEET_LEDGER=made_address)
    before = await offline(WRONG, at_hand)
    await ledger.write(keep_catalogue, told=told(tools=[LAUNCH]))
    with pytest.raises(SheetError, match="1 problem") as caught:
        await offline(WRONG, at_hand)
    good = await offline(GOOD, at_hand)
    elsewhere = settings(CALLSHEET_LEDGER=made_address, CALLSHEET_BASE_URL="https://o.test/api/v1")
    other = await offline(WRONG, elsewhere)

    words = "s.csv is compared with the service's list of tools of November 18, 2026"
    assert [str(note) for note in good.notes] == [words]
    assert [str(note) for note in caught.value.notes] == [words]
    for (note,) in (before.notes, other.notes):
        assert "`callsheet tools`" in str(note)
