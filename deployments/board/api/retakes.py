"""`/campaigns/C/retakes`: other takes of rows, as a plan with prices."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.acts.retakes import plan_of_retakes
from callsheet.deployments.board.api.plans import PlanBegun
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.who import Reviewer

router = APIRouter(prefix="/campaigns/{campaign}/retakes", tags=["campaigns"])

CampaignName = Annotated[str, Path(max_length=200)]
RowId = Annotated[str, Field(min_length=1, max_length=200)]


class RetakesAsked(BaseModel):
    """Which rows are to be made once more, and why; a video that is kept only with `even_kept`."""

    model_config = ConfigDict(extra="forbid")

    rows: list[RowId] | None = Field(default=None, min_length=1, max_length=100_000)
    select: str | None = Field(default=None, min_length=1, max_length=4000)
    because: str | None = Field(default=None, max_length=2000)
    even_kept: bool = False


@router.post("", status_code=202, response_model=PlanBegun)
async def plan_retakes(
    campaign: CampaignName, asked: RetakesAsked, board: TheBoard, person: Reviewer
) -> dict[str, str]:
    """Have other takes of rows priced; approving the plan pays for them."""
    plan = await plan_of_retakes(board, person, campaign, **asked.model_dump())
    return {"plan": plan, "state": "quoting"}
