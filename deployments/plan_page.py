"""A saved plan as one page of HTML: for the person who pays, without a board or a script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from typing import Any

from callsheet.deployments.board.page import rendered
from callsheet.deployments.board.plan_view import shown_plan
from callsheet.deployments.board.services.plans import PlanView
from callsheet.tasks.campaign.plan_document import plan_of
from callsheet.tasks.campaign.report import sums_of, warnings_of
from callsheet.tasks.campaign.values import PAID
from callsheet.tasks.ledger.plans import KeptPlan
from callsheet.tasks.values.amounts import CreditPrice, parse_credits

#: The parts of the page, by the actions in each; other actions are in the last one.
_PARTS = {
    "Paid for": PAID,
    "Waiting": ("wait",),
    "On hold or needs attention": ("person",),
}
_REST = "Nothing to pay"
#: The style sheet explains itself to the people who write pages.
_COMMENT = re.compile(r"/\*.*?\*/\s*", re.DOTALL)


def plan_page(
    document: Mapping[str, Any], *, command: str, price: CreditPrice | None = None
) -> str:
    """Return the page, with the plan's document in it; `command` runs exactly this plan.

    With the price of a credit, all prices are in money too.
    """
    made_at = datetime.fromisoformat(document["made_at"]).timestamp()
    stored = KeptPlan(
        id="",
        kind="run",
        campaign=document["campaign"],
        sheet_id=None,
        terms=document["terms"],
        state="ready",
        document=document,
        total=parse_credits(document["credits"]["total"]),
        words=None,
        made_by=document["made_by"],
        made_at=made_at,
        expires_at=None,
        approved_by=None,
        approved_at=None,
        replaced_by=None,
    )
    plan = replace(plan_of(document), credit_price=price)
    return rendered(
        "plan_file.html",
        **shown_plan(PlanView(plan=stored, state="ready"), each=0),
        style=_COMMENT.sub(
            "", files("callsheet.deployments.board").joinpath("static/board.css").read_text("utf-8")
        ),
        command=command,
        credit_price=price,
        parts=_parts(document["rows"]),
        sums=sums_of(plan),
        warnings=warnings_of(plan),
        now=made_at,
    )


def _parts(rows: list[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows by the part of the page that they are in, without empty parts."""
    part_of = {action: title for title, actions in _PARTS.items() for action in actions}
    found: dict[str, list[Mapping[str, Any]]] = {title: [] for title in (*_PARTS, _REST)}
    for row in rows:
        found[part_of.get(row["action"], _REST)].append(row)
    return {title: lines for title, lines in found.items() if lines}
