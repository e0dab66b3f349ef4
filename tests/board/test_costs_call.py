"""`GET /costs` says what `callsheet costs --json` does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Connection

from callsheet.tasks.aftercare.costs import GROUPINGS, costs
from callsheet.tasks.ledger.costs import CostsOf
from callsheet.tasks.ledger.plans import begin_plan, finish_plan
from callsheet.tasks.values.amounts import parse_credit_price
from tests.board.conftest import OpenBoard, board_at
from tests.board.test_variants import line
from tests.campaigns import Stage, brief
from tests.databases import lay_ledger

PRICE = "0.12 USD"
ADDRESS = "/api/v1/costs"


@pytest.fixture
async def board(tmp_path: Path, made_ledger: Path) -> AsyncIterator[OpenBoard]:
    lay_ledger(tmp_path, made_ledger)
    async with board_at(tmp_path, environ={"CALLSHEET_CREDIT_PRICE": PRICE}) as opened:
        stage = await Stage.set(opened.ledger, brief("a", tags=("tea", "new")), brief("b"))
        await stage.delivered("a")
        await stage.rendering("b")
        yield opened


@pytest.mark.merge
async def test_costs_are_those_of_the_command(board: OpenBoard) -> None:
    price = parse_credit_price(PRICE)
    for by in GROUPINGS:
        found = await board.ledger.read(costs, wanted=CostsOf(), by=by, price=price)
        answer = await board.viewer.get(ADDRESS, params={"by": by})
        assert answer.json() == found.model_dump(mode="json")
        assert answer.json()["total"]["charged"] == 12


@pytest.mark.merge
async def test_pages_say_credits_in_money_too(board: OpenBoard) -> None:
    browser = await board.form("admin")
    pages = ("", "c/spring", "c/spring/report", "c/spring/rows/a", "costs")
    for page in (*pages, "c/spring/videos"):
        assert "1.44 USD" in (await browser.get(f"/{page}")).text, page


@pytest.mark.merge
async def test_a_plan_says_a_part_of_a_credit_in_money_too(board: OpenBoard) -> None:
    """Its document has numbers, and no exact amounts."""
    credits = {"total": 12.5, "later": 24.5, "most": 25.5, "unpriced": 0, "budget": None}
    credits |= {"expected": 14, "keep_rate": 0.9}
    rows = [line("c", None, quoted=12.5), line("d", None, quoted=24.5, action="wait")]
    document = {"rows": rows, "credits": credits, "retry_failed": 1, "retiring": []}

    def change(one: Connection) -> None:
        begin_plan(one, "p", kind="run", campaign="spring", terms={}, by="Ann", at=1.0)
        told = {"document": document, "total": Decimal("12.5"), "expires_at": 1e10}
        finish_plan(one, "p", campaign="spring", **told)

    await board.ledger.write(change)
    page = (await (await board.form("approver")).get("/plans/p")).text

    assert "Approve 1 row for 12.5 credits (1.50 USD)" in page
    assert "24.5 credits (2.94 USD) more: 37 credits (4.44 USD) for all rounds" in page
    assert "at most 25.5 credits (3.06 USD)" in page
    assert "90 % so far: about 14 credits (1.68 USD) until all are kept" in page


@pytest.mark.merge
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"since": "soon"}, 'since "soon" is not a day or a month'),
        ({"since": "2026-12", "until": "2026-11"}, "since 2026-12 is after until 2026-11"),
        ({"by": "weather"}, "by"),
        ({"bye": "brand"}, "bye"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    open_board: OpenBoard, asked: dict[str, str], words: str
) -> None:
    answer = await open_board.viewer.get(ADDRESS, params=asked)
    assert answer.status_code == 422
    assert words in answer.text.replace("\\", "")
    assert (await open_board.nobody.get(ADDRESS)).status_code == 401
