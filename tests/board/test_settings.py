"""The settings page: inboxes, settings for everyone, and addresses for notices."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect

from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.board_settings import board_settings, set_on_board
from callsheet.tasks.ledger.nightly_runs import EVERY_INBOX, Pause, nights_of, pause, pause_of
from callsheet.tasks.nights.inboxes import listed_inboxes
from callsheet.tasks.notices import digest
from tests.board.conftest import OpenBoard, board_at, forked_run
from tests.campaigns import Stage, brief
from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.hearing_of_nights import mailbox
from tests.programs import Sandbox, simple_sheet
from tests.unit.notices.made_nights import MADE, night, swept

TOML = """\
[inbox.spring]
place = "sheets"
cron = "0 2 * * *"
timezone = "Europe/Berlin"
approval = "auto"
per_night = 20
"""


service = sandbox_fixture("--time-scale", "600")


@pytest.fixture
async def board(
    tmp_path: Path, made_ledger: Path, service: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[OpenBoard]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nights.toml").write_text(TOML)
    for folder in ("sheets", "elsewhere"):
        (tmp_path / folder).mkdir()
    lay_ledger(tmp_path, made_ledger)
    async with board_at(tmp_path, environ=service.environ, begin=forked_run) as opened:
        yield opened


async def acts(board: OpenBoard) -> list[tuple[str, str, str | None]]:
    found = await board.ledger.read(acts_of, limit=20)
    return [(one.act, one.by, one.words) for one in found if one.act not in ("invite", "login")]


@pytest.mark.safeguard(
    "deployments/board/services/inboxes.py",
    'is not None:\n        raise BadInput(f"{inbox.name} is paused',
    'is False:\n        raise BadInput(f"{inbox.name} is paused',
)
@pytest.mark.merge
async def test_the_page_says_when_an_inbox_is_due_and_paused(board: OpenBoard) -> None:
    browser = await board.form("admin")
    page = (await browser.get("/settings")).text
    assert "At 02:00 every day" in page
    assert "20 credits a night" in page

    form = {"name": "spring", "until": "3d"}
    paused = await browser.post("/settings/inboxes/pause", data=form)
    assert ">paused</span> until" in paused.text
    form["until"] = ""
    assert "until you resume it" in (await browser.post("/settings/inboxes/pause", data=form)).text
    refused = await browser.post("/settings/inboxes/scan", data={"name": "spring"})
    assert (refused.status_code, "spring is paused" in refused.text.lower()) == (422, True)

    resumed = await browser.post("/settings/inboxes/resume", data={"name": "spring"})
    assert ">paused</span>" not in resumed.text
    assert (await acts(board))[:2] == [
        ("resume nights", "Ada", "spring"), ("pause nights", "Ada", "spring"),
    ]  # fmt: skip


async def test_a_pause_of_all_inboxes_is_ended_for_all(board: OpenBoard) -> None:
    everything = Pause(inbox=EVERY_INBOX, until=None, by="Ben", at=1.0)
    await board.ledger.write(pause, found=[everything])
    browser = await board.form("admin")
    assert "Resume all inboxes" in (await browser.get("/settings")).text

    await browser.post("/settings/inboxes/resume", data={"name": EVERY_INBOX})

    assert await board.ledger.read(pause_of, inbox="spring", at=time.time()) is None


CANNOT_BE = [
    ("pause", "spring", "tomorrow", "is neither a date nor a duration"),
    ("pause", "spring", "2020-01-01", "has passed"),
    ("pause", "autumn", "3d", "is listed in nights.toml"),
    ("resume", "autumn", "", "is listed in nights.toml"),
    ("scan", "elsewhere", "", "is listed in nights.toml"),
    ("scan", "s" * 500, "", "is listed in nights.toml"),
]


@pytest.mark.safeguard("tasks/nights/inboxes.py", "if inbox.name == name:", "if True:")
async def test_what_cannot_be_is_a_sentence_and_changes_nothing(board: OpenBoard) -> None:
    browser = await board.form("admin")

    for verb, name, until, said in CANNOT_BE:
        form = {"name": name, "until": until}
        refused = await browser.post(f"/settings/inboxes/{verb}", data=form)
        assert (refused.status_code, said in refused.text) == (422, True), (verb, name)
    assert (await acts(board), board.board.asked) == ([], set())


async def test_a_schedule_that_never_comes_is_a_sentence(board: OpenBoard, tmp_path: Path) -> None:
    (tmp_path / "nights.toml").write_text(TOML.replace("0 2 * * *", "0 0 31 2 *"))
    browser = await board.form("admin")
    shown = await browser.get("/settings")
    assert "inbox.spring.cron is not a schedule" in shown.text
    refused = await browser.post("/settings/inboxes/scan", data={"name": "spring"})
    assert (refused.status_code, board.board.asked) == (422, set())


@pytest.mark.merge
async def test_a_scan_makes_what_fits_the_limit_of_the_inbox(
    board: OpenBoard, tmp_path: Path
) -> None:
    for number, rows in enumerate((1, 2)):
        sheet = tmp_path / "sheets" / f"n{number}-{abs(hash(str(tmp_path))):x}.csv"
        sheet.write_text(simple_sheet(rows, title=f"Sheet {number}"))
        os.utime(sheet, (time.time() - 1000,) * 2)
    browser = await board.form("admin")

    begun = await browser.post("/settings/inboxes/scan", data={"name": "spring"})
    page = begun.text
    assert ">scanning</span>" in page
    async with asyncio.timeout(120):
        while ">scanning</span>" in page:
            await asyncio.sleep(0.2)
            page = (await browser.get("/settings")).text

    (night,) = await board.ledger.read(nights_of, inbox="spring", limit=2)
    # The second sheet costs more than the night has left: it asks, as in any night.
    assert (night.exit, night.approved) == (4, 15)
    assert len([*(tmp_path / "deliveries").rglob("*.mp4")]) == 1
    assert "asks, 15 credits" in page
    assert ("scan", "Ada", "spring") in await acts(board)


async def put(who: httpx.AsyncClient, name: str, value: str) -> httpx.Response:
    return await who.post("/settings/set", data={"name": name, "value": value})


async def kept(board: OpenBoard) -> dict[str, str]:
    return {one.name: one.value for one in (await board.ledger.read(board_settings)).values()}


async def audited(board: OpenBoard) -> list[str | None]:
    return [act.words for act in await board.ledger.read(acts_of, limit=9) if act.act == "set"]


@pytest.mark.safeguard(
    "tasks/ledger/board_settings.py",
    'note_act(connection, act="set", by=by, at=at, words=said)',
    "pass",
)
@pytest.mark.safeguard(
    "tasks/runtime/settings.py",
    '"set_on_board": before | said.keys()})',
    '"set_on_board": frozenset(said)})',
)
@pytest.mark.merge
async def test_what_is_set_counts_at_once_and_is_audited(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    saved = await put(browser, "credit_price", " 0.12 USD ")

    assert saved.status_code == 200
    assert "set here by Ada" in saved.text
    assert "0.12" in str(open_board.board.settings.credit_price)
    await put(browser, "credit_price", "0.12 USD")
    assert await audited(open_board) == ["credit_price: 0.12 USD"]
    await put(browser, "credit_price", "")
    assert (await kept(open_board), open_board.board.settings.credit_price) == ({}, None)
    await put(browser, "credit_price", "0.2 USD")
    assert "0.2" in str(open_board.board.settings.credit_price), "set again, it counts again"
    await put(browser, "credit_price", "")
    assert (await audited(open_board))[0] == "credit_price back to its default"


NO_VALUE = [
    ("credit_price", "cheap", "is not the price of a credit"),
    ("day_budget", "-5", "is not an amount of credits."),
    ("keep_at_service", "soon", "write it like"),
    ("links", "public ftp://x", "presigned 7d"),
    ("links", "presigned 7d", "s3://"),
    ("names", "{campaign}/{title", "has a brace without its partner"),
    ("names", "{campaign}/video", "is also what the video of row"),
    ("names", "../{row}", "has a part that begins with a dot"),
    ("names", "a/" * 5_000, "longer than 2,000 characters"),
    ("copies", "file:/etc/{name}.mp4", "is a folder, which only a profile"),
    ("copies", "s3://ads/{nothing}", "no column is called so"),
]


@pytest.mark.safeguard(
    "deployments/board/services/settings.py", 'local=name != "copies"', "local=True"
)
async def test_what_it_cannot_be_is_a_sentence_and_changes_nothing(open_board: OpenBoard) -> None:
    await Stage.set(open_board.ledger, brief("a"), brief("b", "Milk"))
    browser = await open_board.form("admin")

    for name, value, said in NO_VALUE:
        refused = await put(browser, name, value)
        assert refused.status_code == 422, (name, value)
        assert said in refused.text.replace("&#34;", '"')
    for name in ("api_key", "horizon", "ledger", "no_such"):
        assert (await put(browser, name, "x")).status_code == 404, name
    assert (await kept(open_board), await audited(open_board)) == ({}, [])


@pytest.mark.safeguard(
    "deployments/board/services/settings.py",
    "if (found := board.settings.set_elsewhere.get(name)) is not None:\n        raise",
    "if (found := None) is not None:\n        raise",
)
@pytest.mark.parametrize("where", ["environment", "profile"])
async def test_what_is_set_elsewhere_is_shown(
    tmp_path: Path, made_ledger: Path, where: str
) -> None:
    lay_ledger(tmp_path, made_ledger)
    environ = {"CALLSHEET_NAMES": "{campaign}/{row}_x"}
    if where == "profile":
        (tmp_path / "main.toml").write_text('names = "{campaign}/{row}_x"\n')
        environ = {"CALLSHEET_PROFILE": "main.toml"}
    async with board_at(tmp_path, environ=environ) as board:
        browser = await board.form("admin")
        page = (await browser.get("/settings")).text
        refused = await put(browser, "names", "{row}")

        assert ("set by CALLSHEET_NAMES" if where == "environment" else "main.toml, line 1") in page
        assert "{campaign}/{row}_x" in page
        assert 'id="set-names"' not in page
        assert refused.status_code == 422
        assert await kept(board) == {}


async def test_an_operators_folder_stays_for_copies(tmp_path: Path, made_ledger: Path) -> None:
    lay_ledger(tmp_path, made_ledger)
    environ = {"CALLSHEET_COPIES": f"file:{tmp_path}/copies/{{name}}.mp4"}
    async with board_at(tmp_path, environ=environ) as board:
        await Stage.set(board.ledger, brief("a"))
        assert (await put(await board.form("admin"), "names", "x_{row}")).status_code == 200
        assert await kept(board) == {"names": "x_{row}"}


async def test_a_value_of_another_version_is_corrected_here(open_board: OpenBoard) -> None:
    put_there = partial(open_board.ledger.write, set_on_board, name="day_budget", by="Ada", at=1.0)
    await put_there(value="many")
    browser = await open_board.form("admin")

    assert 'value="many"' in (await browser.get("/settings")).text
    assert (await put(browser, "credit_price", "1 EUR")).status_code == 200
    assert (await put(browser, "day_budget", "")).status_code == 200
    assert await kept(open_board) == {"credit_price": "1 EUR"}
    assert open_board.board.settings.credit_price is not None


@pytest.mark.merge
async def test_names_are_tried_as_they_are_typed(open_board: OpenBoard, chromium: Browser) -> None:
    await Stage.set(open_board.ledger, brief("a"), brief("b", "Milk"))
    page = await (await open_board.logged_in(chromium, "admin")).new_page()
    await page.goto("/settings")

    field, example = page.get_by_role("textbox", name="Names of files"), page.locator("#example")
    await field.fill("{campaign}/x_{row}")
    await expect(example).to_contain_text("spring/x_b.mp4")
    await field.fill("{campaign}/x")
    await expect(example).to_contain_text("is also what the video of row")
    await expect(field).to_be_focused()


HOOK = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"


async def add(who: httpx.AsyncClient, address: str, name: str = "Marketing") -> httpx.Response:
    return await who.post("/settings/notices", data={"name": name, "address": address})


@pytest.mark.merge
async def test_an_address_is_stored_as_a_secret_and_never_shown(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    added = await add(browser, HOOK)

    assert added.status_code == 201
    assert "marketing is added" in added.text
    home = open_board.board.settings.home
    (file,) = (home / "notices").iterdir()
    assert file.read_text() == HOOK
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    pages = [added, *[await browser.get(path) for path in ("/settings", "/activity")]]
    for page in pages:
        assert "XXXX" not in page.text
        assert "services/T0" not in page.text
    assert "Slack" in pages[1].text
    removed = await browser.post("/settings/notices/remove", data={"name": "marketing"})
    assert removed.status_code == 200
    assert not list((home / "notices").iterdir())


NO_ADDRESS = ("ann@example.com", "json://127.0.0.1/secret-path", "file:/etc/passwd", "env:HOME",
              "https://example.com/secret-path")  # fmt: skip


async def test_what_is_no_address_is_refused_without_repeating_it(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    for address, name in (*((one, "Ann") for one in NO_ADDRESS), (HOOK, "!!")):
        refused = await add(browser, address, name)
        assert refused.status_code == 422
        assert "The address was not added" in refused.text
        assert "secret-path" not in refused.text
    assert "add notices" not in (await browser.get("/activity")).text
    assert not (open_board.board.settings.home / "notices").exists()


async def test_a_test_is_sent_and_its_failure_is_shown(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")
    with mailbox() as box:
        await add(browser, box.address("ann@example.com"))
        sent = await browser.post("/settings/notices/test", data={"name": "marketing"})
        box.refusing = True
        refused = await browser.post("/settings/notices/test", data={"name": "marketing"})

    assert "The test was sent" in sent.text
    assert "mail to ann@example.com" in sent.text
    assert len(box.letters) == 1
    assert box.subjects[0].strip().startswith("Sample:")
    assert "The test was not sent" in refused.text


async def test_every_inbox_notifies_the_address_and_the_page_shows_the_digest(
    open_board: OpenBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nights.toml").write_text('[inbox.spring]\nplace = "inbox"\n')
    browser = await open_board.form("admin")
    assert "No nightly run has finished yet" in (await browser.get("/settings")).text
    ledger, settings = open_board.ledger, open_board.board.settings
    report = night("2026-11-22", MADE)
    await swept(ledger, report)
    with mailbox() as box:
        await add(browser, box.address())
        now = report.ended_at + 1
        await digest(ledger, settings, listed_inboxes(tmp_path), clock=lambda: now)
        await digest(ledger, settings, listed_inboxes(tmp_path), clock=lambda: now)
    page = await browser.get("/settings")

    assert len(box.letters) == 1
    assert box.subjects[0] in page.text.replace("&#39;", "'")


async def test_help_leads_to_the_docs(tmp_path: Path, made_ledger: Path) -> None:
    lay_ledger(tmp_path, made_ledger)
    where = {"CALLSHEET_DOCS_URL": "https://docs.example/callsheet"}
    async with board_at(tmp_path, environ=where) as board:
        page = (await (await board.form("viewer")).get("/")).text
    assert '<a href="https://docs.example/callsheet">Help</a>' in page
