"""What a sheet means for a row: every state, for every way in which the sheet can go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.ledger.diff import ACTIONS, diff_row, diff_sheet
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import close_call, open_call
from callsheet.tasks.ledger.values import STATES, TRANSITIONS, UNDER_WAY, State
from tests.campaigns import NOW, Stage, brief

TEA, COFFEE = brief(), brief(topic="Coffee")
OFF, COFFEE_OFF = brief(enabled=False), brief(topic="Coffee", enabled=False)

#: state: what happens when the row is unchanged, changed, switched off, changed and off, removed.
TABLE: dict[State, str] = {
    "planned": "make planned, make planned, none planned, none planned, retire retired",
    "quoted": "make quoted, make planned, none planned, none planned, retire retired",
    "approved": "make approved, make planned, none planned, none planned, retire retired",
    "submitting": ", ".join(["fetch submitting"] * 5),
    "rendering": ", ".join(["fetch rendering"] * 5),
    "ready": ", ".join(["fetch ready"] * 5),
    "delivered": "none delivered, retake planned, none delivered, none planned, retire retired",
    # Refused: nothing was made, so the same video is tried again.
    "held": "make held, make planned, none planned, none planned, retire retired",
    "rejected": "person rejected, make planned, person rejected, none planned, retire retired",
    "failed": "person failed, retake planned, person failed, none planned, retire retired",
    "stalled": "fetch rendering, retake planned, fetch rendering, none planned, retire retired",
    "uncertain": ", ".join([*["person uncertain"] * 4, "fetch uncertain"]),
    "cancelled": "person cancelled, make planned, person cancelled, none planned, retire retired",
    "retired": "make planned, make planned, none planned, none planned, retire retired",
}


@pytest.mark.parametrize("made_address", ["sqlite"], indirect=True)
@pytest.mark.parametrize("state", STATES)
async def test_every_state_goes_on_as_the_table_says(ledger: Ledger, state: State):
    stage = await Stage.set(ledger, TEA)
    row = await stage.in_state(state)
    seen = [diff_row(row, wanted) for wanted in (TEA, COFFEE, OFF, COFFEE_OFF, None)]
    assert ", ".join(f"{f.action} {f.state}" for f in seen) == TABLE[state]
    assert all(f.action in ACTIONS for f in seen)


@pytest.mark.parametrize("made_address", ["sqlite"], indirect=True)
@pytest.mark.parametrize("state", STATES)
async def test_syncing_carries_out_what_was_shown(ledger: Ledger, state: State):
    for name, wanted in [("same", TEA), ("new", COFFEE), ("off", OFF), ("gone", None)]:
        stage = await Stage.set(ledger, TEA, name=name)
        row = await stage.in_state(state)
        diff = diff_row(row, wanted)
        sheet = [wanted] if wanted else []
        await stage.sync(*sheet, at=5_000.0)
        after, events = await stage.row(), await stage.events()
        await stage.sync(*sheet, at=6_000.0)
        assert (await stage.row(), await stage.events()) == (after, events)
        assert after.state == diff.state, name
        moves = [(e.old, e.new) for e in events if e.kind == "state"]
        assert all(new in TRANSITIONS[old] for old, new in moves)  # type: ignore[index]
        if state in UNDER_WAY or state == "uncertain":
            assert (after.digest, after.request) == (row.digest, row.request)
        elif wanted:
            assert after.digest == wanted.digest


def test_a_new_row_is_made_or_left_off():
    assert (diff_row(None, TEA).action, diff_row(None, TEA).state) == ("make", "planned")
    assert (diff_row(None, OFF).action, diff_row(None, OFF).state) == ("none", "planned")


@pytest.mark.parametrize("made_address", ["sqlite"], indirect=True)
async def test_a_row_says_what_changed_until_it_is_made(ledger: Ledger):
    stage = await Stage.set(ledger, TEA)
    under_way = diff_row(await stage.in_state("rendering"), COFFEE)
    assert under_way.drifts
    assert "(topic)" in (under_way.why or "")
    made = await Stage.set(ledger, TEA, name="made")
    await made.in_state("delivered")
    for _ in "twice":
        diff = diff_row(await made.row(), COFFEE)
        assert (diff.action, diff.why) == ("retake", "changed: topic")
        await made.sync(COFFEE)
        assert (await made.row()).reason == "changed: topic"


@pytest.mark.parametrize("made_address", ["sqlite"], indirect=True)
async def test_a_limit_lowered_below_the_quote_takes_the_approval_back(ledger: Ledger):
    stage = await Stage.set(ledger, TEA)
    row = await stage.in_state("approved")
    assert diff_row(row, brief(max_credits=12)).state == "approved"
    assert diff_row(row, brief(max_credits=11)).state == "planned"


@pytest.mark.safeguard(
    "tasks/ledger/diff.py",
    'if row.state == "approved" and row.cost_center != brief.cost_center:',
    "if False:",
)
@pytest.mark.parametrize(("center", "state"), [("sales", "approved"), ("art", "planned")])
async def test_an_approved_row_that_is_charged_to_another_is_approved_again(ledger, center, state):
    stage = await Stage.set(ledger, brief(cost_center="sales"))
    await stage.approve()

    await stage.sync(brief(cost_center=center))

    row = await stage.row()
    assert (row.state, row.cost_center) == (state, center)


@pytest.mark.safeguard(
    "tasks/ledger/diff.py", "made.video_id in by_hand else made", "False else made"
)
@pytest.mark.parametrize(
    ("call", "action"),
    [(None, "edit"), ("refused", "edit"), ("made", "retake"), ("unknown", "retake")],
)
async def test_a_video_that_was_changed_by_hand_is_not_edited(ledger: Ledger, call, action):
    made, changed = (
        replace(brief(), request={"topic": "Tea", "title": title}) for title in ("Spring", "Summer")
    )
    stage = await Stage.set(ledger, made)
    await stage.delivered("a")
    if call is not None:
        opened = {"organisation": "", "operation": "voice", "body": b"", "target": "vid_a"}
        number = await stage.write(open_call, **opened, at=NOW)
        await stage.write(close_call, call_id=number, outcome=call, at=NOW)

    (one,) = await ledger.read(lambda c: list(diff_sheet(c, stage.campaign.id, [changed])))

    assert one.diff.action == action
