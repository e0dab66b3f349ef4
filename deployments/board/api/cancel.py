"""`/campaigns/C/cancel`: rows, or the rest of a campaign, are not to be made any more."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.acts.cancel import cancel
from callsheet.deployments.board.api.retakes import CampaignName, RowId
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.who import Approver

router = APIRouter(prefix="/campaigns/{campaign}/cancel", tags=["campaigns"])


class CancelAsked(BaseModel):
    """Which rows; neither names nor a selection means all that is left of the campaign."""

    model_config = ConfigDict(extra="forbid")

    rows: list[RowId] | None = Field(default=None, min_length=1, max_length=100_000)
    select: str | None = Field(default=None, min_length=1, max_length=4000)


class CancelOut(BaseModel):
    """How many rows were to be cancelled, how many are already, and the credits let go by that."""

    asked: int
    cancelled: int
    released: int | float


@router.post("", status_code=202, response_model=CancelOut)
async def cancel_rows(
    campaign: CampaignName, board: TheBoard, person: Approver, asked: CancelAsked | None = None
) -> dict[str, Any]:
    """Cancel rows: what has not begun at once, what is under way as soon as that can be."""
    named = CancelAsked() if asked is None else asked
    return (await cancel(board, person, campaign, **named.model_dump())).as_json()
