"""`/campaigns/C/rows` and `/events`: rows with their history, and events as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import StreamingResponse

from callsheet.deployments.at import At, no_row
from callsheet.deployments.board.board import Board, TheBoard, TheCampaign, Viewer
from callsheet.deployments.board.limits import OneStream
from callsheet.deployments.board.places import Place, shown_places
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_filters import PAGED, SELECTION, filter_in
from callsheet.deployments.board.services.videos import events_as_they_come
from callsheet.deployments.commands.review import TakeReview
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.reviews import Verdict
from callsheet.tasks.ledger.row_filter import ReviewFilter, RowFilter
from callsheet.tasks.ledger.row_history import whole_row
from callsheet.tasks.ledger.row_pages import MOST, PAGE, Sort, count_shown, shown_rows
from callsheet.tasks.ledger.row_views import ShownTake
from callsheet.tasks.runtime.redact import redacted
from callsheet.tasks.values.answers import Credits, Moment
from callsheet.tasks.values.briefs import AiMark

Amount = int | float
Counted = Annotated[int, Field(ge=1, le=10**9)]
Limit = Annotated[int, Field(ge=1, le=MOST)]
#: What stands empty in an address asks for nothing.
EMPTY = BeforeValidator(lambda value: None if value == "" else value)


class DeliveredFile(BaseModel):
    """A file in the store, verified there."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    uri: Place
    sha256: str
    bytes: int


class MadeWithAi(BaseModel):
    """How a video was made: whether its file has a C2PA manifest, the model and tool asked for."""

    ai_generated: Literal[True] | None
    ai_mark: AiMark | None
    ai_model: str | None
    ai_tool: str | None


class RowLine(MadeWithAi):
    """A row as `callsheet rows --json` has it; members are added, never renamed."""

    model_config = ConfigDict(extra="allow")

    row: str
    state: str
    reason: str | None
    take: int
    key: str | None
    video_id: str | None
    quoted: Amount | None
    reserved: Amount | None
    charged: Amount | None
    paid_before: Amount | None
    variance: Amount | None
    video_take: int | None
    deliveries: list[DeliveredFile]
    review: Verdict | None
    review_reason: str | None
    review_note: str | None
    reviewed_by: str | None
    checks: dict[str, str]


class RowPage(BaseModel):
    """Rows that match, and in all how many do; `next` is the `after` of the page behind it."""

    rows: list[RowLine]
    total: int
    next: str | None


class TakeLine(MadeWithAi):
    """A take: what it cost, when what happened to it, its files, and what was said of its video."""

    take: int
    key: str | None
    video_id: str | None
    quoted: Credits | None
    reserved: Credits | None
    charged: Credits | None
    intended_at: Moment
    accepted_at: Moment | None
    refused_at: Moment | None
    ready_at: Moment | None
    delivered_at: Moment | None
    abandoned_at: Moment | None
    deliveries: list[DeliveredFile]
    seconds: float | None
    review: TakeReview | None
    checks: dict[str, str]
    pictures: dict[str, Any]
    asked: dict[str, Any]


class EventLine(BaseModel):
    """One line of a history; with kind `state` from which state to which the row went."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    at: Moment
    kind: str
    row: str | None
    take: int | None
    old: str | None
    new: str | None
    words: Place | None


class WholeRowLine(RowLine):
    """A row with what it asks for, its takes (newest first) and its history (oldest first)."""

    title: str
    operation: str
    since: Moment
    line: int
    tags: list[str]
    notes: str | None
    asked: dict[str, Any]
    takes: list[TakeLine]
    events: list[EventLine]


def filters(
    request: Request,
    state: Annotated[list[str] | None, Query(description="failed; held,failed; repeated")] = None,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    review: Annotated[ReviewFilter | None, EMPTY, Query(description="none: undecided")] = None,
    client: Annotated[ReviewFilter | None, EMPTY, Query(description="of the client")] = None,
    q: Annotated[str | None, Query(max_length=200, description="in id, title, reason")] = None,
    flagged: Annotated[bool | None, EMPTY, Query(description="something was found wrong")] = None,
    video: Annotated[bool | None, EMPTY, Query(description="whether there is a video")] = None,
    language: Annotated[str | None, Query(max_length=200)] = None,
    ratio: Annotated[str | None, Query(max_length=200)] = None,
    tool: Annotated[str | None, Query(max_length=200)] = None,
    takes: Annotated[Counted | None, EMPTY, Query(description="at least so many takes")] = None,
    since: Annotated[float | None, EMPTY, Query(description="video delivered later (Unix)")] = None,
    until: Annotated[float | None, EMPTY, Query(description="delivered no later")] = None,
    row: Annotated[list[str] | None, Query(description="these rows alone")] = None,
    select: Annotated[
        str | None, Query(max_length=SELECTION, description="as `--select`, with all of the above")
    ] = None,
) -> RowFilter:
    """Read which rows are asked for; the parameters above are what the address may hold."""
    person: Person | None = getattr(request.state, "person", None)
    is_guest = person is not None and person.guest is not None
    return filter_in(request.query_params, *PAGED, "kept", guest=is_guest)


Filters = Annotated[RowFilter, Depends(filters)]


async def list_rows(
    at: At,
    campaign: str,
    which: Filters,
    sort: Annotated[
        Sort | None, EMPTY, Field(description="sheet unless given; worst: most found wrong first")
    ] = None,
    after: Annotated[str | None, Field(description="`next` of the page before")] = None,
    limit: Annotated[Limit | None, EMPTY, Field(description="100 unless given")] = None,
) -> RowPage:
    """List the rows that match, page by page."""
    known = await at.campaign(campaign)
    page = await at.read(
        shown_rows,
        campaign_id=known.id,
        which=which,
        sort=sort or "sheet",
        after=after or None,
        limit=limit or PAGE,
    )
    total = await at.read(count_shown, campaign_id=known.id, which=which)
    lines = [RowLine.model_validate(row.document) for row in page.rows]
    return RowPage(rows=lines, total=total, next=page.next)


async def get_row(at: At, campaign: str, row: str) -> WholeRowLine:
    """Return everything that is known of a row."""
    known = await at.campaign(campaign)
    found = await at.read(whole_row, campaign_id=known.id, row=row)
    if found is None:
        raise no_row(known, row)
    own = found.row
    return WholeRowLine(
        **found.shown.document,
        title=own.title,
        operation=own.operation,
        since=own.since,
        line=own.line,
        tags=list(own.tags),
        notes=own.notes,
        asked=redacted(own.asked()),
        takes=[_take(one) for one in found.takes],
        events=[EventLine.model_validate(one) for one in found.events],
    )


def _take(one: ShownTake) -> TakeLine:
    take, files = one.take, one.video.files
    of_take = {name: getattr(take, name) for name in _OF_TAKE}
    return TakeLine(
        **of_take,
        take=take.number,
        key=take.key if take.keyed else None,
        deliveries=[DeliveredFile.model_validate(file) for file in files.values()],
        seconds=files["mp4"].seconds if "mp4" in files else None,
        review=TakeReview.model_validate(one.review) if one.review else None,
        checks=dict(one.video.checks),
        **one.provenance._asdict(),
        pictures=shown_places({k: asdict(one) for k, one in one.video.pictures.items()}),
        asked=redacted(take.asked()),
    )


_OF_TAKE = (
    "video_id", "quoted", "reserved", "charged", "intended_at", "accepted_at", "refused_at",
    "ready_at", "delivered_at", "abandoned_at",
)  # fmt: skip


# `GET /campaigns/C/events`: a campaign's events as they come (server-sent events).


events_router = APIRouter(prefix="/campaigns/{campaign}", tags=["events"])

#: A stream ends after so many seconds; the caller then says again who they are.
LONGEST = 600.0
#: After so many seconds without an event a comment is sent, so that a dead connection is seen.
QUIET = 15.0


def begin_of(
    after: Annotated[
        str | None,
        Query(description="the event to begin behind; `now`: only what comes; else all"),
    ] = None,
    last_event_id: Annotated[str | None, Header(description="goes before `after`")] = None,
) -> int | None:
    """Return the event to begin behind, None for what comes from now on."""
    named = last_event_id or after or "0"
    if named == "now":
        return None
    if not (named.isascii() and named.isdigit() and len(named) <= 18):
        raise ProblemDetails(422, f'"{named[:40]}" is no id of an event')
    return int(named)


#: What the description of the interface says of a stream.
_KIND = "text/event-stream"
_MEMBERS = {
    "data": {"type": "string"},
    "event": {"type": "string"},
    "id": {"type": "string"},
    "retry": {"type": "integer", "minimum": 0},
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {_KIND: {"itemSchema": {"type": "object", "properties": _MEMBERS}}}}
}


@events_router.get("/events", response_class=StreamingResponse, responses=_STREAM)
async def follow_events(
    board: TheBoard,
    person: Viewer,
    one: OneStream,
    known: TheCampaign,
    begin: Annotated[int | None, Depends(begin_of)],
) -> StreamingResponse:
    """Send every event of the campaign once and in order, earlier ones first; `id` is its own.

    With the last one as Last-Event-ID it continues exactly after that.
    """
    # If the route itself yields, FastAPI hands each event from one task to another, and a stream
    # that ends meanwhile fails with an exception group.
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_messages(board, known, begin), media_type=_KIND, headers=headers)


async def _messages(board: Board, known: Campaign, begin: int | None) -> AsyncIterator[bytes]:
    ends, sent = board.clock() + LONGEST, board.clock()
    yield format_sse_event(comment=f"events of {known.name}")
    async for several in events_as_they_come(board, known.id, after=begin):
        for event in several:
            text = EventLine.model_validate(event).model_dump_json()
            yield format_sse_event(data_str=text, id=str(event.id))
        now = board.clock()
        if now > ends:
            return
        if several:
            sent = now
        elif now - sent >= QUIET:
            sent = now
            yield KEEPALIVE_COMMENT
