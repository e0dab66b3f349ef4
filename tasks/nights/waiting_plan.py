"""A plan that waits for somebody's word, put where the board shows it: one link, one button.

The board asks for the prices anew when it is approved, so it may wait until the next night.
"""

from __future__ import annotations

import asyncio
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection

from tasks.campaign.board_plan import PlanTerms, run_document
from tasks.campaign.handed_in import fit_name, keep_bytes
from tasks.campaign.match import Match
from tasks.campaign.plan_keeping import ask_plan
from tasks.campaign.priced_plan import PricedPlan
from tasks.campaign.values import Plan, RunOptions
from tasks.ledger import KeptSheet, Ledger, finish_plan, keep_sheet, plans_of, void_plan
from tasks.settings import Settings
from tasks.sheet import Sheet

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

    It takes the place of the plans that nights before it made of the campaign.
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
    plan_id = uuid4().hex
    begin = partial(ask_plan, plan_id=plan_id, kind="run", campaign=plan.campaign, by=by, at=at)

    def keep(connection: Connection) -> None:
        keep_sheet(connection, kept)
        begin(connection, terms=terms.as_json(), sheet_id=kept.id)
        finish_plan(
            connection,
            plan_id,
            campaign=plan.campaign,
            document=document,
            total=plan.total,
            expires_at=at + WAITS,
        )
        for other in plans_of(connection, plan.campaign, limit=20):
            if other.state == "ready" and other.made_by.startswith(BY) and other.id != plan_id:
                words = "a later night has made another plan"
                void_plan(connection, other.id, old="ready", words=words, replaced_by=plan_id)

    await ledger.write(keep)
    return plan_id
