"""`GET /campaigns`, `/campaigns/C`: counts, credits and budget of campaigns."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.known import TheCampaign
from callsheet.deployments.board.moment import Moment
from callsheet.deployments.board.who import Viewer
from callsheet.tasks.credits import as_number
from callsheet.tasks.engine.owner import is_at_work
from callsheet.tasks.ledger import Campaign, Counts, Tally, all_campaigns, counts_of, tally_of

router = APIRouter(prefix="/campaigns", tags=["campaigns"])

#: An amount of credits.
Amount = int | float


class CampaignCredits(BaseModel):
    """Credits over all runs; `left` is what of the budget may still be set aside."""

    quoted: Amount | None
    reserved: Amount | None
    charged: Amount | None
    paid_before: Amount | None
    variance: Amount | None
    budget: Amount | None
    left: Amount | None


class CampaignLine(BaseModel):
    """A campaign: `rows` has `total` and every state that has rows; `owner` is who is at work."""

    campaign: str
    sheet: str | None
    rows: dict[str, int]
    credits: CampaignCredits
    budget: Amount | None
    sandbox: bool | None
    owner: str | None
    created_at: Moment


class VideoCounts(BaseModel):
    """Videos by what people said of them, and how many of them something was found wrong with."""

    total: int
    keep: int
    reject: int
    none: int
    flagged: int


class WholeCampaign(CampaignLine):
    """A campaign with the counts of its videos, and of its rows by tag."""

    videos: VideoCounts
    tags: dict[str, int]


class CampaignPage(BaseModel):
    """Campaigns, the newest first; `next` is the `after` of the page behind it."""

    campaigns: list[CampaignLine]
    next: str | None


@router.get("")
async def list_campaigns(
    board: TheBoard,
    person: Viewer,
    after: Annotated[str | None, Query(description="`next` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> CampaignPage:
    """Say of every campaign how many rows are where, what it cost, and what is left to spend."""
    known = await board.read(all_campaigns)
    names = [one.name for one in known]
    begin = names.index(after) + 1 if after in names else 0
    page = known[begin : begin + limit]
    lines = [line_of(one, await board.read(partial(tally_of, campaign=one))) for one in page]
    more = begin + limit < len(known)
    return CampaignPage(campaigns=lines, next=page[-1].name if more else None)


@router.get("/{campaign}")
async def get_campaign(board: TheBoard, person: Viewer, known: TheCampaign) -> WholeCampaign:
    """Say of one campaign how it stands, and how its videos do."""
    tally = await board.read(partial(tally_of, campaign=known))
    counts = await board.read(partial(counts_of, campaign_id=known.id))
    line = line_of(known, tally)
    return WholeCampaign(**dict(line), videos=_videos(counts), tags=dict(counts.tags))


def line_of(campaign: Campaign, tally: Tally) -> CampaignLine:
    """Return a campaign as the calls say it."""
    owner = campaign.lease.owner if campaign.lease else None
    return CampaignLine(
        campaign=campaign.name,
        sheet=campaign.sheet,
        rows=tally.as_json(),
        credits=CampaignCredits.model_validate(tally.credits_as_json()),
        budget=as_number(tally.budget),
        sandbox=campaign.sandbox,
        owner=owner if is_at_work(owner) else None,
        created_at=campaign.created_at,
    )


def _videos(counts: Counts) -> VideoCounts:
    return VideoCounts(total=counts.videos, flagged=counts.flagged, **counts.reviews)
