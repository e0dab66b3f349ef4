"""`/activity`: what people did, newest first."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.page import page
from callsheet.deployments.board.who import Viewer
from callsheet.tasks.ledger.acts import acts_of

router = APIRouter()

#: Larger numbers are no ids of the ledger's.
Before = Annotated[int, Query(ge=1, le=2**31 - 1)]
#: Lines of a page.
PAGE = 100


@router.get("/activity")
async def activity(
    request: Request,
    board: TheBoard,
    person: Viewer,
    campaign: str = "",
    before: Before | None = None,
) -> Response:
    """Show what was done, of all campaigns or of one; `next` is where the older ones begin."""
    query = partial(acts_of, campaign=campaign or None, before=before, limit=PAGE + 1)
    found = await board.read(query)
    more = found[PAGE - 1].id if len(found) > PAGE else None
    return page(request, "activity.html", person, acts=found[:PAGE], campaign=campaign, next=more)
