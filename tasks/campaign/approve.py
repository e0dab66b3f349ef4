"""Approves a plan as it was shown, or nothing of it: one transaction for every verb and every door.

A verb says who plans it, which only reads, and what approving its lines writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import NamedTuple, Protocol

from sqlalchemy import Connection

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import store_approved, stored_plan
from callsheet.tasks.campaign.quotes import check_budget, check_wanted
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.accounts import AtLimit
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, set_apart, set_budget
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.plans import KeptPlan, PlanKind, approve_plan, find_plan
from callsheet.tasks.ledger.present_rows import approved_credits, lock_campaign, present_rows
from callsheet.tasks.ledger.quotes import approve as approve_quoted
from callsheet.tasks.ledger.quotes import changed_since
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.errors import MovedOn
from callsheet.tasks.values.amounts import in_credits

#: Lines by the number of their row in the ledger.
Lines = Mapping[int, PlanLine]
#: Takes part in an approval before anything of it is written; raises SpendRefused to refuse it.
Check = Callable[[Connection, Campaign, Plan], None]


class Planner(Protocol):
    """Plans what was asked for from the ledger alone, without prices; writes nothing.

    With `make` the rows are made at once. Raises BadInput or SpendRefused for what cannot be.
    """

    def __call__(self, connection: Connection, ask: RunOptions, *, make: bool) -> Plan: ...


class Effect(NamedTuple):
    """What approving lines writes, of many rows at once: guarded moves of rows in `states`.

    A plan is a document, so that a line of it may claim any state.
    """

    states: frozenset[State]
    write: Callable[[Connection, Campaign, Lines, Plan, float], None]


class Verb(NamedTuple):
    """What is done to rows: how it is planned, what approving its lines writes and checks.

    `settle` writes what the plan sets besides its rows, after these.
    """

    kind: PlanKind
    plan: Planner
    effects: Mapping[Action, Effect]
    checks: Sequence[Check] = ()
    settle: Callable[[Connection, Campaign, Plan, float], None] | None = None


def approve(
    connection: Connection,
    plan: Plan,
    verb: Verb,
    *,
    by: str,
    at: float,
    budget: Decimal | None = None,
    at_limit: AtLimit | None = None,
    terms: Mapping[str, object] | None = None,
) -> Plan:
    """Approve a plan as it was shown; return it with its id and, as `by`, what histories say.

    `by` is who approves, `budget` what they give the campaign with it; with `at_limit` the plan
    need not fit that as a whole. `plan.id` is what is approved once: again, the plan that was
    approved then is returned, and nothing changes. A plan that was stored before is approved with
    `terms`, which its run is to go by.

    Raise MovedOn for anything that is not as it was shown, OverBudget, or SpendRefused for a
    campaign that was cancelled meanwhile. Whatever is raised, nothing is approved.
    """
    dialect_of(connection).hold_approvals(connection)
    campaign = _locked(connection, plan.campaign)
    stored = find_plan(connection, plan.id) if plan.id else None
    if stored is not None and stored.state == "approved":
        return stored_plan(stored)
    check_wanted(connection, replace(campaign, cancel_requested_at=plan.cancelled_at))
    if plan.sheet_digest and plan.sheet_digest != campaign.sheet_digest:
        raise changed_since([f"campaign {campaign.name} was given another sheet"])
    found = _as_shown(connection, campaign, plan, verb)
    plan = _with_budget(connection, campaign, plan, budget, at_limit)
    for check in verb.checks:
        check(connection, campaign, plan)
    plan = _stored(connection, plan, stored, verb.kind, by=by, terms=terms or {}, at=at)
    # Who approved it saw what other campaigns have paid for, and is not asked again.
    set_apart(connection, campaign.id, [one.campaign_id for one in plan.elsewhere])
    for effect in dict.fromkeys(verb.effects.values()):
        lines = {n: line for n, line in found.items() if verb.effects[line.action] == effect}
        effect.write(connection, campaign, lines, plan, at)
    if budget is not None:
        set_budget(connection, campaign, budget=budget, at=at)
    if verb.settle is not None:
        verb.settle(connection, campaign, plan, at)
    return plan


def with_committed(connection: Connection, campaign: Campaign, plan: Plan) -> Plan:
    """Return a plan that counts what its campaign was charged, has reserved and has approved.

    Rows that it pays for and that were approved before count once: in its total.
    """
    again = (line.priced or Decimal(0) for line in plan.spending if line.state == "approved")
    to_come = max(approved_credits(connection, campaign.id) - sum(again), Decimal(0))
    return replace(plan, committed=campaign.charged + campaign.reserved + to_come, to_come=to_come)


class _Shown(NamedTuple):
    """A row that is approved with the brief and the price that its line shows."""

    id: int
    campaign_id: int
    digest: str
    quoted: Decimal | None


def approve_lines(
    connection: Connection, campaign: Campaign, lines: Lines, plan: Plan, at: float
) -> None:
    """Approve quoted rows at the prices of their lines, with the new attempts that a plan allows.

    What was approved before stays as it is. Raise MovedOn for a row with another price.
    """
    shown = (_Shown(n, campaign.id, one.digest, one.priced) for n, one in lines.items())
    approve_quoted(connection, shown, by=plan.by, at=at, retries=plan.retry_failed)


def _locked(connection: Connection, name: str) -> Campaign:
    """Return a campaign as it is; no one else changes it until this transaction ends."""
    found = find_campaign(connection, name) if lock_campaign(connection, name) else None
    if found is None:
        raise MovedOn(f"there is no campaign {name} any more; nothing was approved or spent")
    return found


def _as_shown(
    connection: Connection, campaign: Campaign, plan: Plan, verb: Verb
) -> dict[int, PlanLine]:
    """Return the lines that approving is about; raise MovedOn for one whose row has changed."""
    found: dict[int, PlanLine] = {}
    changed: list[str] = []
    # A page at a time: a hundred thousand rows take more memory than their plan.
    for page in pages_of(line for line in plan.lines if line.action in verb.effects):
        now = present_rows(connection, campaign.id, [line.row for line in page])
        for line in page:
            row = now.get(line.row)
            if why := line.moved(row):
                changed.append(f"{line.row}: {why}")
            elif line.state not in verb.effects[line.action].states:
                changed.append(f"{line.row}: it is {line.state}")
            elif row is not None:
                found[row.id] = line
    if changed:
        raise changed_since(changed)
    return found


def _with_budget(
    connection: Connection,
    campaign: Campaign,
    plan: Plan,
    budget: Decimal | None,
    at_limit: AtLimit | None,
) -> Plan:
    """Return a plan with the budget that counts; raise OverBudget where it does not fit that.

    Raise MovedOn where another budget would be replaced than the one that was shown.
    """
    if budget is not None and campaign.budget != plan.budget:
        words = (
            "no budget" if campaign.budget is None else f"a budget of {in_credits(campaign.budget)}"
        )
        raise changed_since([f"campaign {campaign.name} has {words} now"])
    counts = campaign.budget if budget is None else budget
    plan = replace(with_committed(connection, campaign, plan), budget=counts)
    check_budget(plan, at_limit)
    return plan


def _stored(
    connection: Connection,
    plan: Plan,
    stored: KeptPlan | None,
    kind: PlanKind,
    *,
    by: str,
    terms: Mapping[str, object],
    at: float,
) -> Plan:
    """Store a plan with its approval, or the approval of one that was stored before."""
    if stored is None:
        new = replace(plan, id=None, by=by)
        if plan.id is not None:
            words, rows = f"{in_credits(plan.total)}, {by}", len(plan.spending)
            noting = partial(note_act, act="approve", campaign=plan.campaign, rows=rows)
            noting(connection, by=f"flow run {plan.id}", words=words, at=at)
        return store_approved(connection, new, at=at, kind=kind, plan_id=plan.id)
    if not approve_plan(connection, stored.id, terms=terms, by=by, at=at):
        raise MovedOn("the plan is no longer valid; nothing was approved or spent")
    return replace(plan, by=replace(stored, approved_by=by).on_board)
