"""Plans of the board in the ledger: one way through their states, one run each, one word each."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection

from tasks.aftercare.approval import approve_on_board
from tasks.campaign.board_plan import PlanTerms
from tasks.campaign.plan_keeping import ask_plan, replace_plan
from tasks.errors import AllowanceSpent, MovedOn, NotApproved
from tasks.ledger import (
    KeptPlan,
    Ledger,
    PlanKind,
    acts_of,
    approve_plan,
    claim_run,
    end_run,
    find_plan,
    find_run,
    finish_plan,
    note_begun,
    open_ledger,
    open_runs,
    plans_quoting,
    run_again,
    run_for,
)
from tasks.ledger.people import Role, invite_person, revoke_person
from tasks.ledger.reviews import review
from tests.board.filmed import filmed
from tests.campaigns import Stage

NOW = 1_800_000_000.0
DAY = 86_400.0


async def ready(
    ledger: Ledger,
    plan_id: str,
    *,
    at: float = NOW,
    credits: int = 20,
    unpriced: int = 0,
    again: Mapping[str, Any] | None = None,
) -> KeptPlan:
    """Have a plan that waits for somebody's word; it holds for a quarter of an hour.

    `again` is the row of which it would have another take, as it is shown.
    """
    kind: PlanKind = "retake" if again else "run"
    begun = partial(ask_plan, plan_id=plan_id, kind=kind, campaign="spring", terms={})
    await ledger.write(partial(begun, by="Ann", at=at))
    line = {"action": "retake", **again} if again else {"row": "r1", "action": "make"}
    document = {
        "campaign": "spring",
        "credits": {"unpriced": unpriced},
        "rows": [{**line, "quoted": credits}],
    }
    done = partial(finish_plan, plan_id=plan_id, campaign="spring", document=document)
    assert await ledger.write(partial(done, total=Decimal(credits), expires_at=at + 900))
    found = await ledger.read(partial(find_plan, plan_id=plan_id))
    assert found is not None
    return found


async def approved(
    ledger: Ledger,
    plan: KeptPlan,
    *,
    by: str = "Ann",
    allowance: int | None = None,
    at: float = NOW + 1,
) -> str:
    """Approve a plan as the board does; return its run."""
    change = partial(approve_on_board, plan=plan, terms=PlanTerms(), run_id=f"run-{plan.id}-{by}")
    person = await approver(ledger, by, allowance=allowance)
    return (await ledger.write(partial(change, person=person, at=at))).id


async def approver(
    ledger: Ledger, name: str, *, role: Role = "approver", allowance: int | None = None
) -> int:
    """Have a person with this role and allowance; return their id."""
    amount = None if allowance is None else Decimal(allowance)
    invite = partial(invite_person, name=name, role=role, allowance=amount, by="Ada", at=NOW)
    secrets = partial(invite, token=f"token {name}", login=f"login {name}", login_until=NOW)
    return (await ledger.write(partial(secrets, again=True))).id


async def begun(ledger: Ledger, run_id: str, *, place: str = "here") -> None:
    """Have a run's approval known to the rows."""
    claim = partial(claim_run, run_id=run_id, place=place, instead_of=None, at=NOW)
    assert await ledger.write(claim) is not None
    await ledger.write(partial(note_begun, run_id=run_id, at=NOW))


async def test_a_plan_is_quoted_then_ready_and_expires_by_itself(ledger: Ledger):
    plan = await ready(ledger, "p1")
    assert (plan.state_at(NOW), plan.state_at(NOW + 900)) == ("ready", "expired")
    assert await ledger.read(plans_quoting) == []
    again = partial(finish_plan, plan_id="p1", campaign="other", document={}, total=Decimal(1))
    assert not await ledger.write(partial(again, expires_at=NOW))


async def test_it_is_approved_once_and_again_is_the_same_run(ledger: Ledger):
    plan = await ready(ledger, "p1")
    runs = {await approved(ledger, plan), await approved(ledger, plan, by="Bob")}
    assert runs == {"run-p1-Ann"}
    found = await ledger.read(partial(find_plan, plan_id="p1"))
    assert found is not None
    assert (found.state, found.approved_by, found.approved_at) == ("approved", "Ann", NOW + 1)
    acts = await ledger.read(partial(acts_of, campaign="spring", limit=9))
    assert [(act.act, act.by, act.rows) for act in acts] == [
        ("approve", "Ann", 1), ("plan", "Ann", None)
    ]  # fmt: skip


async def test_two_who_approve_at_once_have_one_run(ledger: Ledger):
    plan = await ready(ledger, "p1")
    runs = await asyncio.gather(*(approved(ledger, plan, by=name) for name in ("Ann", "Bob")))
    assert len(set(runs)) == 1
    assert len(await ledger.read(open_runs)) == 1


async def test_a_plan_made_before_another_was_approved_has_moved_on(ledger: Ledger):
    one, other = await ready(ledger, "p1"), await ready(ledger, "p2")
    await approved(ledger, one)
    with pytest.raises(MovedOn, match="Ann has approved another plan"):
        await approved(ledger, other, by="Bob")
    assert await ledger.read(partial(run_for, plan_id="p2")) is None


async def test_of_two_plans_that_two_processes_approve_at_once_one_stands(
    ledger: Ledger, made_address: str
):
    one, other = await ready(ledger, "p1"), await ready(ledger, "p2")
    held, over = threading.Event(), threading.Event()
    ann = await approver(ledger, "Ann")
    await approver(ledger, "Bob")
    how = partial(approve_on_board, plan=one, terms=PlanTerms(), run_id="run-p1", person=ann)

    def slowly(connection: Connection) -> None:
        how(connection, at=NOW + 1)
        held.set()
        # Who does not wait for the end of this transaction is through by then.
        over.wait(1)

    async with await open_ledger(made_address) as elsewhere:
        first = asyncio.create_task(ledger.write(slowly))
        assert await asyncio.to_thread(held.wait, 30)
        try:
            with pytest.raises(MovedOn, match="Ann has approved another plan"):
                await approved(elsewhere, other, by="Bob")
        finally:
            over.set()
            await first


@pytest.mark.parametrize(
    ("now", "refusal"), [("revoked", NotApproved), ("reviewer", NotApproved), (0, AllowanceSpent)]
)
async def test_an_approval_reads_the_person_in_its_own_transaction(
    ledger: Ledger, now: Any, refusal: type[Exception]
):
    """What the person was allowed when they sent the request does not count."""
    plan = await ready(ledger, "p1")
    ann = await approver(ledger, "Ann", allowance=100)
    if now == "revoked":
        await ledger.write(partial(revoke_person, name="Ann", by="Ada", at=NOW))
    elif now == "reviewer":
        await approver(ledger, "Ann", role="reviewer")
    else:
        await approver(ledger, "Ann", allowance=now)

    approve = partial(approve_on_board, plan=plan, terms=PlanTerms(), run_id="r", person=ann)
    with pytest.raises(refusal):
        await ledger.write(partial(approve, at=NOW + 1))

    assert await ledger.read(partial(run_for, plan_id="p1")) is None


async def test_a_plan_waits_until_an_approved_one_is_in_its_rows(ledger: Ledger):
    run = await approved(ledger, await ready(ledger, "p1"))
    later = await ready(ledger, "p2", at=NOW + 2)
    with pytest.raises(MovedOn, match="about to begin"):
        await approved(ledger, later, at=NOW + 3)
    await begun(ledger, run)
    assert await approved(ledger, later, at=NOW + 3)


@pytest.mark.parametrize(
    "changed",
    [{"state": "failed"}, {"digest": "0" * 64}, {"nth": 2}, {"take_id": 4711}, {"row": "gone"}, {}],
    ids=str,
)
async def test_another_take_is_of_what_was_shown_or_of_nothing(
    ledger: Ledger, changed: dict[str, Any]
):
    stage = await filmed(ledger, 1)
    plan = await ready(ledger, "p1", again={**await shown(stage, "row-1"), **changed})
    if changed:
        with pytest.raises(MovedOn, match="moved on in the meantime"):
            await approved(ledger, plan)
        assert (await stage.row("row-1")).state == "delivered"
    else:
        assert await approved(ledger, plan)
        assert (await stage.row("row-1")).state == "approved"


async def test_what_was_kept_since_it_was_shown_is_not_taken_again(ledger: Ledger):
    stage = await filmed(ledger, 1)
    line = await shown(stage, "row-1")
    plan = await ready(ledger, "p1", again=line)
    await stage.write(review, line["take_id"], "keep", by="Rita", at=NOW)
    with pytest.raises(MovedOn, match="moved on in the meantime"):
        await approved(ledger, plan)
    assert (await stage.row("row-1")).state == "delivered"


async def shown(stage: Stage, name: str) -> dict[str, Any]:
    """Return a row as a plan of other takes shows it."""
    row = await stage.row(name)
    assert row.take is not None
    seen = {"state": row.state, "digest": row.digest, "nth": row.nth}
    return {"row": row.row, **seen, "take_id": row.take.id}


async def test_an_allowance_covers_no_price_that_nobody_can_read(ledger: Ledger):
    plan = await ready(ledger, "p1", unpriced=1)
    with pytest.raises(AllowanceSpent, match="without a readable price"):
        await approved(ledger, plan, allowance=1000)
    assert await approved(ledger, plan)


async def test_an_allowance_is_for_a_day_and_for_all_plans_together(ledger: Ledger):
    first = await approved(ledger, await ready(ledger, "p1"), allowance=30)
    await begun(ledger, first)
    second = await ready(ledger, "p2", at=NOW + 2)
    with pytest.raises(AllowanceSpent, match="20 today") as refused:
        await approved(ledger, second, allowance=30, at=NOW + 3)
    assert "10 too many" in str(refused.value)
    assert await approved(ledger, second, by="Bob", allowance=30, at=NOW + 3)
    third = await ready(ledger, "p3", at=NOW + DAY)
    await begun(ledger, "run-p2-Bob")
    assert await approved(ledger, third, allowance=30, at=NOW + DAY)


async def test_a_plan_that_was_replaced_leads_to_the_one_in_its_place(ledger: Ledger):
    plan = await ready(ledger, "p1")
    change = partial(replace_plan, old=plan, terms={}, words="r1: edited since", by="Ann", at=NOW)
    assert await ledger.write(partial(change, plan_id="p2")) == "p2"
    assert await ledger.write(partial(change, plan_id="p3")) == "p2"
    old = await ledger.read(partial(find_plan, plan_id="p1"))
    assert old is not None
    assert (old.state, old.words, old.replaced_by) == ("void", "r1: edited since", "p2")
    assert await ledger.read(plans_quoting) == ["p2"]
    with pytest.raises(MovedOn):
        await approved(ledger, plan)
    assert not await ledger.write(partial(approve_plan, plan_id="p1", terms={}, by="A", at=NOW))


async def test_a_run_is_carried_by_one_at_a_time(ledger: Ledger):
    run = await approved(ledger, await ready(ledger, "p1"))
    claim = partial(claim_run, run_id=run, at=NOW)
    assert await ledger.write(partial(claim, place="a", instead_of=None)) is not None
    assert await ledger.write(partial(claim, place="b", instead_of=None)) is None
    # Who has it is known to be gone.
    assert await ledger.write(partial(claim, place="b", instead_of="a")) is not None
    ended = partial(end_run, run_id=run, exit_status=0, words=None, at=NOW)
    assert not await ledger.write(partial(ended, place="a"))
    assert await ledger.write(partial(ended, place="b"))
    assert await ledger.read(open_runs) == []
    assert await ledger.write(partial(claim, place="c", instead_of=None)) is None


async def test_a_parked_run_is_taken_up_when_it_is_due_and_an_ended_one_when_asked(ledger: Ledger):
    run = await approved(ledger, await ready(ledger, "p1"))
    claim = partial(claim_run, run_id=run, place="a", instead_of=None)
    end = partial(end_run, run_id=run, place="a", words=None, at=NOW)
    assert await ledger.write(partial(claim, at=NOW)) is not None
    assert not await ledger.write(partial(run_again, run_id=run, at=NOW))
    await ledger.write(partial(end, exit_status=5, due_at=NOW + 60))
    assert await ledger.write(partial(claim, at=NOW + 59)) is None
    assert await ledger.write(partial(claim, at=NOW + 60)) is not None
    await ledger.write(partial(end, exit_status=3))
    assert await ledger.write(partial(run_again, run_id=run, at=NOW + 99))
    found = await ledger.read(partial(find_run, run_id=run))
    assert found is not None
    assert (found.exit, found.due_at, found.is_over) == (3, NOW + 99, False)
