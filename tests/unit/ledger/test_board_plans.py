"""Plans of the board in the ledger: one way through their states, one run each, one word each."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, select, update
from sqlalchemy.exc import OperationalError

from callsheet.tasks.aftercare.approval import approve_on_board
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.stored_plans import ask_plan, replace_plan
from callsheet.tasks.ledger import plans
from callsheet.tasks.ledger.audit_log import acts_of, note_act
from callsheet.tasks.ledger.campaigns import ensure_campaign, find_campaign
from callsheet.tasks.ledger.database import ledger_url
from callsheet.tasks.ledger.leases import run_lease
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.people import Role, allow_agent, invite_person, revoke_person
from callsheet.tasks.ledger.runs import (
    RunRow,
    claim_run,
    end_run,
    find_run,
    note_begun,
    open_runs,
    renew_run,
    run_again,
    run_for,
)
from callsheet.tasks.ledger.schema_runs import people
from callsheet.tasks.runtime.errors import AllowanceSpent, MovedOn, NotApproved
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.briefs import Brief
from tests.board.with_videos import with_videos
from tests.campaigns import Stage, brief
from tests.databases import empty_ledger
from tests.leasing import let_lapse

NOW = 1_800_000_000.0
DAY = 86_400.0


def row_of(campaign: str) -> Brief:
    """Return the one row of a campaign's sheet; spring and autumn have the same."""
    return brief("r1", "Tea" if campaign in ("spring", "autumn") else campaign)


async def ready(
    ledger: Ledger,
    plan_id: str,
    *,
    at: float = NOW,
    credits: int = 20,
    line: Mapping[str, Any] = {},
    again: Mapping[str, Any] | None = None,
    campaign: str = "spring",
    by: str = "Ann",
    **more: Any,
) -> plans.KeptPlan:
    """Have a plan that waits for somebody's word; it holds for a quarter of an hour.

    `line` is more that it says of its row, `again` the row of which it would have another take, as
    it is shown, `more` other members of its document.
    """
    kind: plans.PlanKind = "retake" if again else "run"
    named: dict[str, Any] = {"plan_id": plan_id, "campaign": campaign}
    await ledger.write(ask_plan, **named, kind=kind, terms={}, by=by, at=at)
    first = {"row": "r1", "action": "make", "digest": row_of(campaign).digest}
    shown = {"action": "retake", **again} if again else first
    rows = [{**shown, "quoted": credits, **line}]
    named |= {"document": {"campaign": campaign, "rows": rows, **more}}
    assert await ledger.write(
        plans.finish_plan, **named, total=Decimal(credits), expires_at=at + 900
    )
    found = await ledger.read(plans.find_plan, plan_id=plan_id)
    assert found is not None
    return found


async def approved(
    ledger: Ledger,
    plan: plans.KeptPlan,
    *,
    by: str = "Ann",
    role: Role = "approver",
    allowance: int | None = None,
    at: float = NOW + 1,
) -> str:
    """Approve a plan as the board does; return its run."""
    person = await approver(ledger, by, role=role, allowance=allowance)
    approve = approving(plan, run_id=f"run-{plan.id}-{by}", person=person)
    return (await approve(ledger, at=at)).id


def approving(plan: plans.KeptPlan, **more: Any) -> Callable[..., Awaitable[RunRow]]:
    """Return what approves a plan in a ledger, with its sheet where it is of one."""
    sheet = None
    if plan.kind == "run":
        sheet = Sheet(
            campaign=plan.campaign, address="s.csv", name="s.csv", digest="d", budget=None,
            briefs=(row_of(plan.campaign),), columns=("id", "topic"), advice=(),
        )  # fmt: skip
    return partial(approve_on_board, plan=plan, options=RunOptions(), sheet=sheet, **more)


async def approver(
    ledger: Ledger, name: str, *, role: Role = "approver", allowance: int | None = None
) -> int:
    """Have a person with this role and allowance; return their id."""
    amount = None if allowance is None else Decimal(allowance)
    invite = partial(invite_person, name=name, role=role, allowance=amount, by="Ada", at=NOW)
    secrets = partial(invite, token=f"token {name}", login=f"login {name}", login_until=NOW)
    return (await ledger.write(secrets, again=True)).id


async def begun(ledger: Ledger, run_id: str, *, place: str = "here") -> None:
    """Have a run's approval known to the rows."""
    assert (
        await ledger.write(claim_run, run_id=run_id, place=place, at=NOW, seconds=60.0) is not None
    )
    await ledger.write(note_begun, run_id=run_id, at=NOW)


async def test_it_is_approved_once_and_again_is_the_same_run(ledger: Ledger):
    plan = await ready(ledger, "p1")
    assert (plan.state_at(NOW), plan.state_at(NOW + 900)) == ("ready", "expired")
    runs = {await approved(ledger, plan), await approved(ledger, plan, by="Bob")}
    assert runs == {"run-p1-Ann"}
    found = await ledger.read(plans.find_plan, plan_id="p1")
    assert (found.state, found.approved_by, found.approved_at) == ("approved", "Ann", NOW + 1)
    acts = await ledger.read(acts_of, campaign="spring", limit=9)
    assert (acts[0].act, acts[0].by, acts[0].rows) == ("approve", "Ann", 1)


@pytest.mark.safeguard(
    "tasks/campaign/sheet_verb.py",
    "if moved := moved_since(shown, now):\n        raise changed_since(moved)",
    "",
)
async def test_rows_of_an_approved_plan_count_in_other_campaigns(ledger: Ledger):
    one, other = await ready(ledger, "p1"), await ready(ledger, "p2", campaign="autumn")
    await approved(ledger, one)
    with pytest.raises(MovedOn, match="r1: campaign spring approved it"):
        await approved(ledger, other)


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py",
    "dialect_of(connection).hold_approvals(connection)\n    if already",
    "if already",
)
async def test_of_two_plans_that_two_processes_approve_at_once_one_stands(ledger, made_address):
    # Each is of another row: what they would change does not keep them apart.
    stage = await with_videos(ledger, 2)
    lines = [await shown(stage, row) for row in ("row-1", "row-2")]
    one, other = [await ready(ledger, f"p{line['row']}", again=line) for line in lines]
    held, over = threading.Event(), threading.Event()
    ann = await approver(ledger, "Ann")
    await approver(ledger, "Bob")
    approve = approving(one, run_id="run-p1", person=ann)

    class Slow:
        """The ledger, which takes its time to end the transaction that approves."""

        read = ledger.read

        async def write(self, change: Any, /, **named: Any) -> Any:
            def slowly(connection: Connection) -> Any:
                done = change(connection, **named)
                if "run_id" in named:
                    held.set()
                    # Who does not wait for the end of this transaction is through by then.
                    over.wait(1)
                return done

            return await ledger.write(slowly)

    async with await open_ledger(made_address) as elsewhere:
        first = asyncio.ensure_future(approve(Slow(), at=NOW + 1))
        assert await asyncio.to_thread(held.wait, 30)
        try:
            with pytest.raises(MovedOn, match="was approved by Ann meanwhile"):
                await approved(elsewhere, other, by="Bob")
        finally:
            over.set()
            await first


class Meanwhile:
    """A ledger to which somebody else is faster whenever it is written to."""

    def __init__(self, ledger: Ledger, happen: Callable[..., Awaitable[Any]]) -> None:
        self.read, self._write, self._happen = ledger.read, ledger.write, happen

    async def write(self, change: Any, /, **named: Any) -> Any:
        await self._happen(**named)
        return await self._write(change, **named)


LOST: list[tuple[dict[str, Any] | None, type[Exception]]] = [
    (None, NotApproved), ({"role": "reviewer"}, NotApproved), ({"allowance": 0}, AllowanceSpent)
]  # fmt: skip


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py",
    'if approver is None or not approver.may("agent"):',
    "if approver is None:",
)
@pytest.mark.parametrize(("now", "refusal"), LOST)
async def test_an_approval_reads_the_person_in_its_own_transaction(ledger: Ledger, now, refusal):
    """What the person was allowed when they sent the request does not count."""
    plan = await ready(ledger, "p1")
    ann = await approver(ledger, "Ann", allowance=100)

    async def lose(**_: Any) -> None:
        if now is None:
            await ledger.write(revoke_person, name="Ann", by="Ada", at=NOW)
        else:
            await approver(ledger, "Ann", **now)

    with pytest.raises(refusal):
        await approving(plan, run_id="r", person=ann)(Meanwhile(ledger, lose), at=NOW + 1)

    assert await ledger.read(run_for, plan_id="p1") is None


async def shown(stage: Stage, name: str) -> dict[str, Any]:
    """Return a row as a plan of other takes shows it."""
    row = await stage.row(name)
    assert row.take is not None
    seen = {"state": row.state, "digest": row.digest, "nth": row.nth}
    return {"row": row.row, **seen, "take": row.take.number}


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py",
    "if rows := unquoted_rows(asked.shown, accepts_limits=is_person):",
    "if rows := list[str]():",
)
@pytest.mark.parametrize(
    ("line", "roles"),
    [
        ({"quoted": None}, ()),
        ({"operation": "image-to-video", "max_credits": 20}, ("approver",)),
        ({"operation": "create", "edit_of": "title", "max_credits": 20}, ("approver",)),
        ({"operation": "create", "edit_of": "title", "max_credits": None}, ("approver", "agent")),
        ({"operation": "create", "edit_of": None, "max_credits": 20}, ("approver", "agent")),
    ],
)
@pytest.mark.parametrize("role", ["approver", "agent"])
async def test_an_agents_allowance_covers_only_prices_of_the_service(ledger, line, roles, role):
    plan = await ready(ledger, "p1", line=line, by="x")
    if role not in roles:
        with pytest.raises(AllowanceSpent, match=r"no price for rows of the plan \(r1\)"):
            await approved(ledger, plan, by="x", role=role, allowance=1000)
        return
    # Its allowance covers it: what stops it is that the row of the sheet asks for a new video.
    with suppress(MovedOn):
        assert await approved(ledger, plan, by="x", role=role, allowance=1000)


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py", "if restored_since(connection, start_of_day(at)):", "if False:"
)
async def test_a_ledger_that_was_restored_today_knows_of_no_allowance(ledger: Ledger):
    start = NOW // DAY * DAY
    await ledger.write(note_act, act="restore", by="Ann", at=start - 1)
    await begun(ledger, await approved(ledger, await ready(ledger, "p1"), allowance=1000))
    await ledger.write(note_act, act="restore", by="Ann", at=NOW + 1)
    plan = await ready(ledger, "p2", at=NOW + 2)
    with pytest.raises(AllowanceSpent, match="restored from a backup today"):
        await approved(ledger, plan, allowance=1000, at=NOW + 3)
    assert await approved(ledger, plan, by="Bob", at=NOW + 3)


@pytest.mark.safeguard(
    "tasks/aftercare/approval.py", "if spent + total > allowance:", "if total > allowance:"
)
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


async def allowed(ledger: Ledger, credits: int | None) -> int:
    """Let an agent in, with this allowance; return its id."""
    change = partial(allow_agent, name="agent:a", token=None, by="Ada", at=NOW)
    amount = None if credits is None else Decimal(credits)
    return (await ledger.write(change, allowance=amount)).id


@pytest.mark.safeguard(
    "tasks/ledger/people.py", "func.coalesce(people.c.allowance, 0)", "people.c.allowance"
)
@pytest.mark.parametrize("credits", [None, 0, 19])
async def test_an_agent_approves_nothing_beyond_its_allowance(ledger: Ledger, credits: int | None):
    plan = await ready(ledger, "p1", by="agent:a")
    agent = await allowed(ledger, credits)
    if credits is None:
        # As no door writes it: a person without one has no limit.
        await ledger.write(lambda line: line.execute(update(people).values(allowance=None)))

    approve = approving(plan, run_id="r", person=agent)
    with pytest.raises(AllowanceSpent):
        await approve(ledger, at=NOW + 1)

    assert await ledger.read(open_runs) == []


async def test_plans_that_cannot_be_approved_any_more_go_after_a_month(ledger: Ledger):
    """What a run was started for stays, and what waits or was replaced of late."""
    carried = await ready(ledger, "run")
    await approved(ledger, carried)
    words = {"words": "edited", "by": "Ann"}
    for number, days in enumerate((0, 0, 31)):
        made = NOW + days * DAY
        old = await ready(ledger, f"old{number}", at=made)
        change = partial(replace_plan, old=old, plan_id=f"new{number}", terms={}, **words)
        await ledger.write(change, at=made)
    await ready(ledger, "expired")
    await ready(ledger, "waits", at=NOW + 31 * DAY)
    await ledger.write(plans.extend_plan, plan_id="old0", expires_at=0)
    await ledger.write(plans.extend_plan, plan_id="waits", expires_at=NOW + 90 * DAY)

    assert await ledger.write(plans.drop_old_plans, at=NOW + 32 * DAY) == 3

    left = {plan.id for plan in await ledger.read(plans.plans_of, campaign=None, limit=20)}
    assert left == {"run", "new0", "new1", "old2", "new2", "waits"}


@pytest.mark.safeguard(
    "tasks/ledger/runs.py",
    "free = not_(live(_LEASE)) | runs.c.ended_at.is_not(None)",
    "free = true()",
)
async def test_a_run_whose_lease_lapsed_is_taken_over_and_never_before(ledger: Ledger):
    run = await approved(ledger, await ready(ledger, "p1"))
    name = run_lease(run)
    claim = partial(claim_run, run_id=run, at=NOW, seconds=60.0)
    renew = partial(renew_run, run_id=run, seconds=60.0)
    again = partial(run_again, run_id=run, at=NOW)
    assert await ledger.write(claim, place="a host:1:1:a boot:0") is not None
    # A clock that is three hours ahead changes nothing: the database's own one counts.
    assert await ledger.write(claim, place="b", at=NOW + 3 * 3600) is None
    assert not await ledger.write(again)
    assert not await ledger.write(end_run_of(run), place=None)

    await ledger.write(let_lapse, name=name)
    found = await ledger.read(find_run, run_id=run)
    assert (found.place, found.leased_until) == ("a host:1:1:a boot:0", None)
    assert await ledger.write(again)
    assert await ledger.write(claim, place="b") is not None
    assert not await ledger.write(renew, place="a host:1:1:a boot:0")
    assert await ledger.write(renew, place="b")
    assert not await ledger.write(end_run_of(run), place="a host:1:1:a boot:0")
    assert await ledger.write(end_run_of(run), place="b")


def end_run_of(run: str) -> Any:
    return partial(end_run, run_id=run, exit_status=0, words=None, at=NOW)


@pytest.mark.safeguard(
    "tasks/ledger/plans.py",
    "connection.execute(select(people.c.id).where(people.c.name == person).with_for_update())",
    "connection.execute(select(people.c.id).where(people.c.name == person))",
)
async def test_two_approvals_of_one_person_are_counted_one_after_the_other(made_database: str):
    """SQLite has one writer; on PostgreSQL the person is locked until the transaction ends."""
    other = create_engine(ledger_url(made_database))
    ann = select(people.c.id).where(people.c.name == "Ann").with_for_update(nowait=True)

    def is_locked(connection: Connection) -> bool:
        plans.approved_today(connection, "Ann", at=NOW, to_approve=True)
        try:
            with other.connect() as elsewhere:
                elsewhere.execute(ann)
        except OperationalError as error:
            return "obtain lock" in str(error)
        return False

    try:
        async with await open_ledger(made_database) as ledger:
            invite = partial(invite_person, name="Ann", role="approver", by="Ada", at=NOW)
            await ledger.write(invite, token="t", login="l", login_until=NOW)
            assert await ledger.write(is_locked)
    finally:
        other.dispose()
        empty_ledger(made_database)


@pytest.mark.merge
@pytest.mark.parametrize("role", ["approver", "agent"])
async def test_an_allowance_covers_only_making_videos(ledger: Ledger, role: Role):
    approve = partial(approved, ledger, by="x", role=role, allowance=1000)
    kept = {"what": "retention", "words": "deleted after 1s", "by_settings": False}
    for more in ({"changes": [kept]}, {"line": {"action": "adopt"}}):
        plan = await ready(ledger, f"p1{len(str(more))}", credits=0, by="x", **more)
        with pytest.raises(AllowanceSpent, match="covers only making videos"):
            await approve(plan)
    settings = {"changes": [{**kept, "by_settings": True}]}
    await begun(ledger, await approve(await ready(ledger, "p2", by="x", **settings)))

    # In a campaign that Ann began, and one that a typed command made.
    await begun(ledger, await approved(ledger, await ready(ledger, "a1", campaign="hers")))
    await ledger.write(ensure_campaign, name="typed", sheet="s.csv", sheet_digest="0", at=NOW)
    for name, campaign in (("a2", "hers"), ("a3", "typed")):
        plan = await ready(ledger, name, at=NOW + 2, campaign=campaign, by="x")
        if role == "approver":
            assert await approve(plan, at=NOW + 3)
            continue
        with pytest.raises(AllowanceSpent, match="did not begin"):
            await approve(plan, at=NOW + 3)


async def test_who_was_refused_at_first_may_approve_when_the_allowance_is_enough(ledger: Ledger):
    """The ledger has taken the sheet in by then: the campaign is there, and nobody began it."""
    first = await ready(ledger, "p1", by="x")
    person = await approver(ledger, "x", role="agent", allowance=1000)

    class Refusing:
        """The ledger, in which the allowance is spent in the moment before the approval."""

        read = ledger.read

        async def write(self, change: Any, /, **named: Any) -> Any:
            if "run_id" in named:
                raise AllowanceSpent("spent meanwhile")
            return await ledger.write(change, **named)

    with pytest.raises(AllowanceSpent, match="spent meanwhile"):
        await approving(first, run_id="r1", person=person)(Refusing(), at=NOW + 1)
    assert await ledger.read(find_campaign, name="spring") is not None

    again = await ready(ledger, "p2", at=NOW + 2, by="x")
    assert await approving(again, run_id="r2", person=person)(ledger, at=NOW + 3)
