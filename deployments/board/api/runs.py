"""`/runs`: what became of runs that were approved on the board."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from callsheet.deployments.board.acts.runs import carry_on, see_run
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.moment import Moment
from callsheet.deployments.board.who import Approver, Viewer

router = APIRouter(prefix="/runs", tags=["runs"])

RunId = Annotated[str, Path(max_length=64)]


class RunOut(BaseModel):
    """A run; moments in Unix seconds, `exit` as the command line's exit status.

    `place` had its lease last; `leased_until` is null once that has lapsed or was released.
    """

    id: str
    plan_id: str
    campaign: str
    started_by: str
    asked_at: Moment
    place: str | None
    begun_at: Moment | None
    ended_at: Moment | None
    exit: int | None
    words: str | None
    due_at: Moment | None
    leased_until: Moment | None


@router.get("/{run}", response_model=RunOut)
async def get_run(run: RunId, board: TheBoard, person: Viewer) -> dict[str, Any]:
    """Return a run as it is now."""
    return asdict(await see_run(board, person, run))


@router.post("/{run}/carry-on", status_code=202, response_model=RunOut)
async def carry_run_on(run: RunId, board: TheBoard, person: Approver) -> dict[str, Any]:
    """Resume a run that has ended or whose lease lapsed; it pays for what was approved, at most."""
    return asdict(await carry_on(board, person, run))
