"""Changes of the ledger that are about plans of the board, each one transaction: begun, replaced.

Nothing here spends; approving is in `tasks.aftercare.approval`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.errors import SpendRefused
from callsheet.tasks.ledger import (
    KeptPlan,
    PlanKind,
    PricedRow,
    begin_plan,
    find_plan,
    note_act,
    void_plan,
)


def ask_plan(
    connection: Connection,
    plan_id: str,
    *,
    kind: PlanKind,
    campaign: str,
    terms: Mapping[str, Any],
    by: str,
    at: float,
    sheet_id: str | None = None,
) -> None:
    """Begin a plan that somebody asked for, and note that they did."""
    begin_plan(
        connection,
        plan_id,
        kind=kind,
        campaign=campaign,
        terms=terms,
        by=by,
        at=at,
        sheet_id=sheet_id,
    )
    note_act(connection, act="plan", by=by, at=at, campaign=campaign, words=f"plan {plan_id}")


def replace_plan(
    connection: Connection,
    old: KeptPlan,
    plan_id: str,
    *,
    terms: Mapping[str, Any],
    words: str,
    by: str,
    at: float,
    sheet_id: str | None = None,
) -> str:
    """Begin a plan in the place of one that no longer holds; return the id of the one that has it.

    Of two who do so at once the second is given what the first one began.
    """
    begin_plan(
        connection,
        plan_id,
        kind=old.kind,
        campaign=old.campaign,
        terms=terms,
        by=by,
        at=at,
        sheet_id=sheet_id or old.sheet_id,
    )
    if void_plan(connection, old.id, old=old.state, words=words, replaced_by=plan_id):
        return plan_id
    now = find_plan(connection, old.id)
    void_plan(connection, plan_id, old="quoting", words="a newer plan replaced it")
    return now.replaced_by or old.id if now is not None else plan_id


def check_still_stands(connection: Connection, _: Sequence[PricedRow], *, plan_id: str) -> None:
    """Check once more that a plan stands, in the transaction that approves its rows."""
    check_stands(find_plan(connection, plan_id))


def check_stands(plan: KeptPlan | None) -> None:
    """Raise SpendRefused when a plan was taken back after it was approved."""
    if plan is None or plan.state != "approved":
        why = plan.words if plan and plan.words else "it was withdrawn"
        raise SpendRefused(f"the plan is no longer valid: {why}; nothing was spent")
