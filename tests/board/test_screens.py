"""What the board's pages show of a campaign, and what their buttons do, without scripts."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator
from decimal import Decimal
from html import unescape
from typing import Any

import httpx
import pytest

from callsheet.tasks.aftercare.waiting import WAITING, plan_waiting
from callsheet.tasks.campaign.approve import approve
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.plans import begin_plan, find_plan, finish_plan, void_plan
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.runs import RunRow, begin_run
from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.values.briefs import Brief
from tests.board.conftest import OpenBoard
from tests.board.with_videos import with_videos
from tests.campaigns import NOW, Stage, brief

EVIL = '<script>alert(1)</script> & "x"'


async def in_every_state(board: OpenBoard) -> Stage:
    """Return campaign spring with a row in each state, named after it."""
    stage = await Stage.set(board.ledger, *map(_evil, STATES), budget=500)
    for state in STATES:
        await stage.in_state(state, row=state)
    return stage


def _evil(state: State) -> Brief:
    return Brief(row=state, request={"title": f"{state} {EVIL}", "topic": "t"}, tags=("tea",))


def names_in(page: httpx.Response) -> list[str]:
    return re.findall(r'name="row" value="([^"]+)" form="acts"', page.text)


PAGES = (
    "/", "/new", "/c/spring", "/c/spring?state=failed", "/c/spring?sort=since",
    "/c/spring?q=nothing-is-like-this", "/c/spring/attention", "/c/spring/report",
    *(f"/c/spring/rows/{state}" for state in STATES),
)  # fmt: skip


@pytest.mark.merge
async def test_no_page_takes_a_title_for_markup(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    browser = await open_board.form("admin")

    for path in PAGES:
        page = await browser.get(path)
        assert page.status_code == 200, path
        assert "<script>alert" not in page.text, path
        assert not re.search(r' (style|on[a-z]+)="', page.text), path


async def test_a_board_with_nothing_in_it_says_how_to_begin(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")
    for path, words in (("/", "No campaign yet"), ("/activity", "Activity"), ("/health", "Health")):
        assert words in (await browser.get(path)).text


SHOWN = {
    "": [*STATES],
    "?state=failed,held": ["held", "failed"],
    "?tag=tea&q=deliv": ["delivered"],
    "?tag=other": [],
    "?select=state:fail*|held": ["failed", "held"],
    "?tag=tea&select=!state:planned,deliv*": ["delivered"],
}


async def test_the_address_chooses_rows(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    browser = await open_board.form("admin")

    for query, rows in SHOWN.items():
        page = await browser.get(f"/c/spring{query}")
        assert sorted(names_in(page)) == sorted(rows), query


async def test_what_a_page_shows_can_be_typed_and_the_reverse(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    browser = await open_board.form("admin")

    everything = await browser.get("/c/spring")
    some = await browser.get("/c/spring?state=failed,held&q=a, b")
    (typed,) = re.findall(r"<code>--select (.*?)</code>", some.text)
    (select,) = shlex.split(unescape(typed))
    same = await browser.get("/c/spring", params={"select": "failed,held,tag:t*"})
    wrong = [await browser.get(f"/c/spring?select={one}") for one in ("colour:red", "state:done")]

    assert "--select" not in everything.text
    assert select == 'state:held|failed,q:"a, b"'
    assert 'name="select" value="failed|held,tag:t*"' in same.text
    assert "select=failed%7Cheld%2Ctag%3At%2A" in same.text
    assert [page.status_code for page in wrong] == [422, 422]
    assert "--select does not know &#34;colour&#34;" in wrong[0].text


async def test_counts_are_links_and_the_progress_is_said_in_words(open_board: OpenBoard) -> None:
    await in_every_state(open_board)

    page = await (await open_board.form("viewer")).get("/c/spring")

    (said,) = re.findall(r'role="status" aria-label="Progress"[^>]*>(.*?)</p>', page.text, re.S)
    words = " ".join(re.sub("<[^>]+>", "", said).split())
    assert words.startswith("1 of 13 delivered, 3 under way, 3 waiting, 1 failed, 1 rejected")
    assert 'href="/c/spring?state=failed"' in page.text
    assert "Retake</button>" not in page.text


@pytest.mark.parametrize(("seconds", "words"), [(725, "about 12 minutes left. "), (-5, "way. ")])
async def test_the_progress_says_how_long_the_run_takes_as_it_said_itself(
    open_board: OpenBoard, seconds: float, words: str
) -> None:
    stage = await Stage.set(open_board.ledger, brief())
    await stage.rendering()
    now = open_board.board.clock()
    run = RunRow(id="r", kind="run", door="terminal", started_by="ann", asked_at=now,
                 campaign="spring", expected_at=now + seconds)  # fmt: skip
    begin = {"run": run, "owner": "elsewhere", "seconds": 60.0, "is_dead": lambda _: False}
    await open_board.ledger.write(begin_run, **begin)

    page = await (await open_board.form("viewer")).get("/c/spring")

    said = re.search(r'id="progress".*?</p>', page.text, re.DOTALL)
    assert words in said[0]


def priced_at(credits: int) -> dict[str, Any]:
    """What a plan of two rows says, one of which is paid for."""
    one = {"why": None, "tool": None, "duration_seconds": 8, "aspect_ratio": "9:16",
           "language": "en", "charged": 0}  # fmt: skip
    return {
        "campaign": "spring",
        "credits": {"total": credits, "unpriced": 0, "committed": 12, "budget": 20,
                    "left": 8, "balance": None},
        "rows": [
            {"row": "a", "action": "make", "title": EVIL, "quoted": credits, **one},
            {"row": "b", "action": "none", "title": "B", "quoted": 12, **one, "charged": 1140,
             "state": "delivered"},
            {"row": "c", "action": "fetch", "title": "C", "quoted": 12, **one, "charged": 12},
        ],
        "retiring": ["gone"],
        "changes": [{"what": "retire", "words": "1 row left the sheet", "by_settings": False}],
        "refusal": None,
    }  # fmt: skip


async def a_plan(
    board: OpenBoard,
    name: str,
    credits: int,
    *,
    until: float = 1e10,
    replaces: str | None = None,
    **more: Any,
) -> None:
    """Put a plan in the ledger that is ready, perhaps in the place of another one."""
    kind = {"kind": "run", "terms": {}, **more}

    def change(one: Any) -> None:
        begin_plan(one, name, campaign="spring", by="Ann", at=1.0, **kind)
        told = {"document": priced_at(credits), "total": Decimal(credits), "expires_at": until}
        finish_plan(one, name, campaign="spring", **told)
        if replaces:
            void_plan(one, replaces, old="ready", words="a: 5 then", replaced_by=name)

    await board.ledger.write(change)


@pytest.mark.parametrize(
    ("role", "name", "words", "absent"),
    [
        ("approver", "ready", ["Approve 1 row for 5 credits", "3 <small>of 20", "1 row left"], []),
        ("approver", "dear", ["Approve 1 row for 9 credits", "1 credit too many"], []),
        ("viewer", "ready", ["An approver must approve"], ["<button class=\"button primary"]),
        ("viewer", "ready", ["2 <small>rows", "1,152 credits charged for them before; 0 "
             "credits now"], ["paid for before: 0"]),
        ("approver", "late", ["This plan has expired", "Plan again"], [">Approve"]),
        ("approver", "new", ["The sheet or the prices changed",
                             "It was 5 credits, it is 6 credits now", "Price before",
                             "Approve 1 row for 6 credits"], []),
    ],
)  # fmt: skip
async def test_a_plan_says_what_it_costs_and_whether_it_may_be_approved(
    open_board: OpenBoard, role: str, name: str, words: list[str], absent: list[str]
) -> None:
    await a_plan(open_board, "ready", 5)
    await a_plan(open_board, "dear", 9)
    await a_plan(open_board, "late", 5, until=2.0)
    await a_plan(open_board, "old", 5)
    await a_plan(open_board, "new", 6, replaces="old")

    page = await (await open_board.form(role)).get(f"/plans/{name}")

    told = " ".join(page.text.split())
    assert [one for one in words if one not in told] == []
    assert [one for one in absent if one in told] == []
    assert EVIL not in page.text


async def a_long_plan(board: OpenBoard, rows: int, *, each: int = 1) -> None:
    """Put a plan of many rows, two of them not paid for, in the ledger; `each` are of one row."""
    document = priced_at(5)
    first, done, _ = document["rows"]
    more = {"brand": "Acme", "quoted": 1}
    made = [first | more | {"row": f"r{n}"} for n in range(rows)]
    if each > 1:
        made = [one | {"variant_of": f"base{n // each}"} for n, one in enumerate(made)]
    above = first | {"row": "dear", "action": "person", "max_credits": 2, "state": "held"}
    document["rows"] = [*made, done, above]

    def change(one: Any) -> None:
        begin_plan(one, "long", kind="run", campaign="spring", terms={}, by="Ann", at=1.0)
        told = {"document": document, "total": Decimal(rows), "expires_at": 1e10}
        finish_plan(one, "long", campaign="spring", **told)

    await board.ledger.write(change)


def hidden(page: httpx.Response, name: str) -> str:
    return re.findall(rf'name="{name}" value="([^"]*)"', page.text)[0]


async def test_checked_rows_stay_checked_on_every_page_of_a_plan(open_board: OpenBoard) -> None:
    await a_long_plan(open_board, 450)
    browser = await open_board.form("reviewer")
    path = "/plans/long/rows"

    page = await browser.get("/plans/long")
    assert '<th scope="col">Brand</th>' in page.text
    sent = {"shown": hidden(page, "shown"), "chosen": hidden(page, "chosen")}
    assert len(sent["shown"].split(",")) == 200
    page = await browser.post(path, data={**sent, "row": ["r3", "r4"], "go": ":200"})
    assert "2 rows checked on other pages" in page.text
    assert "201 to 400 of 452" in page.text
    sent = {"shown": hidden(page, "shown"), "chosen": hidden(page, "chosen")}
    page = await browser.post(path, data={**sent, "row": ["r200"], "go": ":0"})
    assert re.findall(r'value="(r\d+)"[^>]* checked', page.text) == ["r3", "r4"]
    sent = {"shown": hidden(page, "shown"), "chosen": hidden(page, "chosen")}
    page = await browser.post(path, data={**sent, "row": ["r4"], "go": "person:0"})
    assert hidden(page, "chosen") == "r200,r4"
    assert "5, max_credits is 2" in page.text
    for odd in ("make:-1", "make:9999999999", "x", ""):
        assert (await browser.post(path, data={"go": odd})).status_code == 200


async def test_a_page_of_a_plan_has_all_videos_of_its_rows(open_board: OpenBoard) -> None:
    await a_long_plan(open_board, 414, each=6)
    browser = await open_board.form("viewer")
    for place, words in ((0, "1 to 204 of 416"), (200, "1 to 204 of 416"), (204, "205 to 408"),
                         (9999, "409 to 416")):  # fmt: skip
        page = (await browser.get(f"/plans/long?go=:{place}")).text
        assert words in page, place
        assert "6 videos" in page
        assert "2 videos" not in page


async def test_an_old_link_leads_to_the_plan_to_approve_now(open_board: OpenBoard) -> None:
    await a_plan(open_board, "oldest", 5)
    await a_plan(open_board, "old", 6, replaces="oldest")
    await a_plan(open_board, "new", 7, replaces="old")
    browser = await open_board.form("approver")

    opened = [await browser.get(f"/plans/{name}") for name in ("oldest", "old")]
    pressed = await browser.post("/plans/oldest/approve", data={})
    inside = await browser.get("/plans/oldest", headers={"HX-Request": "true"})

    assert [one.url.path for one in (*opened, pressed)] == ["/plans/new"] * 3
    assert ("is no longer valid" in inside.text, "/plans/new" in inside.text) == (True, True)
    assert "Approve 1 row for 7 credits" in (await browser.get("/plans/new")).text


RETAKES = [
    ({}, ["failed"]),
    ({"row": ["delivered", "failed"]}, ["delivered", "failed"]),
    ({"state": "failed,cancelled"}, ["failed", "cancelled"]),
    ({"state": "failed,rendering"}, ["failed"]),
]


async def test_retake_is_about_what_is_ticked_else_shown_else_failed(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    browser = await open_board.form("admin")

    for pressed, rows in RETAKES:
        answer = await browser.post("/c/spring/retakes", data={**pressed, "because": "too dark"})
        plan = await open_board.ledger.read(find_plan, plan_id=answer.url.path.split("/")[-1])
        assert sorted(plan.terms["rows"]) == sorted(rows), pressed
        assert "too dark" in answer.text


async def test_a_reviewer_asks_for_retakes_and_a_viewer_only_looks(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    pages = ("", "/rows/failed", "/attention")
    offered = {
        role: [
            '/c/spring/retakes"' in (await browser.get(f"/c/spring{page}")).text for page in pages
        ]
        for role in ("viewer", "reviewer")
        if (browser := await open_board.form(role))
    }
    assert offered == {"viewer": [False] * 3, "reviewer": [True] * 3}
    asked = await browser.post("/c/spring/retakes", data={"row": "failed"})
    assert asked.url.path.startswith("/plans/")


async def test_what_needs_a_person_is_told_by_what_is_the_matter(open_board: OpenBoard) -> None:
    await in_every_state(open_board)

    page = await (await open_board.form("admin")).get("/c/spring/attention")

    for words in (
        "Nobody knows whether 1 row was paid for", "1 render failed", "1 row on hold",
        "1 row without progress for too long", "1 row refused by the service", "Retake 1 row",
    ):  # fmt: skip
        assert words in page.text


async def test_the_report_adds_up_and_is_taken_home(open_board: OpenBoard) -> None:
    stage = await with_videos(open_board.ledger, 4)
    for row, verdict in (("row-1", "keep"), ("row-2", "reject")):
        take = (await stage.row(row)).take
        await stage.write(review, take.id, verdict, by="Rita", at=2.0)
    browser = await open_board.form("viewer")

    page = await browser.get("/c/spring/report")
    file = await browser.get("/c/spring/report/rows.csv")
    none = await browser.get("/c/spring/report/secrets.csv")

    assert '<td class="num" data-label="Keep rate">50 %</td>' in page.text
    assert file.headers["content-disposition"] == 'attachment; filename="spring-rows.csv"'
    assert len(file.text.splitlines()) == 5
    assert none.status_code == 404


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "return store_approved(connection, new, at=at, kind=kind, plan_id=plan.id)",
    "return new",
)
async def test_what_was_approved_without_the_board_is_a_plan_there(open_board: OpenBoard) -> None:
    stage = await Stage.set(open_board.ledger, brief("a"), brief("b"), brief("c"))
    for row in "ab":
        await stage.quote(row)
    plan = await stage.ledger.read(plan_waiting, ask=RunOptions(campaign="spring"))
    await stage.write(approve, plan, WAITING, by="approved at the terminal", at=NOW)
    browser = await open_board.form("viewer")

    report = await browser.get("/c/spring/report")
    link = re.search(r'href="(/plans/\w+)"', report.text)
    page = await browser.get(link[1])

    assert "approved at the terminal" in report.text
    assert "Approved at the terminal" in page.text
    assert re.findall(r'<span class="title">(\w+)</span>', page.text) == ["a", "b"]
    assert f"plan {link[1].removeprefix('/plans/')}" in str(await stage.events("a"))


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (None, "1 video is ready to review"),
        ("reject", "1 video is rejected"),
        ("keep", "Download the report"),
    ],
)
async def test_the_page_of_a_finished_campaign_says_what_comes_next(
    open_board: OpenBoard, verdict: str | None, words: str
) -> None:
    stage = await with_videos(open_board.ledger, 1)
    if verdict:
        await stage.write(review, (await stage.row("row-1")).take.id, verdict, by="Rita", at=2.0)

    assert words in (await (await open_board.form("viewer")).get("/c/spring")).text


MISTAKES = "id,script,aspect_ratio\na,Hello,9:17\nb,,9:16\n"


async def test_a_sheet_with_mistakes_is_mended_as_text_on_the_page(open_board: OpenBoard) -> None:
    browser = await open_board.form("approver")

    page = await browser.post("/new", files={"sheet": ("spring.csv", MISTAKES.encode())})

    assert page.status_code == 422
    for words in ("Line 2", "9:17", "Line 3", MISTAKES.splitlines()[1]):
        assert words in page.text
    mended = MISTAKES.replace("9:17", "9:16").replace("b,,", "b,Good morning,")
    sent = {"text": mended, "name": "spring.csv"}
    plan = await browser.post("/new", files={"sheet": ("", b"")}, data=sent)
    assert (plan.status_code, plan.url.path[:7]) == (200, "/plans/")


NO_SHEET = [
    ({"text": ""}, "no file was chosen"),
    ({"text": "id,script\na,Hello\n", "budget": "much"}, "is no amount of credits"),
    ({"url": "http://127.0.0.1:9/sheet.csv"}, "127.0.0.1"),
    ({"url": "file:///etc/passwd"}, "is not an https:// address"),
]


async def test_what_cannot_be_taken_for_a_sheet_is_said_on_the_page(open_board: OpenBoard) -> None:
    browser = await open_board.form("approver")
    for sent, words in NO_SHEET:
        page = await browser.post("/new", files={"sheet": ("", b"")}, data=sent)
        assert page.status_code == 422, sent
        assert words in page.text.lower()
        assert "<h1>New campaign</h1>" in page.text


async def messages(answer: httpx.Response) -> AsyncIterator[tuple[str, str]]:
    """Yield the id and the text of each server-sent event of a page."""
    number, text = "", []
    async for line in answer.aiter_lines():
        if line.startswith("id: "):
            number = line[4:]
        elif line.startswith("data: "):
            text.append(line[6:])
        elif not line and text:
            yield number, "\n".join(text)
            text = []


async def until(stream: AsyncIterator[tuple[str, str]], *words: str) -> tuple[str, str, str]:
    """Return the id and the text of the message that has these words, and all up to it."""
    found = ""
    async with asyncio.timeout(20):
        async for number, text in stream:
            found += text
            if all(one in text for one in words):
                return number, text, found
    raise AssertionError("the stream has ended")


async def test_the_stream_sends_the_page_once_and_then_what_changed(open_board: OpenBoard) -> None:
    stage = await Stage.set(open_board.ledger, *map(brief, "abc"))
    browser = await open_board.form("viewer")
    page = await browser.get("/c/spring")
    (address,) = re.findall(r'hx-sse:connect="([^"]+)"', page.text)
    a, b = [(await stage.row(name)).id for name in "ab"]
    only = re.sub(r"rows=[^&]+", f"rows={a}", address.replace("&amp;", "&"))
    target = 'hx-target="#{}"'.format

    async with browser.stream("GET", only) as answer:
        stream = messages(answer)
        _, _, whole = await until(stream, target("progress"))
        await stage.quote("b")
        _, _, first = await until(stream, target("chips"))
        await stage.quote("a")
        number, _, second = await until(stream, target(f"row-{a}"), "quoted")
        await stage.delivered("a")
        # All figures come in one message: the sentence, the title, the tiles and the filters.
        figures = ("1 of 3 delivered", 'data-title="1 of 3', ">1 <small>of 3 rows<")
        await until(stream, *map(target, ("progress", "stats", "chips")), *figures)
    async with browser.stream("GET", only, headers={"Last-Event-ID": number}) as answer:
        _, _, again = await until(messages(answer), target(f"row-{a}"))

    assert target(f"row-{a}") in whole
    assert f"row-{a}" not in first
    assert f"row-{b}" not in whole + first + second + again
    assert target("progress") in again
    assert "Show 2 more rows" in again


async def test_a_row_shows_its_script_as_text(open_board: OpenBoard) -> None:
    script = [{"narration": "Pour the tea.", "seconds": 4}, {"narration": "Drink it."}]
    asked = {"title": "Tea", "script": script, "captions": ["srt", "vtt"], "duration_seconds": 7}
    await Stage.set(open_board.ledger, Brief(row="a", request=asked))

    page = await (await open_board.form("viewer")).get("/c/spring/rows/a")

    facts = page.text.partition('aria-label="The row"')[2].partition("</dl>")[0]
    assert facts.count('<div class="scene">') == 2
    for words in ("<dt>Duration</dt><dd>7 s</dd>", "Pour the tea.", "srt, vtt"):
        assert words in facts
    assert not any(sign in facts for sign in ("[{", "&#39;", "{&"))


async def test_costs_are_a_page_and_the_first_page_has_the_total(open_board: OpenBoard) -> None:
    stage = await Stage.set(open_board.ledger, brief("a", tags=("tea",)), brief("b"))
    await stage.delivered("a")
    await stage.failed("b")
    browser = await open_board.form("viewer")

    first = await browser.get("/")
    whole = await browser.get("/costs.csv?by=campaign&until=1970-01")
    by_tag = await browser.get("/costs?by=tag&since=1970-01&until=1970-01")
    later = await browser.get("/costs?since=1970-02")

    assert 'href="/costs"' in first.text
    assert "Charged this month" in first.text
    assert re.search(r'Needs attention</div><div class="value">1 <small>row<', first.text)
    assert "24 credits for 1 video, over all campaigns" in by_tag.text
    assert "a row with several tags counts under each of them" in by_tag.text
    assert "since=1970-01&amp;until=1970-01&amp;by=brand" in by_tag.text
    assert "No costs in this time" in later.text
    assert 'href="/costs.csv?since=1970-01&amp;until=1970-01&amp;by=tag"' in by_tag.text
    assert whole.headers["content-disposition"] == 'attachment; filename="costs.csv"'
    lines = ["\ufeffcampaign,videos,takes,retakes,reserved,charged", "spring,1,2,0,0,24", ""]
    assert whole.text == "\r\n".join(lines)


async def test_who_may_not_plan_checks_no_rows(open_board: OpenBoard) -> None:
    await a_long_plan(open_board, 250)
    browser = await open_board.form("viewer")
    page = await browser.get("/plans/long")
    assert 'type="checkbox" name="row"' not in page.text
    assert "201 to 252" in (await browser.get("/plans/long?go=:200")).text
