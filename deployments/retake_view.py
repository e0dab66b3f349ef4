"""What `callsheet retake` shows and prints: offers, prices, and why a row is not taken again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from deployments.terminal import plain, state_text, table
from tasks.aftercare.retake import Offer
from tasks.campaign.values import RunOutcome
from tasks.credits import as_number, as_text
from tasks.ledger import RETAKEABLE, Campaign, CampaignRow

WHY_NOT = {
    "retired": "it has left the sheet",
    "planned": "its first take is not made yet: run the sheet",
    "quoted": "its first take is not made yet: run the sheet",
    "submitting": "it is under way: run the sheet, or add --run",
    "rendering": "it is under way: run the sheet, or add --run",
    "ready": "it is under way: run the sheet, or add --run",
}


@dataclass(frozen=True)
class Choice:
    """The rows a person named: to be taken again, to be carried on as they are, or neither."""

    campaign: Campaign
    again: list[CampaignRow] = field(default_factory=list)
    as_is: list[CampaignRow] = field(default_factory=list)
    neither: list[CampaignRow] = field(default_factory=list)


def show_offers(campaign: Campaign, found: Sequence[Offer], console: Console) -> None:
    """Show a line for every row: its price, what it cost before, what becomes of that."""
    columns = ("row", "state", "credits", "earlier takes", "film", "what becomes of the old one")
    title = f"Other takes for {plain(campaign.name)}"
    made = table(title, columns, numbers=("credits", "earlier takes"))
    for offer in found:
        row = offer.row
        price = "-" if offer.refusal else as_text(offer.price)
        words = offer.refusal or offer.left_behind or _kept(row)
        cells = (price, as_text(offer.earlier), plain(row.title), plain(words))
        made.add_row(plain(row.row), state_text(row.state), *cells)
    console.print(made)


def _kept(row: CampaignRow) -> str:
    return "stays in the store" if row.take and row.take.delivered_at else "-"


def why_not(row: CampaignRow) -> str:
    """Say why a row cannot be taken again, and what to do."""
    if row.state in RETAKEABLE and row.enabled:
        return "not taken again while others of them are under way: they are carried on first"
    return WHY_NOT.get(row.state, "it is switched off in the sheet (enabled)")


def document(
    choice: Choice,
    found: Sequence[Offer],
    after: Mapping[str, CampaignRow],
    outcome: RunOutcome | None,
) -> dict[str, Any]:
    """Return the one document of `--json`; `after` has the rows that were carried."""
    lines = []
    for offer in found:
        row, now = offer.row, after.get(offer.row.row)
        lines.append(
            {
                "row": row.row,
                "from": row.state,
                "to": row.state if offer.refusal else now.state if now else "approved",
                "credits": None if offer.refusal else as_number(offer.price),
                "words": offer.refusal or (now.reason if now else offer.left_behind),
            }
        )
    lines += [
        {
            "row": row.row,
            "from": row.state,
            "to": after[row.row].state if row.row in after else row.state,
            "credits": as_number(row.quoted),
            "words": "approved or under way before" if row in choice.as_is else why_not(row),
        }
        for row in [*choice.as_is, *choice.neither]
    ]
    refused = 3 if any(offer.refusal for offer in found) else 0
    status = max(refused, outcome.exit_status) if outcome else refused
    return {"campaign": choice.campaign.name, "rows": lines, "exit": status}
