"""Plans: shown, saved, and refused when what was approved no longer holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import check_retirement, plan_sheet, priced
from callsheet.tasks.campaign.plan_document import plan_document, plan_of, read_plan, save_plan
from callsheet.tasks.campaign.quotes import check_budget
from callsheet.tasks.campaign.validity import check_valid, moved_since
from callsheet.tasks.campaign.values import Change, FoundVideo, Plan, PlanLine
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.campaigns import PaidElsewhere, find_campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.sync import FEW, Unsynced, sync_sheet
from callsheet.tasks.runtime.errors import BadInput, SpendRefused
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import parse_credits
from tests.campaigns import NOW, Stage, brief

OPTIONS = RunOptions(sheet="s.csv")


def a_sheet(*briefs, budget=None) -> Sheet:
    return Sheet(
        campaign="spring",
        address="s.csv",
        name="s.csv",
        digest="d" * 64,
        budget=budget,
        briefs=briefs,
        columns=(),
        advice=(),
    )


def a_plan(*lines: PlanLine, **named) -> Plan:
    return Plan(campaign="spring", sheet="s.csv", sheet_digest="d", lines=lines, **named)


def line(row="a", priced=12, **own) -> PlanLine:
    price = None if priced is None else Decimal(str(priced))
    return PlanLine(
        **{"row": row, "title": "Tea", "action": "make", "digest": "d1", "priced": price, **own}
    )


def save(plan: Plan, file: Path, **more: object) -> None:
    save_plan({**plan_document(plan), **more}, file)


def check(now: Plan, file: Path) -> None:
    check_valid(read_plan(file).plan, now)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


@pytest.mark.parametrize("trial", [True, False])
def test_a_saved_plan_is_of_one_kind_of_money(file: Path, trial: bool):
    save(a_plan(line(), sandbox=trial), file)
    check(a_plan(line(), sandbox=trial), file)
    with pytest.raises(SpendRefused, match=r"made with .*, and its videos would be made by"):
        check(a_plan(line(), sandbox=not trial), file)


async def test_without_a_ledger_every_row_is_new():
    plan = await plan_sheet(None, a_sheet(brief("a"), brief("b", enabled=False)), OPTIONS)
    assert [(found.row, found.action) for found in plan.lines] == [("a", "make"), ("b", "none")]
    assert (plan.unpriced, plan.total, plan.moves_anything) == (1, 0, True)


async def test_a_plan_says_what_syncing_does(ledger: Ledger):
    stage = await Stage.set(ledger, brief("a"), brief("b"), brief("c"), brief("gone"))
    await stage.delivered("a")
    await stage.rendering("b")
    await stage.quote("c", "2.5")
    sheet = a_sheet(brief("a", "Coffee"), brief("b"), brief("c"), brief("d"))
    shown = await plan_sheet(ledger, sheet, OPTIONS)
    assert [(found.row, found.action, found.state) for found in shown.lines] == [
        ("a", "retake", "planned"),
        ("b", "fetch", "rendering"),
        ("c", "make", "quoted"),
        ("d", "make", "planned"),
        ("gone", "retire", "retired"),
    ]
    assert [found.priced for found in shown.lines[:4]] == [None, 12, Decimal("2.5"), None]
    assert (shown.unpriced, shown.total, shown.committed) == (2, Decimal("2.5"), 24)
    await stage.sync(*sheet.briefs)
    after = {row.row: row.state for row in await stage.rows()}
    assert after == {found.row: found.state for found in shown.lines}


@pytest.mark.merge
@pytest.mark.parametrize("rows", [4, FEW + 4])
async def test_what_a_plan_found_to_differ_is_all_that_is_synced(ledger: Ledger, rows: int):
    briefs = [brief(f"r{n}", f"Tea {n}") for n in range(rows)]
    stage = await Stage.set(ledger, *briefs)
    await stage.delivered("r0")
    edited = [brief("r0", "Coffee"), *(replace(one, notes="x") for one in briefs[2:]), brief("new")]
    sheet = a_sheet(*edited)
    shown = await plan_sheet(ledger, sheet, OPTIONS)
    assert (len(shown.unsynced), shown.retiring) == (len(edited), ("r1",))
    only = Unsynced(shown.unsynced, shown.retiring)
    await stage.write(sync_sheet, stage.campaign.id, sheet.briefs, at=NOW, only=only)
    assert (await plan_sheet(ledger, sheet, OPTIONS)).synced
    found = {row.row: (row.position, row.state, row.notes) for row in await stage.rows()}
    assert found["r0"] == (1, "planned", None)
    assert found["r2"] == (2, "planned", "x")
    assert found["new"] == (len(edited), "planned", None)
    assert found["r1"][1] == "retired"
    # Of what is not named nothing is written.
    await stage.write(sync_sheet, stage.campaign.id, briefs, at=NOW, only=Unsynced((1,), ()))
    assert not (await plan_sheet(ledger, a_sheet(*briefs), OPTIONS)).synced
    assert (await stage.row("r0")).state == "delivered"


async def test_a_finished_campaign_has_nothing_to_do(ledger: Ledger, stage: Stage):
    await stage.delivered()
    plan = await plan_sheet(ledger, a_sheet(brief()), OPTIONS)
    assert not plan.moves_anything
    assert plan.spending == []


async def test_only_what_is_selected_is_in_the_plan(ledger: Ledger):
    await Stage.set(ledger, brief("a"), brief("old-b"))
    sheet = a_sheet(brief("a", "Coffee"), brief("b"))
    for select, rows in [
        ("topic:coffee", ["a"]),
        ("old-*", ["old-b"]),
        ("state:retired", ["old-b"]),
    ]:
        plan = await plan_sheet(ledger, sheet, OPTIONS.but(select=select))
        assert [found.row for found in plan.lines] == rows


@pytest.mark.parametrize(
    ("order", "sheet", "known", "budget"),
    [(None, None, None, None), (None, None, 7, 7), (None, 5, 7, 5), (3, 5, 7, 3), (0, 5, 7, 0)],
)
async def test_the_nearest_budget_counts(ledger: Ledger, order, sheet, known, budget):
    await Stage.set(ledger, brief(), budget=known)
    wish = OPTIONS.but(budget=None if order is None else Decimal(order))
    plan = await plan_sheet(
        ledger, a_sheet(brief(), budget=None if sheet is None else Decimal(sheet)), wish
    )
    assert plan.budget == budget
    assert await ledger.read(lambda c: find_campaign(c, "spring")) is not None


@pytest.mark.parametrize(
    ("order", "sheet", "known", "budget"),
    [(None, 500, 40, 40), (500, None, 40, 40), (20, None, 40, 40), (500, None, None, 500)],
)
async def test_a_budget_that_no_approver_gave_does_not_replace_the_campaigns(
    ledger: Ledger, order, sheet, known, budget
):
    await Stage.set(ledger, brief(), budget=known)
    wish = OPTIONS.but(budget=None if order is None else Decimal(order), keep_budget=True)
    found = a_sheet(brief(), budget=None if sheet is None else Decimal(sheet))
    assert (await plan_sheet(ledger, found, wish)).budget == budget


def test_a_row_above_its_limit_is_on_hold_and_not_in_the_total():
    capped = {"max_credits": Decimal(10), "line": 7}
    lines = (line("a", **capped), line("b", **capped), line("c", **capped), line("d"))
    prices = {"a": Price(Decimal(10)), "b": Price(Decimal(11)), "c": Price(None)}
    plan = priced(a_plan(*lines), prices)
    assert [(one.row, one.spends, one.on_hold) for one in plan.lines] == [
        ("a", True, False), ("b", False, True), ("c", False, True), ("d", True, False)
    ]  # fmt: skip
    assert (plan.total, plan.unpriced) == (22, 0)
    assert plan.lines[1].why == (
        "it costs 11 credits, and max_credits is 10: "
        "set max_credits in line 7 of the sheet to 11 or more, or ask for less"
    )
    assert "clear max_credits in line 7 of the sheet" in (plan.lines[2].why or "")
    shown = plan_document(plan)
    assert shown["rows"][1]["state"] == "held"


def test_prices_are_put_in_by_row():
    prices = {"a": Price(Decimal(3)), "b": Price(None), "c": Price(None, "no")}
    plan = priced(a_plan(*(line(name, None) for name in "abc")), prices)
    assert [found.priced for found in plan.lines] == [3, None, None]
    assert (plan.total, plan.unpriced) == (3, 1)
    assert [(found.action, found.why) for found in plan.lines[1:]] == [
        ("make", None),
        ("person", "no"),
    ]


@pytest.mark.parametrize("price", [1050, 1000, "1234.5"])
def test_the_budget_that_is_suggested_can_be_typed(price):
    plan = a_plan(line("a", price), budget=Decimal(7))

    with pytest.raises(SpendRefused) as refused:
        check_budget(plan)

    (typed,) = re.findall(r"`--budget (.+?)`", str(refused.value.remedy))
    assert parse_credits(typed) == plan.total


def test_a_saved_plan_that_still_holds_passes(file: Path):
    plan = a_plan(line("a", "0.1"), line("ü", None), line("c", action="none"))
    save(plan, file)
    check(plan, file)
    saved = json.loads(file.read_text("utf-8"))
    assert len(saved.pop("digest")) == 64
    assert saved == plan_document(plan)


def test_a_saved_plan_that_was_edited_is_refused(file: Path):
    save(a_plan(line("a"), line("ü", "0.5")), file)
    text = file.read_text("utf-8")
    for then, now in (("12", "13"), ("Tea", "Cup"), ("false", "true")):
        file.write_text(text.replace(then, now, 1), "utf-8")
        with pytest.raises(BadInput, match="was changed after it was saved; nothing was spent"):
            read_plan(file)
    # Another layout of the same document is the same plan.
    file.write_text(json.dumps(json.loads(text)), "utf-8")
    assert [one.row for one in read_plan(file).plan.lines] == ["a", "ü"]


def test_a_document_shows_the_plan_that_it_was_made_of():
    elsewhere = PaidElsewhere(campaign_id=0, campaign="old", costs={"a": Decimal("2.5")})
    lines = (
        line("a", "0.1", length=5, tool="t", ratio="9:16", priced_for=5.0),
        line("b", None, action="wait", why="waits for the test video a", state="held"),
        line("c", action="retake", charged=Decimal(12)),
    )
    known = {"budget": Decimal(40), "committed": Decimal(12), "balance": Decimal(7), "live": 3}
    plan = a_plan(*lines, elsewhere=(elsewhere,), retiring=("x",), canary="yes", **known)
    assert plan_of(json.loads(json.dumps(plan_document(plan)))) == plan


def test_a_row_that_needs_nothing_any_more_does_not_matter(file: Path):
    save(a_plan(line("a"), line("b")), file)
    check(a_plan(line("a", action="none"), line("b")), file)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (line("z"), "z: not in the plan, 12 credits now"),
        (line("a", 13), "a: 12 credits then, 13 now"),
        (line("a", None), "a: 12 credits then, unknown now"),
        (line("a", digest="d2"), "a: the row was edited since (not its title, length or price)"),
        (
            line("a", 15, digest="d2", title="Coffee", length=9),
            'a: the row was edited since: "Tea", no length, 12 credits then; "Coffee", 9 s, '
            "15 credits now",
        ),
        (line("off"), "off: the plan was not to make it (none), 12 credits now"),
    ],
)
def test_every_row_that_moved_is_named(file: Path, now: PlanLine, words: str):
    save(a_plan(line("a"), line("b"), line("off", action="none", state="planned")), file)
    with pytest.raises(SpendRefused) as caught:
        check(a_plan(now, line("b")), file)
    assert words in str(caught.value)
    assert "\n  b:" not in str(caught.value)
    assert caught.value.exit_status == 4


def test_a_plan_for_the_board_is_compared_both_ways():
    shown = a_plan(line("a"), line("b"), retiring=("x",))
    now = a_plan(line("a"), retiring=("y",))
    assert moved_since(shown, now) == [
        "b: it is no longer paid for",
        "x: the sheet has it again",
        "y: the sheet no longer has it",
    ]
    assert moved_since(shown, now, costlier=True) == []


def test_what_the_plan_did_not_show_is_not_changed_with_it():
    keep, copy = Change("retention", "deleted after 1s"), Change("copies", "copied to s3://other")
    plan = a_plan(line("a"))
    shown, now = replace(plan, changes=(keep,)), replace(plan, changes=(keep, copy))
    assert plan_of(plan_document(shown)).changes == (keep,)
    assert moved_since(shown, shown) == []
    for both in (False, True):
        assert moved_since(shown, now, costlier=both) == ["not in the plan: copied to s3://other"]
        # A run that goes on with a saved plan has changed it already.
        gone = [] if both else ["no longer so: copied to s3://other"]
        assert moved_since(now, shown, costlier=both) == gone


def test_a_row_takes_over_the_video_that_the_plan_shows_and_no_other():
    shown, other = (
        a_plan(line("a", 0, action="adopt", found=FoundVideo(one, "id"))) for one in ("v1", "v2")
    )
    assert moved_since(shown, shown, costlier=True) == []
    for before in (other, a_plan(line("a"))):
        assert moved_since(before, shown, costlier=True) == [
            "a: the plan was not to take over this video"
        ]


def test_an_edit_is_of_the_take_that_the_plan_shows():
    edit = {"action": "edit", "edit_of": "title", "why": "its title; not quoted"}
    shown, now = (a_plan(line("a", base=n, **edit)) for n in (1, 2))
    assert moved_since(shown, shown, costlier=True) == []
    assert moved_since(shown, now, costlier=True) == ["a: an edit of take 1 then, of take 2 now"]
    assert plan_of(json.loads(json.dumps(plan_document(now)))) == now


def test_more_new_takes_of_failed_rows_are_approved_anew():
    once = replace(a_plan(line("a")), retry_failed=1)
    assert moved_since(once, replace(once, retry_failed=2), costlier=True) == [
        "2 new attempts of a failed row now, 1 then"
    ]
    assert moved_since(once, a_plan(line("a")), costlier=True) == []
    assert (once.total, once.most) == (12, 24)


def test_all_that_moved_is_named_at_once(file: Path):
    save(replace(a_plan(line("a"), line("b")), campaign="autumn"), file)
    with pytest.raises(SpendRefused) as caught:
        check(a_plan(line("a", 1), line("b", 2)), file)
    assert len(str(caught.value).splitlines()) == 4
    assert "for campaign autumn" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "not json", "\ufeff{", '{"format":1,"campaign":"x","rows":[]}',
             '{"format":1,"campaign":"x","rows":[],"digest":"x","live":NaN}',
             '{"format":1,"campaign":"\\ud800","rows":[],"digest":"x"}']
)  # fmt: skip
def test_a_file_that_is_no_plan_is_refused(file: Path, text: str):
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="not a saved plan"):
        check(a_plan(line()), file)


@pytest.mark.parametrize(
    "changed", [{"rows": [1]}, {"format": 2}, {"rows": [{"row": "a"}]}, {"terms": {"select": 5}}]
)
def test_a_document_that_shows_no_plan_is_refused(file: Path, changed: dict[str, Any]):
    document = {"format": 1, "campaign": "x", "rows": []}
    save_plan(document, file)
    assert read_plan(file).plan.campaign == "x"
    save_plan({**document, **changed}, file)
    with pytest.raises(BadInput, match="not a saved plan"):
        read_plan(file)


def test_a_plan_that_cannot_be_written_or_read_says_so(tmp_path: Path):
    with pytest.raises(BadInput, match="there is no folder"):
        save(a_plan(), tmp_path / "no" / "plan.json")
    with pytest.raises(BadInput, match="not a saved plan"):
        check(a_plan(), tmp_path / "no" / "plan.json")


@pytest.mark.parametrize(
    ("rows", "left", "paid", "said", "needed"),
    [
        (4, 3, True, {}, True),
        (30, 4, True, {}, True),
        # A tenth, or a few, may leave; so may what was never paid for, or what a person lets go.
        (30, 3, True, {}, False),
        (4, 2, True, {}, False),
        (4, 4, False, {}, False),
        (4, 4, True, {"retire": True}, False),
        # Rows that are not chosen leave the sheet all the same.
        (4, 3, True, {"select": "r0"}, True),
    ],
)
async def test_many_rows_that_leave_need_a_word(ledger: Ledger, rows, left, paid, said, needed):
    stage = await Stage.set(ledger, *(brief(f"r{n}") for n in range(rows)))
    if paid:
        await stage.delivered("r0")
    sheet = a_sheet(*(brief(f"r{n}") for n in range(rows - left)), brief("new", "Pot"))
    plan = await plan_sheet(ledger, sheet, OPTIONS.but(**said))
    assert (plan.needs_word, len(plan.retiring), plan.live) == (needed, left, rows)
    if needed:
        with pytest.raises(SpendRefused, match=f"{left} of the {rows} rows") as caught:
            check_retirement(plan, "say so")
        assert (caught.value.remedy or "").endswith("say so")
    else:
        check_retirement(plan, "say so")


def test_a_saved_plan_approves_the_rows_that_it_shows_to_leave(file: Path):
    plan = a_plan(retiring=("a", "b", "c"), live=4, needs_word=True)
    save(plan, file, terms={"sheet": "s.csv", "same_campaign": True, "pay_again": True})
    check(plan, file)
    check(replace(plan, retiring=("a", "b")), file)
    with pytest.raises(SpendRefused, match="d: the sheet no longer has it"):
        check(replace(plan, retiring=("a", "d")), file)
    # What no plan is made with is not taken from a file.
    assert read_plan(file).terms == {"sheet": "s.csv", "same_campaign": True}
