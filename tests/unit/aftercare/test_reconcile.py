"""What counts as a difference, and what is done about it: no service, a real ledger."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.aftercare.findings import Finding, Repair, Repairs
from callsheet.tasks.aftercare.reconcile import KnownVideo, compare
from callsheet.tasks.aftercare.repairs import correct_ledger
from callsheet.tasks.aftercare.unrecorded import find_unrecorded, keys_of_briefs, keys_of_rows
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import Parked, SpendRefused
from callsheet.tasks.service import Video
from callsheet.tasks.values.briefs import CREATE, DIRECT, digest_of, idempotency_key
from tests.campaigns import CAMPAIGN, NOW, Stage, a_row, brief, sums
from tests.leasing import acquire_lease


def video(status: str = "completed", charged: int | None = None, **raw: object) -> Video:
    cost = None if charged is None else Decimal(charged)
    return Video(id="vid_1", status=status, poll_after=None, charged=cost, raw=raw)


def found(
    row: CampaignRow, seen: Video | None, *, ready: bool = False, by_hand: bool = False
) -> list[tuple[str, Repair | None]]:
    assert row.take is not None
    known = KnownVideo(campaign=CAMPAIGN, row=row, take=row.take, by_hand=by_hand)
    return [(one.verdict, one.repair) for one in compare(known, seen, ready=ready)]


def with_take(row: CampaignRow, **own: object) -> CampaignRow:
    return replace(row, take=replace(row.take, **own))


@pytest.mark.parametrize("state", ["stalled", "held"])
@pytest.mark.parametrize(
    ("status", "ready", "verdict"),
    [
        ("generating", False, "rendering"),
        ("completed", True, "undelivered"),
        ("odd", True, "undelivered"),
        ("failed", False, "ended"),
    ],
)
def test_a_row_that_rests_is_taken_up_again(state, status: str, ready: bool, verdict: str) -> None:
    assert found(a_row(state), video(status), ready=ready) == [(verdict, "fetch")]


@pytest.mark.parametrize("state", ["failed", "cancelled", "retired"])
def test_a_row_that_was_given_up_is_left_to_a_person(state) -> None:
    assert found(a_row(state), video(), ready=True) == [("undelivered", None)]


def test_what_a_run_is_doing_is_no_difference() -> None:
    assert found(a_row("rendering"), video("generating")) == []
    assert found(a_row("stalled"), video("odd")) == []
    delivered = with_take(a_row("delivered"), delivered_at=NOW, charged=Decimal(12))
    assert found(delivered, video("completed", charged=12)) == []


def test_a_video_that_is_gone_is_never_set_right_by_itself() -> None:
    for row in (a_row("stalled"), with_take(a_row("delivered"), delivered_at=NOW)):
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


def test_keys_tell_whose_a_video_is() -> None:
    row = a_row("planned")
    take = replace(row.take, digest="older")
    derived = {**keys_of_rows([row], [(row, take)]), **keys_of_briefs({"fall": [brief("b")]})}

    def key(campaign: str, name: str, digest: str, nth: int) -> str:
        return idempotency_key(
            campaign=campaign, row=name, operation=CREATE, digest=digest, nth=nth
        )

    keys = [key("spring", "a", "older", 2), key("fall", "b", brief("b").digest, 1), "cs1_nobodys"]
    videos = [replace(video(idempotency_key=k), id=f"vid_{n}") for n, k in enumerate(keys)]
    videos += [video(idempotency_key="theirs"), video()]
    lost, others = find_unrecorded(videos, frozenset(), derived, None)
    assert [one.owner for one in lost] == [
        ("spring", "a"), ("fall", "b"), (None, None),
    ]  # fmt: skip
    assert others == 2
    only, others = find_unrecorded(videos, frozenset(), derived, CAMPAIGN)
    assert [(one.owner[1], others) for one in only] == [("a", 4)]
    assert find_unrecorded(videos, frozenset(keys), derived, None) == ([], 5)


def test_a_video_typed_by_hand_is_not_a_lost_one() -> None:
    asked = {"tool": "explainer", "duration_seconds": 5, "start_generation": True}
    digest = digest_of(CREATE, asked)
    key = idempotency_key(campaign=DIRECT, row=digest, operation=CREATE, digest=digest, nth=2)
    ready = video(idempotency_key=key, **asked, language="en", aspect_ratio="9:16", title=None)
    assert find_unrecorded([ready], frozenset(), {}, None) == ([], 1)


def change(repair: Repair, row: CampaignRow, **own) -> Finding:
    video_id = own.pop("video_id", row.take.video_id)
    return Finding(verdict="match", row=row, take=row.take, repair=repair, video_id=video_id, **own)


async def settled(stage: Stage, *changes: Finding, sandbox: bool = False) -> list[bool]:
    plan = Repairs(findings=changes)
    done = await correct_ledger(stage.ledger, plan, sandbox=sandbox, clock=lambda: NOW)
    return [one.done is not None for one in done.findings]


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
    stalled, uncertain = (
        await stage.in_state("stalled"),
        await stage.in_state("uncertain", "b"),
    )
    fetch = change("fetch", stalled)
    adopt = change("adopt", uncertain, video_id="vid_9")
    assert await settled(stage, fetch, adopt) == [True, True]
    assert await settled(stage, fetch, adopt) == [False, False]
    assert {row.state for row in await stage.rows()} == {"rendering"}
    assert "reconciled" in (await stage.events("b"))[-1].words


async def test_nothing_is_settled_while_a_run_is_at_work(ledger: Ledger, stage: Stage) -> None:
    row = await stage.in_state("stalled")
    await ledger.write(acquire_lease, campaign=stage.campaign, owner="x:1:2:3")
    with pytest.raises(Parked):
        await settled(stage, change("fetch", row))
    assert (await stage.row()).state == "stalled"
