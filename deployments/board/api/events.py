"""`GET /campaigns/C/events`: a campaign's events as they come (server-sent events)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from callsheet.deployments.board.acts.events import events_as_they_come
from callsheet.deployments.board.api.rows import event_line
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.known import TheCampaign
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.streams import OneStream
from callsheet.deployments.board.who import Viewer

router = APIRouter(prefix="/campaigns/{campaign}", tags=["events"])

#: A stream ends after so many seconds, and whoever asks again says who they are again.
LONGEST = 600.0


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


@router.get("/events", response_class=EventSourceResponse)
async def follow_events(
    board: TheBoard,
    person: Viewer,
    one: OneStream,
    known: TheCampaign,
    begin: Annotated[int | None, Depends(begin_of)],
) -> AsyncIterator[ServerSentEvent]:
    """Tell every event of the campaign once and in order, those of before first; `id` is its own.

    With the last one as Last-Event-ID it goes on exactly behind that.
    """
    ends = board.clock() + LONGEST
    yield ServerSentEvent(comment=f"events of {known.name}")
    async for several in events_as_they_come(board, known.id, after=begin):
        for event in several:
            yield ServerSentEvent(raw_data=event_line(event).model_dump_json(), id=str(event.id))
        if board.clock() > ends:
            return
