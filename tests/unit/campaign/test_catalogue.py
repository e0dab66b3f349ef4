"""What the service offers: asked for when it is due, kept, and never in anybody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.campaign.catalog import DAY, ask_again, compared, compared_offline
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import catalogue_of, keep_catalogue
from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import VideoService
from callsheet.tasks.sheet import Sheet, parse_sheet
from callsheet.tasks.values.catalog import Catalogue
from tests.campaigns import Stage
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
    """A service whose lists a test decides on: each a list, or the status of a refusal."""

    lists: dict[str, Any] = field(default_factory=lambda: {"tools": [LAUNCH]})
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        self.asked.append(name)
        told = self.lists.get(name, 404)
        if told == "hang":
            await asyncio.sleep(60)
        if isinstance(told, int):
            error = {"message": "no", "code": "c", "retryable": False}
            return httpx.Response(told, json={"data": None, "error": error, "meta": {}})
        return httpx.Response(200, json={"data": {name: told}, "error": None, "meta": {}})


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[VideoService]:
    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    transport = httpx.MockTransport(service.answer)
    async with VideoService(
        base_url=BASE, api_key="mav_x", connections=lent(transport), sleep=at_once
    ) as client:
        yield client


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    def make(**more: str) -> Settings:
        environ = {"CALLSHEET_BASE_URL": BASE, "CALLSHEET_API_KEY": "mav_x", **more}
        return load_settings(environ=environ, folder=tmp_path)

    return make


@pytest.fixture
def compare(
    ledger: Ledger, client: VideoService, settings: Callable[..., Settings]
) -> Callable[..., Any]:
    """Compare a sheet with what the service offers at a moment."""

    async def compare(text: str, *, at: float = NOW, keep: bool = True, **more: str) -> Sheet:
        sheet = parse_sheet(text.encode(), name="s.csv")
        rows = {brief.row for brief in sheet.briefs if brief.enabled}
        ours = ledger if keep else None
        return await compared(
            sheet, rows, settings(**more), ledger=ours, service=client, clock=lambda: at
        )

    return compare


def told(at: float = NOW, *, base_url: str = BASE, **body: Any) -> Catalogue:
    return Catalogue(base_url=base_url, told_at=at, body=body)


async def known(ledger: Ledger, base_url: str | None = BASE) -> Catalogue | None:
    return await ledger.read(catalogue_of, base_url=base_url)


async def test_it_is_kept_by_address_and_the_newest_wins(ledger: Ledger):
    def keep(*one: Any, **more: Any) -> Any:
        return ledger.write(keep_catalogue, told=told(*one, **more))

    changes = [await keep(1.0, tools=[QUIZ]), await keep(2.0, tools=[QUIZ]), await keep(3.0)]
    await keep(4.0, base_url="http://other.test", tools=[LAUNCH])
    older = await keep(2.5, tools=[LAUNCH])

    assert (changes, older) == ([True, False, True], False)
    assert await known(ledger) == told(3.0)
    assert await known(ledger, None) == told(4.0, base_url="http://other.test", tools=[LAUNCH])
    assert await known(ledger, "http://none.test") is None
    await keep(4.0 + 31 * DAY)
    assert await known(ledger, "http://other.test") is None


@pytest.mark.parametrize("keep", [True, False])
async def test_it_is_asked_for_where_nothing_is_known(compare, service, ledger, keep):
    sheet = await compare(GOOD, keep=keep)

    assert sorted(service.asked) == ["characters", "templates", "tools"]
    assert (sheet.advice, sheet.notes) == ((), ())
    assert await known(ledger) == (told(tools=[LAUNCH]) if keep else None)


async def test_a_day_old_one_is_asked_for_again_and_a_younger_one_is_not(compare, service):
    for at in (NOW, NOW + DAY, NOW + DAY + 1, NOW + DAY + 2):
        await compare(GOOD, at=at)

    assert service.asked.count("tools") == 2


async def test_before_something_is_said_to_be_unknown_it_is_asked_for_once(compare, service):
    await compare(GOOD)
    service.lists["tools"] = [LAUNCH, QUIZ]
    await compare(NEW, at=NOW + 1)
    asked = service.asked.count("tools")
    with pytest.raises(SheetError) as caught:
        await compare(WRONG, at=NOW + 2)

    assert (asked, service.asked.count("tools")) == (2, 3)
    assert [str(problem) for problem in caught.value.problems] == [
        's.csv:2 row "a", column fields.prodct is not a field of launch; '
        "did you mean fields.product?"
    ]


async def test_a_sheet_that_names_none_of_it_asks_for_nothing(compare, service):
    await compare("id,script\na,Tea hums.\n")
    await compare("id,tool,enabled\na,none,no\nb,none,no\n")

    assert service.asked == []


async def test_people_may_choose_to_be_advised(compare):
    sheet = await compare(WRONG, CALLSHEET_UNLISTED="advise")

    assert ["prodct" in str(one) for one in sheet.advice] == [True]


@pytest.mark.parametrize(
    ("answer", "words"),
    [(404, "404"), (403, "403"), (503, "503"), ([{"nameless": 1}], "cannot be read")],
)
async def test_a_service_that_does_not_tell_it_is_in_nobodys_way(compare, service, answer, words):
    service.lists["tools"] = answer
    unknown = await compare(WRONG)
    service.lists["tools"] = [LAUNCH]
    await compare(GOOD, at=NOW + 2 * DAY)
    service.lists["tools"] = answer
    kept = [await compare(text, at=NOW + 4 * DAY) for text in (GOOD, GOOD)]
    [none], *olds = ([str(note) for note in sheet.notes] for sheet in (unknown, *kept))

    assert none.startswith("s.csv names tools that could not be compared with the service's: ")
    assert words in none
    assert unknown.advice == ()
    for [old] in olds:
        assert "tools of November 20, 2026; the service did not answer now: " in old
        assert words in old


async def test_a_service_that_does_not_answer_is_not_waited_for(client, service, settings):
    service.lists["tools"] = "hang"
    asking = ask_again(client, settings(), None, None, clock=lambda: NOW, longest=0.1)
    found, error = await asking

    assert found is None
    assert "within 0.1 s" in str(error)


async def test_a_part_that_is_not_told_stays_as_it_was(compare, service, ledger):
    service.lists["characters"] = [{"id": 1}]
    await compare(GOOD)
    del service.lists["characters"]
    await compare(GOOD, at=NOW + 2 * DAY)

    assert await known(ledger) == told(NOW + 2 * DAY, tools=[LAUNCH], characters=[{"id": 1}])


async def test_no_signed_address_is_kept(compare, service, ledger):
    service.lists["characters"] = [{"id": 1, "picture": "https://c.test/1.png?sig=s3cret"}]
    await compare(GOOD)
    kept = await known(ledger)

    assert kept.body["characters"] == [{"id": 1, "picture": "https://c.test/1.png?***"}]


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
    assert ["`callsheet tools`" in str(note) for note in (*before.notes, *other.notes)] == [
        True
    ] * 2


async def test_offline_only_what_a_run_would_pay_for_counts(ledger, made_address, settings):
    at_hand = settings(CALLSHEET_LEDGER=made_address)
    await ledger.write(keep_catalogue, told=told(tools=[LAUNCH]))
    text = "id,tool,enabled\na,gone,yes\nb,gone,no\n"
    [made, _] = parse_sheet(text.encode(), name="s.csv").briefs
    stage = await Stage.set(ledger, made, name="s")
    with pytest.raises(SheetError, match="1 problem"):
        await offline(text, at_hand)
    await stage.delivered("a")
    sheet = await offline(text, at_hand)

    assert sheet.advice == ()


async def test_offline_without_a_ledger_nothing_is_known_and_none_is_made(settings, tmp_path):
    broken = tmp_path / "broken.db"
    broken.write_text("not a ledger")
    none, damaged = settings(), settings(CALLSHEET_LEDGER=f"sqlite:///{broken}")
    said = [[str(note) for note in (await offline(WRONG, at)).notes] for at in (none, damaged)]

    assert [len(notes) for notes in said] == [1, 1]
    assert "is not here yet" in said[0][0]
    assert "is damaged or is not a ledger" in said[1][0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.db"]
