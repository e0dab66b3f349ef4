"""A plan that waits for somebody's word, put where the board shows it: one link, one button.

The board asks for the prices anew when it is approved, so it may wait until the next night.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection

from callsheet.tasks.campaign.board_plan import PlanTerms, run_document
from callsheet.tasks.campaign.handed_in import fit_name, keep_bytes
from callsheet.tasks.campaign.match import Match
from callsheet.tasks.campaign.plan_keeping import ask_plan
from callsheet.tasks.campaign.priced_plan import PricedPlan
from callsheet.tasks.campaign.values import Plan, RunOptions
from callsheet.tasks.ledger import (
    KeptPlan,
    KeptSheet,
    Ledger,
    find_sheet,
    finish_plan,
    keep_sheet,
    void_plan,
)
from callsheet.tasks.ledger.plans import drop_old_plans, extend_plan, ready_plans
from callsheet.tasks.settings import Settings
from callsheet.tasks.sheet import Sheet

#: How long it waits, in seconds: over the next night and the morning after.
WAITS = 36 * 3600.0
#: Who makes such a plan; the date follows.
BY = "the night of"


async def keep_plan(
    ledger: Ledger,
    settings: Settings,
    sheet: Sheet,
    plan: Plan,
    *,
    content: bytes,
    options: RunOptions,
    night: str,
    at: float,
) -> str:
    """Keep a priced plan of a sheet, in the very bytes it was made of; return the plan's id.

    A plan of an earlier night that says the same stays, and waits for longer: the link that was
    mailed leads to it. Else this one takes the place of those.
    """
    name, by = fit_name(sheet.name), f"{BY} {night}"
    _, digest = await asyncio.to_thread(keep_bytes, settings, name, content)
    kept = KeptSheet(
        id=uuid4().hex, name=name, place=sheet.address, digest=digest, added_by=by, added_at=at
    )
    terms = PlanTerms(
        campaign=plan.campaign,
        budget=options.budget,
        hidden_rows=settings.hidden_rows,
        sandbox=options.sandbox,
    )
    document = run_document(PricedPlan(sheet, plan, Match()))
    new = _NewPlan(kept, terms.as_json(), document, plan.total, plan.campaign)
    return await ledger.write(partial(_keep, new=new, by=by, at=at))


class _NewPlan(NamedTuple):
    sheet: KeptSheet
    terms: dict[str, Any]
    document: dict[str, Any]
    total: Decimal
    campaign: str


def _keep(connection: Connection, new: _NewPlan, *, by: str, at: float) -> str:
    before = ready_plans(connection, new.campaign, made_by=BY)
    for other in reversed(before):
        if other.state_at(at) == "ready" and _says_the_same(connection, other, new):
            extend_plan(connection, other.id, expires_at=at + WAITS)
            return other.id
    plan_id = uuid4().hex
    keep_sheet(connection, new.sheet)
    ask_plan(
        connection,
        plan_id,
        kind="run",
        campaign=new.campaign,
        terms=new.terms,
        by=by,
        at=at,
        sheet_id=new.sheet.id,
    )
    finish_plan(
        connection,
        plan_id,
        campaign=new.campaign,
        document=new.document,
        total=new.total,
        expires_at=at + WAITS,
    )
    words = "a later night has made another plan"
    for other in before:
        void_plan(connection, other.id, old="ready", words=words, replaced_by=plan_id)
    drop_old_plans(connection, at=at)
    return plan_id


def _says_the_same(connection: Connection, other: KeptPlan, new: _NewPlan) -> bool:
    """Whether a plan is of the same bytes, on the same terms, with the same rows and prices."""
    sheet = find_sheet(connection, other.sheet_id or "")
    if sheet is None or (sheet.digest, sheet.place) != (new.sheet.digest, new.sheet.place):
        return False
    return other.terms == new.terms and _lasting(other.document or {}) == _lasting(new.document)


def _lasting(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a plan says of its sheet, without what other runs and its own planning change."""
    told: dict[str, Any] = json.loads(json.dumps(document))
    credits = {**told.get("credits", {}), "balance": None}
    rows = [{**row, "state": None} for row in told.get("rows", ())]
    return {**told, "credits": credits, "rows": rows, "live": None}
