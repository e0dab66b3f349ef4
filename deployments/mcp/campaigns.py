"""The tools and resources that look at campaigns, and the one that reviews a video."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel

from callsheet.deployments.board.api import campaigns as campaign_calls
from callsheet.deployments.board.api import rows as row_calls
from callsheet.deployments.board.api.campaigns import CampaignPage
from callsheet.deployments.board.api.rows import RowPage
from callsheet.deployments.board.api.sheets import SheetOut
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.plans import see_plan, see_plans
from callsheet.deployments.commands.costs import Day, get_costs
from callsheet.deployments.commands.review import ReviewAnswer, review_row
from callsheet.deployments.commands.tools import find_catalogue, tool_document
from callsheet.deployments.mcp.arguments import (
    After,
    Campaign,
    Reason,
    Reviews,
    Row,
    RowState,
    Select,
    Sheet,
    Take,
    Verdict,
)
from callsheet.deployments.mcp.caller import Caller, answering, caller_of, reading
from callsheet.deployments.mcp.plans import (
    PlanAnswer,
    RunAnswer,
    plan_answer,
    run_answer,
)
from callsheet.deployments.mcp.sheets import upload
from callsheet.tasks.aftercare.costs import By, CostsOut
from callsheet.tasks.aftercare.explain import explain, explanation_document
from callsheet.tasks.campaign.report import status_sheet
from callsheet.tasks.engine.policy.decision import Rules
from callsheet.tasks.ledger.reviews import ReviewStands
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import shown_rows
from callsheet.tasks.ledger.row_views import stream
from callsheet.tasks.runtime.errors import NoSuch
from callsheet.tasks.runtime.redact import redact, redacted
from callsheet.tasks.sheet.json_schema import described_columns

#: Plans of a campaign that its status tells of, and videos of an answer, each with a picture.
PLANS, VIDEOS = 5, 12
#: Members of a plan that a status leaves out: they are long.
_LISTS = ("rows", "elsewhere", "retiring")
#: Pictures that are not there yet are made for so long, in seconds.
PICTURES = 12.0


class CheckAnswer(SheetOut):
    """A sheet, with every problem in it; nothing is written of its campaign yet."""

    next: str


class Columns(BaseModel):
    """The columns of a sheet; capitals stand for a name of your own, or of the service."""

    columns: list[dict[str, str]]
    example: str


#: The smallest sheet of two videos.
EXAMPLE = """\
id,title,script,duration_seconds,aspect_ratio
kettle-1,The kettle,It boils in a minute.,20,9:16
kettle-2,The quiet kettle,Nobody wakes up.,20,9:16
"""


class StatusAnswer(BaseModel):
    """A campaign: its rows by state, credits and videos; its newest plans and their runs."""

    campaign: str
    rows: dict[str, int]
    credits: dict[str, int | float | None]
    videos: dict[str, int]
    owner: str | None
    plans: list[PlanAnswer]
    runs: list[RunAnswer]


class Explained(BaseModel):
    """Everything that the ledger knows of a row, and what can be done."""

    row: dict[str, Any]


class Capabilities(BaseModel):
    """What the video service offers, and when it said so (Unix seconds)."""

    tools: list[dict[str, Any]]
    told_at: float


@answering
async def check_sheet(ctx: Context[Any, Any], sheet: Sheet) -> CheckAnswer:
    """List every problem of a sheet with its line and column. Spends nothing, asks no service.

    `sheet` is a path below the working folder, an https:// address, or the text of a sheet (CSV,
    YAML or JSON). Next: fix the problems, then call `plan`.
    """
    caller = await caller_of(ctx, "reviewer")
    seen = (await upload(caller, sheet)).as_json()
    said = "fix these cells, then check again" if seen["problems"] else "call `plan` for the price"
    return CheckAnswer(**seen, next=said)


@answering
async def sheet_columns(ctx: Context[Any, Any]) -> Columns:
    """List the columns that a sheet may have, and what each means. Spends nothing.

    Next: write a sheet, then call `check_sheet`.
    """
    await caller_of(ctx, "viewer")
    said = [{"column": name, "about": words} for name, words in described_columns().items()]
    return Columns(columns=said, example=EXAMPLE)


@answering
async def list_campaigns(ctx: Context[Any, Any], after: After = None) -> CampaignPage:
    """List campaigns, newest first: rows by state, credits charged and left. Spends nothing."""
    caller = await caller_of(ctx, "viewer")
    return await campaign_calls.list_campaigns(caller.board, after=after)


@answering
async def status(ctx: Context[Any, Any], campaign: Campaign) -> StatusAnswer:
    """Say how far a campaign is: rows by state, credits, newest plans and runs. Spends nothing.

    Also after a person approved a plan on the board. Next: `rows` for what needs attention,
    `show_videos` to look at videos.
    """
    caller = await caller_of(ctx, "viewer")
    board = caller.board
    found = await see_plans(board, campaign, limit=PLANS)
    views = [await see_plan(board, one.plan.id) for one in found]
    try:
        said = (await campaign_calls.get_campaign(board, campaign)).model_dump()
    except NoSuch:
        if not views:
            raise
        # It is planned, and nothing of it is approved yet.
        said = {"rows": {"total": 0}, "credits": {}, "videos": {}, "owner": None}
    answers = [await plan_answer(caller, view) for view in views]
    return StatusAnswer(
        campaign=campaign,
        **{name: said[name] for name in ("rows", "credits", "videos", "owner")},
        plans=[one.model_copy(update={name: [] for name in _LISTS}) for one in answers],
        runs=[run_answer(view.run, view) for view in views if view.run is not None],
    )


@answering
async def costs(
    ctx: Context[Any, Any], by: By = "month", since: Day = None, until: Day = None
) -> CostsOut:
    """Add up what all campaigns were charged, by month, brand, client and more. Spends nothing."""
    caller = await caller_of(ctx, "viewer")
    return await get_costs(caller.board, by, since, until)


@answering
async def rows(
    ctx: Context[Any, Any],
    campaign: Campaign,
    state: RowState = None,
    select: Select = None,
    after: After = None,
) -> RowPage:
    """List rows of a campaign, 100 at a time: state, reason, credits, files. Spends nothing.

    `state` chooses one, as `held` or `failed`, `select` by anything; `after` is `next` of the
    answer before.
    """
    caller = await caller_of(ctx, "viewer")
    which = RowFilter.of(state=state) & RowFilter.parse(select)
    return await row_calls.list_rows(caller.board, campaign, which, after=after)


@answering
async def explain_row(ctx: Context[Any, Any], campaign: Campaign, row: Row) -> Explained:
    """Say why a row is in its state, what it cost, and what a person can do. Spends nothing."""
    caller = await caller_of(ctx, "viewer")
    board = caller.board
    known = await board.campaign(campaign)
    rules = Rules.of(board.settings)
    found = await board.read(explain, campaign=known, row=row, now=board.clock(), rules=rules)
    if found is None:
        raise ProblemDetails(404, f"{campaign} has no row {row[:80]}", remedy="call `rows`")
    return Explained(row=explanation_document(found))


@answering
async def show_videos(
    ctx: Context[Any, Any],
    campaign: Campaign,
    review: Reviews = None,
    select: Select = None,
    after: After = None,
) -> CallToolResult:
    """Show videos of a campaign as pictures, 12 at a time, with checks and reviews. Spends nothing.

    `review`: only those that are kept (`keep`), rejected (`reject`) or not reviewed (`none`);
    `select` chooses rows; `after` is `next` of the answer before. Next: `record_review`, `retake`.
    """
    caller = await caller_of(ctx, "viewer")
    known = await caller.board.campaign(campaign)
    page = await caller.board.read(
        shown_rows,
        campaign_id=known.id,
        which=RowFilter.of(video="yes", review=review) & RowFilter.parse(select),
        after=after,
        limit=VIDEOS,
    )
    videos = [
        {
            "row": one.row,
            "take": one.video_take,
            "title": one.title,
            "seconds": one.seconds,
            "review": one.review.verdict if one.review else None,
            "problems": [words for words in one.checks.values() if words != "ok"],
        }
        for one in page.rows
    ]
    pictures = await _posters(caller, campaign, videos)
    document = redacted({"campaign": campaign, "videos": videos, "next": page.next})
    for number, video in enumerate(document["videos"]):
        # The page finds the picture of a video by its place among the images.
        video["image"] = sorted(pictures).index(number) if number in pictures else None
    content: list[ContentBlock] = [
        TextContent(type="text", text=json.dumps(document, ensure_ascii=False)),
        *(pictures[number] for number in sorted(pictures)),
    ]
    return CallToolResult(content=content, structured_content=document)


async def _posters(
    caller: Caller, campaign: str, videos: list[dict[str, Any]]
) -> dict[int, ImageContent]:
    """Return posters by the number of their video, as many as there are in time."""
    found: dict[int, ImageContent] = {}
    try:
        async with asyncio.timeout(PICTURES):
            for number, video in enumerate(videos):
                data = await caller.desk.videos.poster(campaign, video["row"], video["take"])
                if data is not None:
                    text = base64.b64encode(data).decode()
                    found[number] = ImageContent(type="image", data=text, mime_type="image/jpeg")
    except TimeoutError:
        pass
    return found


@answering
async def record_review(
    ctx: Context[Any, Any],
    campaign: Campaign,
    row: Row,
    verdict: Verdict,
    reason: Reason = None,
    take: Take = None,
) -> ReviewAnswer:
    """Keep or reject the video of a row, with a reason in a few words. Spends nothing.

    `take` is the one that was shown; without it, the newest. A verdict that there is stays.
    Next: `retake` for rejected videos.
    """
    caller = await caller_of(ctx, "reviewer")
    said = reason and reason[:40]
    try:
        return await review_row(caller.board, campaign, row, verdict, take, said)
    except ReviewStands as error:
        error.remedy = "a person can change it on the board"
        raise


@answering
async def service_capabilities(ctx: Context[Any, Any]) -> Capabilities:
    """List the tools of the video service with their fields and limits. Spends nothing."""
    caller = await caller_of(ctx, "viewer")
    found = await find_catalogue(caller.board.ledger, caller.board.settings)
    tools = [tool_document(tool) for tool in (found.tools or {}).values()]
    return Capabilities(tools=tools, told_at=found.told_at)


# Resources: a campaign, its report, and a row, as documents that a client may attach.


@reading
async def campaign_document(ctx: Context[Any, Any], campaign: str) -> str:
    """Return how a campaign stands, as JSON."""
    caller = await caller_of(ctx, "viewer")
    return redact(
        (await campaign_calls.get_campaign(caller.board, campaign)).model_dump_json(indent=1)
    )


@reading
async def report_document(ctx: Context[Any, Any], campaign: str) -> str:
    """Return the status sheet of a campaign, as CSV."""
    caller = await caller_of(ctx, "viewer")
    known = await caller.board.campaign(campaign)
    sheet = await caller.board.read(lambda found: status_sheet(stream(found, known.id)))
    return redact(sheet.decode())


@reading
async def row_document(ctx: Context[Any, Any], campaign: str, row: str) -> str:
    """Return everything that is known of a row, as JSON."""
    caller = await caller_of(ctx, "viewer")
    found = await row_calls.get_row(caller.board, campaign, row)
    return redact(found.model_dump_json(indent=1))
