"""Settings on the board: an admin sets them for everyone, and what is wrong changes nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect

from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.board_settings import board_settings, set_on_board
from tests.board.conftest import OpenBoard, board_at
from tests.campaigns import Stage, brief
from tests.databases import lay_ledger


async def put(who: httpx.AsyncClient, name: str, value: str) -> httpx.Response:
    return await who.post("/settings/set", data={"name": name, "value": value})


async def kept(board: OpenBoard) -> dict[str, str]:
    return {one.name: one.value for one in (await board.ledger.read(board_settings)).values()}


async def audited(board: OpenBoard) -> list[str | None]:
    return [act.words for act in await board.ledger.read(acts_of, limit=9) if act.act == "set"]


@pytest.mark.merge
async def test_what_is_set_counts_at_once_and_is_audited(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")

    saved = await put(browser, "credit_price", " 0.12 USD ")

    assert saved.status_code == 200
    assert "set here by Ada" in saved.text
    assert open_board.board.settings.credit_price is not None
    await put(browser, "credit_price", "0.12 USD")
    assert await audited(open_board) == ["credit_price: 0.12 USD"]
    await put(browser, "credit_price", "")
    assert (await kept(open_board), open_board.board.settings.credit_price) == ({}, None)
    await put(browser, "credit_price", "0.2 USD")
    assert "0.2" in str(open_board.board.settings.credit_price), "set again, it counts again"
    await put(browser, "credit_price", "")
    assert (await audited(open_board))[0] == "credit_price back to its default"


CANNOT_BE = [
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


async def test_what_it_cannot_be_is_a_sentence_and_changes_nothing(open_board: OpenBoard) -> None:
    await Stage.set(open_board.ledger, brief("a"), brief("b", "Milk"))
    browser = await open_board.form("admin")

    for name, value, said in CANNOT_BE:
        refused = await put(browser, name, value)
        assert refused.status_code == 422, (name, value)
        assert said in refused.text.replace("&#34;", '"')
    for name in ("api_key", "horizon", "ledger", "no_such"):
        assert (await put(browser, name, "x")).status_code == 404, name
    assert (await kept(open_board), await audited(open_board)) == ({}, [])


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
