"""`/c/C`: a campaign as it is this moment, row by row, and the stream that keeps the page true.

What is streamed is what the page would show now, part by part, whenever that differs from what was
sent: nothing depends on an event having been seen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from callsheet.deployments.board.acts.runs import see_runs
from callsheet.deployments.board.asked import rows_in
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.page import filled, page, part
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_view import FOR_A_PERSON, RowView
from callsheet.deployments.board.streams import OneStream
from callsheet.deployments.board.who import Person, Viewer
from callsheet.tasks.ledger import Campaign, find_campaign, last_event, tally_of
from callsheet.tasks.ledger.counts import counts_of
from callsheet.tasks.ledger.shown import count_shown, rows_by_id, shown_rows

router = APIRouter(prefix="/c/{campaign}")

#: Seconds between two looks at the ledger; at most so often is anything sent.
LOOK = 0.6
#: After so many looks a stream is sent something whatever has happened, so that a dead one is seen;
#: for so many after an event the page is compared again: events may be committed out of order.
IDLE, STIRRED = 25, 5
#: A stream is ended after so many looks, and asked for again by whoever may still look.
LASTS = 1000
#: The status line, which is read aloud, is written anew after so many looks, or when all is done.
ALOUD = 8


@router.get("")
async def live(request: Request, board: TheBoard, person: Viewer, campaign: str) -> Response:
    """Show the rows that the address asks for."""
    found = await board.read(partial(find_campaign, name=campaign))
    if found is None and await see_runs(board, person, campaign, limit=1):
        return page(request, "starting.html", person, campaign=campaign)
    found = found or await campaign_of(board, campaign)
    view = RowView(rows_in(request.query_params, "rows", "cancelled"))
    asked = view.asked
    read = partial(shown_rows, campaign_id=found.id, which=asked.which, sort=asked.sort)
    shown = await board.read(partial(read, after=asked.after, limit=asked.limit))
    told = await _told(board, person, found, view, len(shown.rows))
    told["cancelled"] = request.query_params.get("cancelled", "")
    return page(request, "live.html", person, rows=shown.rows, next=shown.next, **told)


@router.get("/live")
async def stream(
    request: Request,
    board: TheBoard,
    person: Viewer,
    one: OneStream,
    campaign: str,
    rows: str = "",
) -> Response:
    """Send all parts of the page once, then those that change; `rows` are those on it."""
    found = await campaign_of(board, campaign)
    # Longer numbers are no rows of the ledger's.
    numbers = [int(one) for one in rows.split(",")[:500] if one.isdecimal() and len(one) < 19]
    view = RowView(rows_in(request.query_params, "rows", "cancelled"))
    sent = _Sent(request, person, board, found, view, numbers)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(sent.messages(), media_type="text/event-stream", headers=headers)


async def campaign_of(board: Board, name: str) -> Campaign:
    """Return a campaign; raise ProblemDetails (404) for none."""
    found = await board.read(partial(find_campaign, name=name))
    if found is None:
        raise ProblemDetails(404, f"the ledger knows no campaign {name}")
    return found


async def _told(
    board: Board, person: Person, campaign: Campaign, view: RowView, shown: int
) -> dict[str, Any]:
    """Return what the parts of a page that shows so many rows are filled with, but for these."""
    match = partial(count_shown, campaign_id=campaign.id, which=view.which)
    tally = await board.read(partial(tally_of, campaign=campaign))
    counts = await board.read(partial(counts_of, campaign_id=campaign.id))
    runs = await see_runs(board, person, campaign.name, limit=1)
    matching = tally.total if view.which.is_empty else await board.read(match)
    # Rows that came since, and would be on the first page if that were asked for now.
    came = 0 if view.asked.after else min(matching, view.asked.limit) - shown
    return {
        "more": came,
        "run": runs[0] if runs else None,
        "tab": "board",
        "campaign": campaign.name,
        "root": f"/c/{part(campaign.name)}",
        "known": campaign,
        "view": view,
        "for_a_person": FOR_A_PERSON,
        "tally": tally,
        "counts": counts,
        "matching": matching,
    }


#: The words of a moment, which differ from look to look.
_AGO = re.compile(r"(?<= data-ago )[^<]*")
#: Templates of the parts of the page that change, each with an element of its id.
PARTS: Mapping[str, str] = {
    "run": "_live_run.html",
    "stats": "_live_stats.html",
    "chips": "_live_chips.html",
    "scope": "_live_scope.html",
}


@dataclass
class _Sent:
    """What one page has been sent, and the next of it."""

    request: Request
    person: Person
    board: Board
    campaign: Campaign
    view: RowView
    numbers: list[int]
    parts: dict[str, str] = field(default_factory=dict)

    async def messages(self) -> AsyncIterator[str]:
        """Yield server-sent events until nobody listens."""
        # The page may be of a moment before this one: what it has is made good by sending all.
        event = before = await self._last()
        stirred, idle, aloud = STIRRED, 0, ALOUD
        yield "retry: 1000\n\n"
        for _ in range(LASTS):
            if event != before:
                before, stirred = event, STIRRED
            if stirred:
                stirred, aloud = stirred - 1, aloud + 1
                now = await self._now()
                spoken = aloud >= ALOUD or not stirred
                changed = self._differing(now if spoken else _without_status(now))
                if changed:
                    idle, aloud = 0, 0 if spoken else aloud
                    yield _message(event, changed)
            idle += 1
            if idle >= IDLE:
                idle, stirred = 0, max(stirred, 1)
                yield ": here\n\n"
            await asyncio.sleep(LOOK)
            event = await self._last()

    async def _last(self) -> int:
        return await self.board.read(partial(last_event, campaign_id=self.campaign.id))

    async def _now(self) -> dict[str, str]:
        """Return every part of the page as it is now, by the id of its element."""
        told = await _told(self.board, self.person, self.campaign, self.view, len(self.numbers))

        def show(template: str, **more: Any) -> str:
            return filled(self.request, template, self.person, **told, **more)

        found = {name: show(template) for name, template in PARTS.items()}
        found["progress"] = show("_live_progress.html")
        read = partial(rows_by_id, campaign_id=self.campaign.id, numbers=self.numbers)
        rows = await self.board.read(read)
        for row in rows.values():
            found[f"row-{row.id}"] = show("_live_row.html", row=row)
        return found

    def _differing(self, now: Mapping[str, str]) -> dict[str, str]:
        """Return the parts that are not as they were sent, and take them as sent."""
        # How long ago something was is counted on by the page itself.
        bare = {name: _AGO.sub("", text) for name, text in now.items()}
        changed = {name: now[name] for name in now if self.parts.get(name) != bare[name]}
        self.parts |= {name: bare[name] for name in changed}
        return changed


def _without_status(now: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in now.items() if name != "progress"}


def _message(number: int, parts: Mapping[str, str]) -> str:
    """Return parts of a page as one server-sent event, each for the element of its id."""
    text = "".join(
        f'<hx-partial hx-target="#{name}" hx-swap="outerMorph">{part}</hx-partial>'
        for name, part in parts.items()
    )
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"id: {number}\n{lines}\n"
