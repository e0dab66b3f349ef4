"""`/`, `/costs` and its file, `/activity`, `/health` and `/metrics`."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import PlainTextResponse, Response

from callsheet.deployments.board.board import LEDGER_MARK, TheBoard, Viewer, at_least
from callsheet.deployments.board.page import page
from callsheet.deployments.commands.costs import get_costs
from callsheet.tasks.aftercare.costs import GROUPINGS, By, month_of, own_columns, write_costs
from callsheet.tasks.ledger.audit_log import acts_of, ledger_mark
from callsheet.tasks.ledger.campaigns import all_campaigns, tally_of
from callsheet.tasks.ledger.costs import charged_in
from callsheet.tasks.ledger.plans import waiting_plans
from callsheet.tasks.ledger.values import State
from callsheet.tasks.metrics import CONTENT_TYPE
from callsheet.tasks.runtime.errors import CallsheetError

router = APIRouter()
#: Plans that wait for approval and are listed at most.
PLANS = 20


@router.get("/")
async def campaigns(request: Request, board: TheBoard, person: Viewer) -> Response:
    """Show what waits for approval, all campaigns, and this month's total over them."""
    found = await board.read(all_campaigns)
    shown = [(one, await board.read(tally_of, campaign=one)) for one in found]
    month = replace(month_of(board.clock()), sandbox=board.settings.sandbox)
    charged = await board.read(charged_in, wanted=month)
    states: Counter[State] = Counter()
    for _, tally in shown:
        states.update(tally.rows)
    return page(
        request, "campaigns.html", person,
        campaigns=shown, states=states, charged=charged,
        waiting=await board.read(waiting_plans, limit=PLANS), now=board.clock(),
    )  # fmt: skip


# `/costs`: what all campaigns cost.


@router.get("/costs")
async def costs_page(
    request: Request,
    board: TheBoard,
    person: Viewer,
    by: By = "month",
    since: str = "",
    until: str = "",
) -> Response:
    """Show a line for every month, brand or person, and the total."""
    found = await get_costs(board, by, since or None, until or None)
    own = await board.read(own_columns, sandbox=board.sandbox)
    asked = {name: value for name, value in (("since", since), ("until", until)) if value}
    return page(
        request, "costs.html", person,
        found=found, groupings=(*GROUPINGS, *own), since=since, until=until, asked=asked,
    )  # fmt: skip


@router.get("/costs.csv")
async def costs_file(
    board: TheBoard, person: Viewer, by: By = "month", since: str = "", until: str = ""
) -> Response:
    """Return the lines of the page as a file for spreadsheets."""
    found = await get_costs(board, by, since or None, until or None)
    out = io.BytesIO()
    write_costs(found, out)
    named = {"Content-Disposition": 'attachment; filename="costs.csv"'}
    return Response(out.getvalue(), 200, named, "text/csv; charset=utf-8")


# `/activity`: what people did, newest first.


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
    found = await board.read(acts_of, campaign=campaign or None, before=before, limit=PAGE + 1)
    more = found[PAGE - 1].id if len(found) > PAGE else None
    return page(request, "activity.html", person, acts=found[:PAGE], campaign=campaign, next=more)


# `/health`: each part that the board stands on, and when it was looked at; `/live` for probes.


@router.get("/health")
async def health(request: Request, person: Viewer) -> Response:
    """Show every part (`deployments.board.health.HealthPart`)."""
    parts = await request.app.state.health.parts()
    return page(request, "health.html", person, parts=parts)


@router.get("/live")
async def live(request: Request, board: TheBoard) -> Response:
    """Say that the process answers, and of which ledger it is: anybody may ask.

    A ledger that does not answer is not waited for.
    """
    state = request.app.state
    if not hasattr(state, "mark"):
        with suppress(CallsheetError, TimeoutError):
            async with asyncio.timeout(0.5):
                if mark := await board.read(ledger_mark):
                    state.mark = mark
    headers = {LEDGER_MARK: state.mark} if hasattr(state, "mark") else None
    return PlainTextResponse("at work\n", headers=headers)


# `/metrics`: what Prometheus asks for, with a viewer's token; where that is set, without.


_viewer = at_least("viewer")


@router.get("/metrics")
async def metrics(request: Request, board: TheBoard) -> Response:
    """Answer in Prometheus' text format (`tasks.metrics.METRICS`)."""
    if not board.settings.metrics_open:
        await _viewer(request)
    return Response(await request.app.state.exposition.text(), media_type=CONTENT_TYPE)
