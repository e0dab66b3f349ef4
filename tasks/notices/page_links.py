"""Where people find things on the board; None where nobody said what its address is."""

from __future__ import annotations

from urllib.parse import quote


def campaign_page(board: str | None, campaign: str | None, page: str = "") -> str | None:
    """Return the address of a campaign, or of one of its pages: `attention`, `videos`."""
    if not board or not campaign:
        return None
    return f"{board.rstrip('/')}/c/{_part(campaign)}" + (f"/{page}" if page else "")


def row_page(board: str | None, campaign: str, row: str) -> str | None:
    """Return the address of a row, with its video."""
    return campaign_page(board, campaign, f"rows/{_part(row)}")


def plan_page(board: str | None, plan: str) -> str | None:
    """Return the address of a plan that waits for approval."""
    return f"{board.rstrip('/')}/plans/{_part(plan)}" if board else None


def _part(text: str) -> str:
    return quote(text, safe="")
