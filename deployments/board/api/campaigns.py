"""`/campaigns`, `/health` and `/activity`: counts, how the board is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from callsheet.deployments.at import At
from callsheet.deployments.board.board import Viewer
from callsheet.deployments.board.health import Wellness
from callsheet.deployments.board.places import Place
from callsheet.deployments.campaign_status import status_document
from callsheet.deployments.commands.status import read_campaign
from callsheet.tasks.engine.owner import is_at_work
from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.campaigns import Campaign, Tally, all_campaigns, tally_of
from callsheet.tasks.ledger.row_pages import Counts, counts_of
from callsheet.tasks.ledger.runs import RunDoor, RunKind, RunState, Step
from callsheet.tasks.values.amounts import as_number
from callsheet.tasks.values.answers import Moment

#: An amount of credits.
Amount = int | float
#: Runs of a campaign that an answer has.
RUNS = 20


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
    sheet: Place | None
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


class RunLine(BaseModel):
    """A run, from whatever door: what it is at, or how it ended.

    `exit` as the command line's exit status; one that `stopped` has none, and did not report.
    """

    id: str
    kind: RunKind
    door: RunDoor
    state: RunState
    step: Step | None
    begun: Moment
    ended: Moment | None
    exit: int | None
    words: str | None
    by: str


class LateRow(BaseModel):
    """A row whose `deliver_by` has passed."""

    row: str
    deliver_by: str


class WholeCampaign(CampaignLine):
    """A campaign with the counts of its videos and of its rows by tag, and its newest runs.

    As `callsheet status --json` has it: `waiting` are rows that wait for other videos, by reason,
    `left_under_way` rows that a run left without anyone at work on them.
    """

    videos: VideoCounts
    tags: dict[str, int]
    runs: list[RunLine]
    waiting: dict[str, int]
    late: list[LateRow]
    left_under_way: int


class CampaignPage(BaseModel):
    """Campaigns, the newest first; `next` is the `after` of the page behind it."""

    campaigns: list[CampaignLine]
    next: str | None


async def list_campaigns(
    at: At,
    after: Annotated[str | None, Field(description="`next` of the page before")] = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
) -> CampaignPage:
    """List campaigns: rows by state, what each cost, and what is left of its budget."""
    known = await at.read(all_campaigns)
    names = [one.name for one in known]
    begin = names.index(after) + 1 if after in names else 0
    page = known[begin : begin + limit]
    lines = [line_of(one, await at.read(tally_of, campaign=one)) for one in page]
    more = begin + limit < len(known)
    return CampaignPage(campaigns=lines, next=page[-1].name if more else None)


async def get_campaign(at: At, campaign: str) -> WholeCampaign:
    """Return a campaign: rows by state, credits, reviews of its videos, and its newest runs."""
    found = await read_campaign(at, await at.campaign(campaign), runs=RUNS)
    counts = await at.read(counts_of, campaign_id=found.campaign.id)
    said = status_document(found)
    return WholeCampaign(
        **dict(line_of(found.campaign, found.tally)),
        videos=_videos(counts),
        tags=dict(counts.tags),
        **{name: said[name] for name in ("runs", "waiting", "late", "left_under_way")},
    )


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


# `/health` and `/activity`: how the board is, and what people did.


health_router = APIRouter(tags=["health"])


class CheckedPart(BaseModel):
    """One part, and when it was looked at; `remedy` is what a person can do."""

    name: str
    state: Wellness
    words: Place
    remedy: str | None
    checked_at: Moment | None


class Checked(BaseModel):
    """Every part; `ok` when none is in trouble."""

    ok: bool
    parts: list[CheckedPart]


class Done(BaseModel):
    """One thing that a person did, and when."""

    id: int
    at: Moment
    by: str
    act: str
    campaign: str | None
    rows: int | None
    words: str | None


class Activity(BaseModel):
    """What people did, newest first; `next` goes into `before` for older ones."""

    acts: list[Done]
    next: int | None


@health_router.get("/health")
async def get_health(request: Request, person: Viewer) -> Checked:
    """Return the state of each part and when it was checked; never waits for a check."""
    parts = await request.app.state.health.parts()
    return Checked(
        ok=all(part.state != "trouble" for part in parts),
        parts=[CheckedPart(**vars(part)) for part in parts],
    )


async def list_activity(
    at: At,
    campaign: str | None = None,
    before: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None,
    limit: Annotated[int, Field(ge=1, le=1000)] = 100,
) -> Activity:
    """List what people did."""
    found = await at.read(acts_of, campaign=campaign, before=before, limit=limit + 1)
    more = found[limit - 1].id if len(found) > limit else None
    return Activity(acts=[Done(**vars(act)) for act in found[:limit]], next=more)
