"""Approval in nightly runs: within standing limits, or as a plan that waits on the board.

The transaction that approves the rows enforces the limits over every process and scan of the
night; the checks here only report a problem earlier and more clearly.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection

from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.match import Match
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import check_retirement
from callsheet.tasks.campaign.report import say_elsewhere
from callsheet.tasks.campaign.stored_plans import PricedPlan, ask_plan, run_document
from callsheet.tasks.campaign.uploads import fit_name, keep_bytes
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import KeptNight, approve_in_night
from callsheet.tasks.ledger.plans import (
    KeptPlan,
    KeptSheet,
    drop_old_plans,
    extend_plan,
    find_sheet,
    finish_plan,
    keep_sheet,
    ready_plans,
    void_plan,
)
from callsheet.tasks.ledger.runs import drop_old_runs
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import count, in_credits


@dataclass(kw_only=True)
class NightApproval(Approver):
    """The standing approval of an inbox for one sheet in one night; `seen` is its last plan.

    `tolerance` is how far a price may rise after approval, as a fraction; it counts too.
    """

    ledger: Ledger
    inbox: Inbox
    night: KeptNight
    #: Start of the night: a ledger restored since then does not know what was approved.
    since: float
    place: str
    sheet: str
    #: The command with which a person runs the sheet and approves it.
    again: str
    tolerance: Decimal
    #: New takes of each row that may fail; they count, too.
    retries: int = 0
    seen: Plan | None = None

    def __post_init__(self) -> None:
        self.limits = (self.count,)

    async def see(self, plan: Plan) -> Plan:
        """Keep the stored budget of the campaign for a plan that needs no approval.

        Sheet and inbox only set maximums. Only an approval can raise a budget that a person set.
        """
        self.seen = plan
        found = await self.ledger.read(find_campaign, name=plan.campaign)
        if found is not None and found.budget is not None and not plan.unapproved:
            budget = found.budget if plan.budget is None else min(plan.budget, found.budget)
            return replace(plan, budget=budget)
        return plan

    async def approve(self, plan: Plan) -> Plan:
        """Return the plan as approved; raise SpendRefused if the limits do not cover it."""
        check_retirement(plan, f"{self.again} --retire")
        if words := self._question(plan):
            raise SpendRefused(f"{words}; nothing was spent", remedy=self._remedy)
        words = f"approved by the standing approval of inbox {self.inbox.name}, {self.night.date}"
        return plan.approved(words)

    @property
    def _remedy(self) -> str:
        return f"check the plan and approve it:\n  {self.again}"

    def _question(self, plan: Plan) -> str | None:
        """Return what only a person can answer; None where the limits may cover a plan."""
        if self.inbox.approval == "plan-only":
            price = in_credits(plan.total, plan.credit_price)
            what = f"{price} for {count(len(plan.spending), 'row')}"
            if plan.changes and not plan.spending:
                what = "; ".join(one.words for one in plan.changes)
            return f"the plan waits for approval: {what}"
        if plan.elsewhere:
            return " and ".join(say_elsewhere(plan))
        if plan.adopting:
            videos = count(len(plan.adopting), "video")
            return f"{videos} would be taken over, which no standing approval covers"
        if plan.unpriced:
            rows = count(plan.unpriced, "row has", "rows have")
            return f"{rows} no readable price, which no standing approval covers"
        return None

    def count(self, connection: Connection, campaign: Campaign, plan: Plan) -> None:
        """Count the credits in the transaction that approves; raise SpendRefused above a limit."""
        assert self.inbox.per_night is not None, "an inbox that spends has a limit"
        lines = [line for line in plan.spending if line.state != "approved"]
        if any(line.priced is None for line in lines):
            raise SpendRefused("a price is not readable any more; nothing was spent")
        total = sum((line.priced or Decimal(0) for line in lines), Decimal(0))
        try:
            approve_in_night(
                connection,
                self.night.id,
                since=self.since,
                place=self.place,
                sheet=self.sheet,
                credits=total * (1 + self.tolerance) * (1 + self.retries),
                per_night=self.inbox.per_night,
                per_sheet=self.inbox.per_sheet,
                credit_price=plan.credit_price,
            )
        except SpendRefused as refusal:
            refusal.remedy = self._remedy
            raise


# Stores a plan that waits for approval, so that the board shows it: one link, one button.
#
# The board checks the prices again on approval, so the plan may wait until the next night.


#: How long a plan waits, in seconds: until the morning after the next night.
WAITS = 36 * 3600.0
#: The owner of such a plan; the date follows.
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
    """Store a priced plan with the exact bytes of its sheet; return the id of the plan.

    An equal plan of an earlier night stays and waits longer, because its link was already sent.
    Otherwise the new plan replaces the earlier ones.
    """
    name, by = fit_name(sheet.name), f"{BY} {night}"
    _, digest = await asyncio.to_thread(keep_bytes, settings, name, content)
    kept = KeptSheet(
        id=uuid4().hex, name=name, place=sheet.address, digest=digest, added_by=by, added_at=at
    )
    terms = RunOptions(
        campaign=plan.campaign,
        budget=options.budget,
        hidden_rows=settings.hidden_rows,
        sandbox=options.sandbox,
        canary=options.canary,
        waves=options.waves,
    )
    document = run_document(PricedPlan(sheet, plan, Match()))
    keep = partial(_keep, sheet=kept, terms=terms.kept(), document=document, plan=plan)
    return await ledger.write(keep, by=by, at=at)


def _keep(
    connection: Connection,
    *,
    sheet: KeptSheet,
    terms: dict[str, Any],
    document: dict[str, Any],
    plan: Plan,
    by: str,
    at: float,
) -> str:
    before = ready_plans(connection, plan.campaign, made_by=BY)
    for other in reversed(before):
        if other.state_at(at) == "ready" and _is_of(connection, other, sheet, terms, document):
            extend_plan(connection, other.id, expires_at=at + WAITS)
            return other.id
    made = {"campaign": plan.campaign, "plan_id": uuid4().hex}
    keep_sheet(connection, sheet)
    ask_plan(connection, kind="run", terms=terms, by=by, at=at, sheet_id=sheet.id, **made)
    finish_plan(connection, document=document, total=plan.most, expires_at=at + WAITS, **made)
    words = "a later nightly run made a new plan"
    for other in before:
        void_plan(connection, other.id, old="ready", words=words, replaced_by=made["plan_id"])
    drop_old_runs(connection, at=at)
    drop_old_plans(connection, at=at)
    return made["plan_id"]


def _is_of(
    connection: Connection,
    other: KeptPlan,
    sheet: KeptSheet,
    terms: dict[str, Any],
    document: dict[str, Any],
) -> bool:
    """Return whether a plan has the same bytes, terms, rows and prices."""
    found = find_sheet(connection, other.sheet_id or "")
    if found is None or (found.digest, found.place) != (sheet.digest, sheet.place):
        return False
    return other.terms == terms and _lasting(other.document or {}) == _lasting(document)


def _lasting(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a plan that depend only on its sheet."""
    told: dict[str, Any] = json.loads(json.dumps(document))
    credits = {**told.get("credits", {}), "balance": None}
    rows = [{**row, "state": None} for row in told.get("rows", ())]
    return {**told, "credits": credits, "rows": rows, "live": None, "limits": None}
