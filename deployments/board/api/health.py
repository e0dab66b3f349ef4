"""`/health` and `/activity`: how the board is, and what people did."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.health import Wellness
from callsheet.deployments.board.moment import Moment
from callsheet.deployments.board.who import Viewer
from callsheet.tasks.ledger.acts import acts_of

router = APIRouter(tags=["health"])


class CheckedPart(BaseModel):
    """One part, and when it was looked at (Unix seconds); `remedy` is what a person can do."""

    name: str
    state: Wellness
    words: str
    remedy: str | None
    checked_at: Moment | None


class Checked(BaseModel):
    """Every part; `ok` when none is in trouble."""

    ok: bool
    parts: list[CheckedPart]


class Done(BaseModel):
    """One thing that somebody did; `at` in Unix seconds."""

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


@router.get("/health")
async def get_health(request: Request, person: Viewer) -> Checked:
    """Say how every part is; a look never waits for a check."""
    parts = await request.app.state.health.parts()
    return Checked(
        ok=all(part.state != "trouble" for part in parts),
        parts=[CheckedPart(**vars(part)) for part in parts],
    )


@router.get("/activity")
async def list_activity(
    board: TheBoard,
    person: Viewer,
    campaign: str | None = None,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Activity:
    """Say what people did."""
    query = partial(acts_of, campaign=campaign, before=before, limit=limit + 1)
    found = await board.read(query)
    more = found[limit - 1].id if len(found) > limit else None
    return Activity(acts=[Done(**vars(act)) for act in found[:limit]], next=more)
