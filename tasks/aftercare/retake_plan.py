"""A plan of other takes as the board keeps it: what it shows, and that it is approved as shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.aftercare.retake import Offer, approve_wanted
from callsheet.tasks.campaign.board_plan import PlanTerms, words_of_approval
from callsheet.tasks.credits import as_number, parse_credits
from callsheet.tasks.errors import MovedOn
from callsheet.tasks.ledger import (
    Campaign,
    CampaignRow,
    Quoted,
    Review,
    find_campaign,
    find_plan,
    kept_rows,
    pages_of,
    rows_of,
)


def retake_document(campaign: Campaign, found: Sequence[Offer]) -> dict[str, Any]:
    """Return what a plan of other takes says, in the shape of a plan of a sheet.

    `review` is what somebody said of the video of before: whoever edits a brief reads why.
    """
    wanted = [offer for offer in found if not offer.refusal]
    total = sum((offer.price or Decimal(0) for offer in wanted), Decimal(0))
    committed = campaign.reserved + campaign.charged
    left = None if campaign.budget is None else campaign.budget - committed
    return {
        "campaign": campaign.name,
        "credits": {
            "total": as_number(total),
            "unpriced": sum(offer.price is None for offer in wanted),
            "committed": as_number(committed),
            "budget": as_number(campaign.budget),
            "left": as_number(left),
            "balance": None,
        },
        "rows": [_line(offer) for offer in found],
    }


def _line(offer: Offer) -> dict[str, Any]:
    """Return a row as it is shown and, when approved, compared with what it is then."""
    row = offer.row
    return {
        "row": row.row,
        "action": "person" if offer.refusal else "retake",
        "why": offer.words,
        "review": _said(offer.review),
        "title": row.title,
        "digest": row.digest,
        "quoted": as_number(offer.price),
        "charged": as_number(offer.earlier),
        "state": row.state,
        "nth": row.nth,
        "take": row.take.number if row.take else 0,
        "take_id": row.take.id if row.take else None,
    }


def _said(review: Review | None) -> dict[str, Any] | None:
    """Return what was said of the video of before, for whoever edits the brief."""
    if review is None:
        return None
    return {name: getattr(review, name) for name in ("verdict", "reason", "note", "by")}


def approve_takes(connection: Connection, plan_id: str, terms: PlanTerms, *, at: float) -> None:
    """Approve what a plan has shown; raise MovedOn where some of it is not as it was."""
    plan = find_plan(connection, plan_id)
    assert plan is not None
    campaign = find_campaign(connection, plan.campaign)
    if campaign is None:
        raise MovedOn(f"there is no campaign {plan.campaign} any more; nothing was approved")
    assert plan.document is not None
    lines = {line["row"]: line for line in plan.document["rows"] if line["action"] == "retake"}
    found = rows_named(connection, campaign, list(lines))
    wanted = [Quoted(row, parse_credits(lines[row.row]["quoted"])) for row in found]
    moved = sorted(lines.keys() - {row.row for row in found})
    moved += [row.row for row in found if not is_as_shown(row, lines[row.row])]
    if not terms.even_kept:
        kept = kept_rows(connection, campaign.id)
        moved += [row.row for row in found if row.id in kept]
    if moved:
        raise MovedOn(f"{', '.join(moved)} moved on meanwhile; nothing was approved or spent")
    by = words_of_approval(plan)
    approve_wanted(
        connection,
        campaign,
        wanted,
        by=by,
        because=terms.because,
        budget=terms.budget,
        at=at,
        even_kept=terms.even_kept,
    )


def rows_named(
    connection: Connection, campaign: Campaign, names: Sequence[str]
) -> list[CampaignRow]:
    """Return rows of a campaign by their ids."""
    pages = (rows_of(connection, campaign.id, named=page) for page in pages_of(names))
    return [row for page in pages for row in page]


def is_as_shown(row: CampaignRow, line: Mapping[str, Any]) -> bool:
    """Whether a row is what it was when another take of it was priced."""
    taken = row.take.id if row.take else None
    now = (row.state, row.digest, row.nth, taken)
    return now == tuple(line[name] for name in ("state", "digest", "nth", "take_id"))
