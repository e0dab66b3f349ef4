"""Plans: shown, saved, taken in, and refused when what was approved no longer holds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import check_retirement, plan_sheet, priced
from callsheet.tasks.campaign.plan_document import plan_document, plan_of, read_plan, save_plan
from callsheet.tasks.campaign.quotes import check_budget, is_within
from callsheet.tasks.campaign.sheet_verb import campaign_of, take_rows_in
from callsheet.tasks.campaign.validity import check_valid, moved_since
from callsheet.tasks.campaign.values import Change, FoundVideo, Plan, PlanLine
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.campaigns import PaidElsewhere
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.errors import BadInput, SpendRefused
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, Stage, brief

OPTIONS = RunOptions(sheet="s.csv")


def a_sheet(*briefs: Brief, budget: int | None = None) -> Sheet:
    given = None if budget is None else Decimal(budget)
    return Sheet(
        campaign="spring", address="s.csv", name="s.csv", digest="d" * 64, budget=given,
        briefs=briefs, columns=(), advice=(),
    )  # fmt: skip


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


@pytest.mark.safeguard(
    "tasks/campaign/validity.py", "check_money(shown.sandbox, now.sandbox, look=look)", ""
)
@pytest.mark.parametrize("trial", [True, False])
def test_a_saved_plan_is_of_one_kind_of_money(file: Path, trial: bool):
    save(a_plan(line(), sandbox=trial), file)
    check(a_plan(line(), sandbox=trial), file)
    with pytest.raises(SpendRefused, match=r"made with .*, and its videos would be made by"):
        check(a_plan(line(), sandbox=not trial), file)


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


#: What was typed, what the sheet says and the campaign has: the budget, and without an approver.
BUDGETS = [
    (None, None, None, None, None),
    (None, None, 7, 7, 7),
    (None, 5, 7, 5, 7),
    (3, 5, 7, 3, 7),
    (0, 5, 7, 0, 7),
    (500, None, 40, 500, 40),
    (500, None, None, 500, 500),
]


@pytest.mark.safeguard(
    "tasks/campaign/plan.py",
    "(options.keep_budget and known is not None)",
    "(options.keep_budget and known is Ellipsis)",
)
@pytest.mark.parametrize(("order", "sheet", "known", "budget", "kept"), BUDGETS)
async def test_a_budget_that_no_approver_gave_does_not_replace_the_campaigns(
    ledger: Ledger, order, sheet, known, budget, kept
):
    """Else the nearest one counts."""
    await Stage.set(ledger, brief(), budget=known)
    wish = OPTIONS.but(budget=None if order is None else Decimal(order))
    found = a_sheet(brief(), budget=sheet)
    assert (await plan_sheet(ledger, found, wish)).budget == budget
    assert (await plan_sheet(ledger, found, wish.but(keep_budget=True))).budget == kept


@pytest.mark.safeguard(
    "tasks/campaign/plan.py", "if above := too_dear(line, price.amount):", "if above := None:"
)
def test_a_row_above_its_limit_is_on_hold_and_not_in_the_total():
    capped = {"max_credits": Decimal(10), "line": 7}
    lines = [line(row, **capped) for row in "abc"] + [line(row, None) for row in "def"]
    prices = {"a": Price(Decimal(10)), "b": Price(Decimal(11)), "c": Price(None)}
    prices |= {"d": Price(Decimal(3)), "e": Price(None), "f": Price(None, "no")}
    plan = priced(a_plan(*lines), prices)
    assert "".join(one.row for one in plan.lines if one.spends) == "ade"
    assert "".join(one.row for one in plan.lines if one.on_hold) == "bc"
    assert (plan.total, plan.unpriced) == (13, 1)
    assert "it costs 11 credits, and max_credits is 10: set" in (plan.lines[1].why or "")
    assert "clear max_credits in line 7 of the sheet" in (plan.lines[2].why or "")
    assert (plan.lines[5].action, plan.lines[5].why) == ("person", "no")
    assert plan_document(plan)["rows"][1]["state"] == "held"


@pytest.mark.parametrize("price", [1050, 1000, "1234.5"])
def test_the_budget_that_is_suggested_can_be_typed(price):
    plan = a_plan(line("a", price), budget=Decimal(7))

    with pytest.raises(SpendRefused) as refused:
        check_budget(plan)

    (typed,) = re.findall(r"`--budget (.+?)`", str(refused.value.remedy))
    assert parse_credits(typed) == plan.total


@pytest.mark.safeguard("tasks/campaign/plan_document.py", "if is_edited:", "if False:")
def test_a_saved_plan_that_was_edited_is_refused(file: Path):
    plan = a_plan(line("a"), line("ü", "0.5"), line("c", action="none"))
    save(plan, file)
    check(plan, file)
    text = file.read_text("utf-8")
    assert len(json.loads(text)["digest"]) == 64
    for then, now in (("12", "13"), ("Tea", "Cup"), ("false", "true")):
        file.write_text(text.replace(then, now, 1), "utf-8")
        with pytest.raises(BadInput, match="was changed after it was saved; nothing was spent"):
            read_plan(file)
    # Another layout of the same document is the same plan.
    file.write_text(json.dumps(json.loads(text)), "utf-8")
    assert [one.row for one in read_plan(file).plan.lines] == ["a", "ü", "c"]


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


EDITED = 'a: the row was edited since: "Tea", no length, 12 credits then; "Coffee", 9 s, 15'


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (line("z"), "z: not in the plan, 12 credits now"),
        (line("a", 13), "a: 12 credits then, 13 now"),
        (line("a", None), "a: 12 credits then, unknown now"),
        (line("a", digest="d2"), "a: the row was edited since (not its title, length or price)"),
        (line("a", 15, digest="d2", title="Coffee", length=9), EDITED),
        (line("off"), "off: the plan was not to make it (none), 12 credits now"),
    ],
)
def test_every_row_that_moved_is_named(file: Path, now: PlanLine, words: str):
    saved = a_plan(line("a"), line("b"), line("off", action="none", state="planned"))
    save(replace(saved, campaign="autumn"), file)
    with pytest.raises(SpendRefused) as caught:
        check(a_plan(now, line("b", action="none")), file)
    assert words in str(caught.value)
    assert "for campaign autumn" in str(caught.value)
    assert "\n  b:" not in str(caught.value), "it needs nothing any more"
    assert caught.value.exit_status == 4


@pytest.mark.safeguard("tasks/campaign/validity.py", "moved += _unshown(shown, now)", "")
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


@pytest.mark.safeguard(
    "tasks/campaign/validity.py", "if now.retry_failed > shown.retry_failed:", "if False:"
)
def test_more_new_takes_of_failed_rows_are_approved_anew():
    once = replace(a_plan(line("a")), retry_failed=1)
    assert moved_since(once, replace(once, retry_failed=2), costlier=True) == [
        "2 new attempts of a failed row now, 1 then"
    ]
    assert moved_since(once, a_plan(line("a")), costlier=True) == []
    assert (once.total, once.most) == (12, 24)


@pytest.mark.safeguard(
    "tasks/campaign/validity.py", "if now.tolerance > shown.tolerance:", "if False:"
)
def test_prices_that_may_rise_further_are_approved_anew():
    some = replace(a_plan(line("a")), tolerance=Decimal("0.1"))
    assert moved_since(some, replace(some, tolerance=Decimal("0.25")), costlier=True) == [
        "after approval, prices may rise by 25% now, by 10% then"
    ]
    assert moved_since(some, a_plan(line("a")), costlier=True) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "not json", "\ufeff{", '{"format":1,"campaign":"x","rows":[]}',
             '{"format":1,"campaign":"x","rows":[],"digest":"x","live":NaN}',
             '{"format":1,"campaign":"\\ud800","rows":[],"digest":"x"}']
)  # fmt: skip
def test_a_file_that_is_no_plan_is_refused(file: Path, text: str):
    file.write_text(text, encoding="utf-8")
    for path in (file, file.parent / "no" / "plan.json"):
        with pytest.raises(BadInput, match="not a saved plan"):
            read_plan(path)
    with pytest.raises(BadInput, match="there is no folder"):
        save(a_plan(), file.parent / "no" / "plan.json")


@pytest.mark.parametrize("changed", [{"rows": [1]}, {"format": 2}, {"terms": {"select": 5}}])
def test_a_document_that_shows_no_plan_is_refused(file: Path, changed: dict[str, Any]):
    document = {"format": 1, "campaign": "x", "rows": []}
    save_plan(document, file)
    assert read_plan(file).plan.campaign == "x"
    save_plan({**document, **changed}, file)
    with pytest.raises(BadInput, match="not a saved plan"):
        read_plan(file)


@pytest.mark.parametrize(
    ("rows", "left", "paid", "said", "needed"),
    [
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


@pytest.mark.safeguard(
    "tasks/campaign/plan_document.py", "for name in TERMS & told.keys()", "for name in told.keys()"
)
def test_a_saved_plan_approves_the_rows_that_it_shows_to_leave(file: Path):
    plan = a_plan(retiring=("a", "b", "c"), live=4, needs_word=True)
    save(plan, file, terms={"sheet": "s.csv", "same_campaign": True, "pay_again": True})
    check(plan, file)
    check(replace(plan, retiring=("a", "b")), file)
    with pytest.raises(SpendRefused, match="d: the sheet no longer has it"):
        check(replace(plan, retiring=("a", "d")), file)
    # What no plan is made with is not taken from a file.
    assert read_plan(file).terms == {"sheet": "s.csv", "same_campaign": True}


#: What nobody knows the price of is covered by no amount, and prices may rise by a tenth.
AMOUNTS = [
    ([15, 15], 33, True), ([15, 15], 32, False), ([15, 15], None, False), ([15, None], 1000, False),
    ([None], 0, False), ([], 0, True), ([], None, False),
]  # fmt: skip


@pytest.mark.safeguard(
    "tasks/campaign/quotes.py", "at_most is not None and not plan.unpriced", "at_most is not None"
)
@pytest.mark.parametrize(("prices", "at_most", "within"), AMOUNTS)
def test_an_amount_covers_what_it_is_the_price_of(prices, at_most, within):
    plan = a_plan(*(line(str(n), price) for n, price in enumerate(prices)))
    plan = replace(plan, tolerance=Decimal("0.1"))
    assert is_within(plan, None if at_most is None else Decimal(at_most)) is within


@dataclass
class Watched:
    """A ledger, and how many rows it had whenever somebody else could have written."""

    ledger: Ledger
    seen: list[int] = field(default_factory=list)

    async def read(self, query: Any, /, *args: Any, **named: Any) -> Any:
        return await self.ledger.read(query, *args, **named)

    async def write(self, change: Any, /, *args: Any, **named: Any) -> Any:
        done = await self.ledger.write(change, *args, **named)
        self.seen.append(len(await self.ledger.read(rows_of, campaign_id=1)))
        return done


async def taken_in(ledger: Ledger, *briefs: Brief) -> list[int]:
    """Take a sheet in; return how many rows there were after each piece."""
    sheet = Sheet(
        campaign="spring", address="s.csv", name="s.csv", digest="d" * 64, budget=None,
        briefs=briefs, columns=(), advice=(),
    )  # fmt: skip
    plan = await plan_sheet(ledger, sheet, OPTIONS)
    campaign = await ledger.write(campaign_of, sheet=sheet, options=OPTIONS, at=NOW)
    watched = Watched(ledger)
    await take_rows_in(watched, campaign, sheet, OPTIONS, plan, at=NOW)
    return watched.seen


def many(first: int, last: int) -> list[Brief]:
    return [brief(f"r{n}", topic=f"topic {n}") for n in range(first, last)]


@pytest.mark.merge
async def test_others_write_between_two_pieces(ledger: Ledger) -> None:
    assert await taken_in(ledger, *many(0, 4500)) == [2000, 4000, 4500]
    assert await taken_in(ledger, *many(0, 4500)) == []
    assert await taken_in(ledger, *many(0, 4600)) == [4600]


@pytest.mark.safeguard("tasks/campaign/sheet_verb.py", "retire=False,", "retire=True,")
@pytest.mark.safeguard("tasks/ledger/sync.py", "return compares_all", "return False")
@pytest.mark.merge
@pytest.mark.parametrize("first", [False, True])
async def test_a_row_that_has_another_id_keeps_its_video_and_is_taken_in_once(ledger, first: bool):
    stage = await Stage.set(ledger, brief("old", topic="Tea"), brief("gone"), *many(0, 10))
    await stage.delivered("old")

    new, others = [brief("new", topic="Tea")], many(0, 4000)
    seen = await taken_in(ledger, *(new + others if first else others + new))

    rows = {row.row: row for row in await stage.rows()}
    assert seen == [4002] if first else seen[-1] == 4002
    # Nobody has approved that it leaves.
    assert (rows["new"].state, rows["gone"].state) == ("delivered", "planned")
    assert "old" not in rows
