"""`POST /campaigns/C/rows/R/review`, `/campaigns/C/reviews`: decide on one video, or on many."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.acts.reviews import decide, decide_all
from callsheet.deployments.board.api.rows import Filters, TakeReview, Verdict, review_line
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.known import TheCampaign
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Decides, Reviewer
from callsheet.tasks.ledger import ReviewStands

router = APIRouter(prefix="/campaigns/{campaign}", tags=["reviews"])

Reason = Annotated[str | None, Field(max_length=40, description="a few words: picture, voice")]
Note = Annotated[str | None, Field(max_length=2000)]


class ReviewAsked(BaseModel):
    """A verdict on a take. `instead_of` names the standing one, which this one replaces; with it,
    a `verdict` of null takes that back."""

    model_config = ConfigDict(extra="forbid")

    take: Annotated[int, Field(ge=1, le=2**31 - 1)]
    verdict: Verdict | None
    reason: Reason = None
    note: Note = None
    instead_of: Verdict | None = None


class ReviewAnswer(BaseModel):
    """What stands of a take now; the members of `review` again, null where nothing stands."""

    row: str
    take: int
    verdict: Verdict | None
    reason: str | None
    note: str | None
    by: str | None
    review: TakeReview | None


class ReviewsAsked(BaseModel):
    """A verdict on all videos of the rows that the address asks for. `until` is when they were
    shown (Unix seconds): videos that came later are left out."""

    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    reason: Reason = None
    note: Note = None
    until: Annotated[float | None, Field(ge=0, le=1e11, allow_inf_nan=False)] = None


class ReviewsAnswer(BaseModel):
    """How many were decided on, stood so already, and stand otherwise, which they still do."""

    made: int
    same: int
    stood: int


@router.post("/rows/{row}/review", responses={409: {"description": "who was first"}})
async def review_row(
    board: TheBoard, person: Decides, known: TheCampaign, row: str, asked: ReviewAsked
) -> ReviewAnswer:
    """Keep or reject the video of a take; 409 says who decided otherwise before."""
    try:
        said = await decide(
            board,
            person,
            campaign=known.name,
            row=row,
            take=asked.take,
            verdict=asked.verdict,
            reason=asked.reason,
            note=asked.note,
            instead_of=asked.instead_of,
        )
    except ReviewStands as stands:
        standing = review_line(stands.standing)
        raise ProblemDetails(
            409,
            str(stands),
            title="Another person was first",
            remedy="name the existing verdict in `instead_of` to replace it",
            extra={"review": standing.model_dump(mode="json") if standing else None},
        ) from stands
    line = review_line(said)
    return ReviewAnswer(
        row=row,
        take=asked.take,
        verdict=said.verdict if said else None,
        reason=said.reason if said else None,
        note=said.note if said else None,
        by=said.by if said else None,
        review=line,
    )


@router.post("/reviews")
async def review_rows(
    board: TheBoard, person: Reviewer, known: TheCampaign, which: Filters, asked: ReviewsAsked
) -> ReviewsAnswer:
    """Keep or reject all videos of the rows that the address asks for, in the words of `rows`.

    A video that somebody has decided on stays as it is; an address that asks for all is refused.
    """
    done = await decide_all(
        board,
        person,
        campaign=known.name,
        which=which.which,
        verdict=asked.verdict,
        reason=asked.reason,
        note=asked.note,
        until=asked.until,
    )
    return ReviewsAnswer(made=done.made, same=done.same, stood=done.stood)
