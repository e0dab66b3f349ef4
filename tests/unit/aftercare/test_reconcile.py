"""What counts as a difference or as damage, and what is done about it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.aftercare.findings import Finding, Repair, Repairs
from callsheet.tasks.aftercare.reconcile import KnownVideo, compare
from callsheet.tasks.aftercare.repairs import correct_ledger
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import CampaignRow, State
from callsheet.tasks.runtime.errors import Parked, SpendRefused
from callsheet.tasks.service import Video
from tests.campaigns import CAMPAIGN, NOW, VIDEO, Stage, a_row, brief, sums
from tests.leasing import acquire_lease


def video(status: str = "completed", charged: int | None = None, **raw: object) -> Video:
    cost = None if charged is None else Decimal(charged)
    return Video(id="vid_1", status=status, poll_after=None, charged=cost, raw=raw)


def found(row: CampaignRow, seen: Video | None, *, ready: bool = False, by_hand: bool = False):
    assert row.take is not None
    known = KnownVideo(campaign=CAMPAIGN, row=row, take=row.take, by_hand=by_hand)
    return [(one.verdict, one.repair) for one in compare(known, seen, ready=ready)]


def with_take(row: CampaignRow, **own: object) -> CampaignRow:
    return replace(row, take=replace(row.take, **own))


#: States of a row, what the service says, whether its video is there; the verdict and what is done.
FOUND: list[tuple[tuple[State, ...], str, bool, str, Repair | None]] = [
    (("stalled", "held"), "generating", False, "rendering", "fetch"),
    (("stalled", "held"), "completed", True, "undelivered", "fetch"),
    (("stalled", "held"), "odd", True, "undelivered", "fetch"),
    (("stalled", "held"), "failed", False, "ended", "fetch"),
    # What was given up is left to a person.
    (("failed", "cancelled", "retired"), "completed", True, "undelivered", None),
]


@pytest.mark.parametrize(("states", "status", "ready", "verdict", "repair"), FOUND)
def test_a_row_that_rests_is_taken_up_again(states, status, ready, verdict, repair):
    for state in states:
        assert found(a_row(state), video(status), ready=ready) == [(verdict, repair)]


def test_what_a_run_is_doing_is_no_difference() -> None:
    assert found(a_row("rendering"), video("generating")) == []
    assert found(a_row("stalled"), video("odd")) == []
    delivered = with_take(a_row("delivered"), delivered_at=NOW, charged=Decimal(12))
    assert found(delivered, video("completed", charged=12)) == []
    # A video that is gone is never set right by itself.
    for row in (a_row("stalled"), delivered):
        assert found(row, None) == [("gone", None)]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (video("completed", title="Tea", topic="Tea"), None),
        (video("generating"), 'the service says "generating" now'),
        (video("failed"), 'the service says "failed" now'),
        (video("completed", title="Coffee"), 'its title at the service is "Coffee" now'),
    ],
)
def test_what_changed_since_delivery_is_told(seen: Video, said: str | None) -> None:
    row = with_take(a_row("delivered"), delivered_at=NOW, body=b'{"title": " Tea"}')
    assert row.take is not None
    told = compare(KnownVideo(campaign=CAMPAIGN, row=row, take=row.take), seen)
    assert [one.verdict for one in told] == ["changed"] * (said is not None)
    assert said is None or said in told[0].words


def test_a_charge_is_compared_once_both_have_told_one() -> None:
    row = with_take(a_row("delivered"), delivered_at=NOW, charged=Decimal(12))
    assert found(row, video(charged=15)) == [("charge", "book")]
    assert found(row, video(charged=15), by_hand=True) == [("charge", None)]
    assert found(row, video("generating", charged=15)) == [("changed", None)]
    assert found(row, video()) == []


def change(repair: Repair, row: CampaignRow, **own) -> Finding:
    video_id = own.pop("video_id", row.take.video_id)
    return Finding(verdict="match", row=row, take=row.take, repair=repair, video_id=video_id, **own)


async def settled(stage: Stage, *changes: Finding, sandbox: bool = False) -> list[bool]:
    plan = Repairs(findings=changes)
    done = await correct_ledger(stage.ledger, plan, sandbox=sandbox, clock=lambda: NOW)
    return [one.done is not None for one in done.findings]


@pytest.mark.safeguard(
    "tasks/aftercare/repairs.py", "check_same_money(campaign, sandbox=sandbox)", ""
)
async def test_another_service_changes_nothing(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), budget=100)
    row = await stage.delivered()
    with pytest.raises(SpendRefused, match="made with the real service"):
        await settled(stage, change("book", row, charged=Decimal(0)), sandbox=True)
    assert (await stage.account()).charged == 12


async def test_a_charge_is_booked_once_and_the_account_follows(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), budget=100)
    row = await stage.delivered()
    book = change("book", row, charged=Decimal("9.5"))
    assert await settled(stage, book, book) == [True, False]
    assert (await stage.account()).charged == Decimal("9.5")
    reserved, charged, *both = await ledger.read(
        lambda connection: sums(connection, stage.campaign.id)
    )
    assert [reserved, charged] == both
    assert "instead of 12" in (await stage.events())[-1].words


async def test_a_row_that_has_moved_on_is_left_alone(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), brief("b"))
    stalled, uncertain = (await stage.in_state("stalled"), await stage.in_state("uncertain", "b"))
    fetch = change("fetch", stalled)
    adopt = change("adopt", uncertain, video_id="vid_9")
    assert await settled(stage, fetch, adopt) == [True, True]
    assert await settled(stage, fetch, adopt) == [False, False]
    assert {row.state for row in await stage.rows()} == {"rendering"}
    assert "reconciled" in (await stage.events("b"))[-1].words


@pytest.mark.safeguard(
    "tasks/aftercare/repairs.py",
    "await held.enter_async_context(leased(ledger, campaign, clock=clock))",
    "",
)
async def test_nothing_is_settled_while_a_run_is_at_work(ledger: Ledger, stage: Stage) -> None:
    row = await stage.in_state("stalled")
    await ledger.write(acquire_lease, campaign=stage.campaign, owner="x:1:2:3")
    with pytest.raises(Parked):
        await settled(stage, change("fetch", row))
    assert (await stage.row()).state == "stalled"


ROW = a_row("delivered")
assert ROW.take is not None
FILE = Finding(row=ROW, take=ROW.take, kind="mp4", file=VIDEO, verdict="missing")


def audit(*verdicts, **own) -> Repairs:
    found = [replace(FILE, verdict=verdict, **own) for verdict in verdicts if verdict != "intact"]
    return Repairs(campaign=CAMPAIGN, findings=found, files=len(verdicts))


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ((), 0), (("intact", "intact"), 0), (("intact", "missing"), 3), (("changed",), 3),
        (("unplayable",), 3), (("wanting",), 3), (("missing", "unknown"), 5), (("bare",), 0),
    ],
)  # fmt: skip
def test_what_could_not_be_looked_at_is_neither_whole_nor_lost(verdicts, status: int) -> None:
    assert audit(*verdicts).exit_status == status


def test_what_was_repaired_is_sound_again_and_still_told() -> None:
    found = audit("missing", "changed", "intact", done="fetched again")
    assert found.exit_status == 0
    assert found.counts() == {"total": 3, "intact": 1, "missing": 1, "changed": 1, "repaired": 2}
    repaired = [one["repaired"] for one in found.as_files(quick=False)["problems"]]
    assert repaired == ["fetched again"] * 2
