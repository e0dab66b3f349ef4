"""Rows with dates: which wait, in which order they are made, and which are late."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import plan_sheet, with_late
from callsheet.tasks.campaign.report import sums_of, warnings_of
from callsheet.tasks.ledger.figures import late_rows, waiting_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_selection import rows_to_process
from callsheet.tasks.ledger.values import Pace, State, pace_of
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, Stage, brief

LATER = 2_000_000_000.0
WAITING = {"deliver_after": LATER, "waits": True}
UNTIL = "waits until 2033-05-18 03:33 UTC"


def a_sheet(*briefs: Brief) -> Sheet:
    return Sheet(
        campaign="spring", address="s.csv", name="s.csv", digest="d", budget=None, briefs=briefs,
        columns=(), advice=(), read_at=NOW,
    )  # fmt: skip


@pytest.mark.safeguard(
    "tasks/ledger/diff.py", "return brief.enabled and not brief.waits", "return brief.enabled"
)
@pytest.mark.parametrize("state", ["planned", "quoted", "approved", "held", "retired"])
async def test_a_row_is_not_made_before_its_date(ledger: Ledger, stage: Stage, state: State):
    await stage.in_state(state)
    sheet = a_sheet(brief(**WAITING))
    plan = await plan_sheet(ledger, sheet, RunOptions())
    assert [(one.action, one.why) for one in plan.lines] == [("wait", UNTIL)]
    assert "1 row waits for its date" in sums_of(plan)[0]
    await stage.sync(*sheet.briefs)
    row = await stage.row()
    assert (row.state, row.reason, row.deliver_after) == ("planned", UNTIL, LATER)
    assert await ledger.read(waiting_of, campaign_id=stage.campaign.id) == {UNTIL: 1}
    before = len(await stage.events())
    await stage.sync(*sheet.briefs)
    assert len(await stage.events()) == before
    # Its date has come.
    await stage.sync(replace(sheet.briefs[0], waits=False))
    row = await stage.row()
    assert (row.state, row.reason) == ("planned", None)


async def test_what_is_to_be_delivered_earlier_is_made_first(ledger: Ledger) -> None:
    dates = {"a": None, "b": LATER, "c": LATER - 1, "d": None}
    briefs = [brief(row, deliver_by=by, priority=row == "d") for row, by in dates.items()]
    stage = await Stage.set(ledger, *briefs)
    for row in dates:
        await stage.approve(row)
    found = await ledger.read(lambda c: [one.row for one in rows_to_process(c, stage.campaign.id)])
    assert found == ["d", "c", "b", "a"]


async def test_the_plan_names_what_will_be_late_at_the_pace_so_far(ledger: Ledger) -> None:
    # A render takes 100 s, one is ready every 50 s: the third is ready in 200 s.
    briefs = [brief(row, row, deliver_by=NOW + 180) for row in "abc"]
    plan = await plan_sheet(ledger, a_sheet(*briefs, brief("d", "D")), RunOptions())
    assert plan.late == ()
    late = with_late(plan, Pace(100, 50), now=NOW)
    assert [one.row for one in late.late] == ["c"]
    (words,) = warnings_of(late)
    assert words.startswith("1 video will be late at the pace so far (a render takes 1m 40s")
    assert words.endswith("one is ready every 50s): c (by 1970-01-01 00:19 UTC)")
    assert with_late(plan, None, now=NOW) == plan
    assert with_late(plan, Pace(100, 50), now=NOW + 500).late == ()


async def test_pace_and_lateness_are_read_from_the_ledger(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(deliver_by=NOW - 1), brief("b", "B", deliver_by=NOW - 2))
    assert await ledger.read(pace_of, campaign_id=stage.campaign.id) is None
    await stage.ready("a")
    assert await ledger.read(pace_of, campaign_id=stage.campaign.id) == Pace(0, 0)
    late = partial(late_rows, campaign_id=stage.campaign.id, at=NOW)
    assert await ledger.read(late) == [("b", NOW - 2), ("a", NOW - 1)]
    await stage.in_state("delivered", "b")
    assert await ledger.read(late) == [("a", NOW - 1)]
