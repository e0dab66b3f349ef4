"""Quotes are recorded and approved; what is too dear or refused waits for a person."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted, approve, record_quotes
from callsheet.tasks.runtime.errors import MovedOn
from tests.campaigns import NOW, Stage, brief


async def test_approval_says_by_whom_and_twice_is_a_no_op(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"))
    rows = [await stage.quote("a"), await stage.quote("b", None)]
    assert [(row.state, row.quoted, row.quoted_at) for row in rows] == [
        ("quoted", 12, NOW), ("quoted", None, NOW)
    ]  # fmt: skip
    assert await stage.write(approve, rows, by="Alice", at=NOW) == 2
    assert await stage.write(approve, rows, by="Bob", at=NOW) == 0
    assert [row.state for row in await stage.rows()] == ["approved", "approved"]
    assert [event.words for event in await stage.events()] == ["12 credits", "Alice"]


@pytest.mark.safeguard(
    "tasks/ledger/quotes.py",
    'rows.c.quoted.is_not_distinct_from(bindparam("price", type_=BigInteger)),',
    'bindparam("price", type_=BigInteger).is_distinct_from(-1),',
)
@pytest.mark.safeguard(
    "tasks/ledger/quotes.py",
    'rows.c.quoted.is_not_distinct_from(bindparam("price", type_=BigInteger)),',
    'rows.c.quoted.is_not_distinct_from(bindparam("price", type_=BigInteger)) | (rows.c.id > 0),',
)
@pytest.mark.parametrize(("shown", "by_now"), [(12, 14), (14, 12), (12, None), (None, 12)])
async def test_nothing_is_approved_when_a_price_is_not_as_it_was_shown(ledger, shown, by_now):
    stage = await Stage.set(ledger, brief(), brief("b"))
    row, other = await stage.quote(amount=shown), await stage.quote("b", 5)
    await stage.quote(amount=by_now)
    with pytest.raises(MovedOn, match=r"a: .* then, .* now"):
        await stage.write(approve, [row, other], by="Alice", at=NOW)
    assert [row.state for row in await stage.rows()] == ["quoted", "quoted"]


@pytest.mark.safeguard(
    "tasks/ledger/quotes.py",
    "those = [number for number in page if moved.get(number) == shown[number]]",
    "those = [number for number in page if number in moved]",
)
async def test_nothing_is_approved_when_a_row_was_edited_since_it_was_shown(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"))
    shown = [await stage.quote("a"), await stage.quote("b")]
    await stage.sync(brief(), brief("b", "Coffee"))
    await stage.quote("b")
    with pytest.raises(MovedOn, match="b: the row was edited"):
        await stage.write(approve, shown, by="Alice", at=NOW)
    assert [row.state for row in await stage.rows()] == ["quoted", "quoted"]


async def test_many_quotes_are_recorded_as_each_by_itself(ledger: Ledger):
    #: What becomes of each row, and its price.
    become: dict[str, tuple[str, int | None]] = {
        "plain": ("quoted", 12),
        "again": ("quoted", 12),
        "dear": ("held", 12),
        "refused": ("rejected", None),
        "risen": ("quoted", 13),
        "stands": ("approved", 12),
        "gone": ("approved", 12),
    }
    names, limits = tuple(become), {"dear": Decimal(10)}
    stage = await Stage.set(
        ledger, *(brief(name, name, max_credits=limits.get(name)) for name in names)
    )
    await stage.quote("again", 9)
    for name in ("risen", "stands", "gone"):
        await stage.approve(name, 12)
    rows = {name: await stage.row(name) for name in names}
    gone = replace(rows["gone"], state="planned")
    amounts = dict.fromkeys(names, Decimal(12)) | {"risen": Decimal(13), "refused": None}
    found = [
        Quoted(rows[name], amounts[name], "no such tool" if name == "refused" else None)
        for name in names[:-1]
    ]
    await stage.write(record_quotes, [*found, Quoted(gone, Decimal(99))], tolerance=0, at=NOW + 1)
    after = {name: await stage.row(name) for name in names}
    assert {name: (row.state, row.quoted) for name, row in after.items()} == become
    assert {after[name].quoted_at for name in names[:-1]} == {NOW + 1}
    assert [event.words for event in await stage.events("plain")] == ["12 credits"]
    assert after["plain"].since == NOW + 1


async def held(ledger: Ledger) -> Stage:
    """A row on hold: it costs 12 credits, and may cost 10."""
    stage = await Stage.set(ledger, brief(max_credits=Decimal(10), line=7))
    row = await stage.quote(amount=12)
    assert row.state == "held"
    assert "max_credits is 10: set max_credits in line 7 of the sheet to 12" in str(row.reason)
    return stage


@pytest.mark.safeguard(
    "tasks/ledger/diff.py", "return row.max_credits == brief.max_credits", "return False"
)
@pytest.mark.parametrize(
    ("sheet", "state"),
    [
        (brief(max_credits=Decimal(10)), "held"),
        (brief(max_credits=Decimal(10), priority=3), "held"),
        (brief(max_credits=Decimal(11)), "planned"),
        (brief(max_credits=None), "planned"),
        (brief(topic="Coffee", max_credits=Decimal(10)), "planned"),
    ],
)
async def test_a_row_stays_on_hold_until_its_limit_or_brief_changes(ledger: Ledger, sheet, state):
    stage = await held(ledger)
    reason = (await stage.row()).reason
    await stage.sync(sheet)
    row = await stage.row()
    assert (row.state, row.reason) == (state, reason if state == "held" else None)
