"""`/c/C`: a campaign live, what needs attention, and its report.

What is streamed is what the page would show now, part by part, whenever that differs from what
was sent: nothing depends on an event having been seen.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from callsheet.deployments.board.api.campaigns import RUNS
from callsheet.deployments.board.board import (
    Approver,
    Board,
    Reviewer,
    TheBoard,
    Viewer,
)
from callsheet.deployments.board.limits import OneStream
from callsheet.deployments.board.page import filled, page, part
from callsheet.deployments.board.places import hiding
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_filters import FOR_A_PERSON, RowView, rows_in
from callsheet.deployments.board.run_process import resuming
from callsheet.deployments.board.services.plans import plan_of_sheet, see_plans
from callsheet.deployments.board.services.runs import carry_campaign_on, carry_run_on, see_left
from callsheet.deployments.board.variants import Variants, variants_shown
from callsheet.deployments.campaign_status import resume_command, run_document, say_left
from callsheet.deployments.commands.drift import repair_drift, see_drift
from callsheet.tasks.aftercare.export import Format, What, export, link_maker
from callsheet.tasks.aftercare.findings import Repairs
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.campaigns import Campaign, Tally, find_campaign, last_event, tally_of
from callsheet.tasks.ledger.gauges import KINDS, keep_rates
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.plans import KeptPlan, plans_of
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import (
    MOST,
    Counts,
    counts_of,
    page_figures,
    shown_rows,
)
from callsheet.tasks.ledger.row_views import ShownRow, rows_by_id
from callsheet.tasks.ledger.runs import RunRow, runs_of
from callsheet.tasks.ledger.values import NEEDS_PERSON, NOT_BEGUN, UNDER_WAY, State
from callsheet.tasks.values.amounts import say_roughly

router = APIRouter(prefix="/c/{campaign}")

#: Seconds between two looks at the ledger; at most so often is anything sent.
LOOK = 0.6
#: After so many looks a stream is sent something whatever has happened, so that a dead one is seen;
#: for so many after an event the page is compared again: events may be committed out of order.
IDLE, STIRRED = 25, 5
#: A stream is ended after so many looks, and asked for again by anyone who may still look.
LASTS = 1000
#: The sentence for screen readers changes after so many looks, or when all is done.
ALOUD = 8


@router.get("")
async def live(request: Request, board: TheBoard, person: Viewer, campaign: str) -> Response:
    """Show the rows that the address asks for."""
    found = await board.read(find_campaign, name=campaign)
    runs = [] if found else await board.read(runs_of, campaign=campaign, limit=1)
    if runs:
        return page(request, "starting.html", person, campaign=campaign)
    plans = [] if found else await board.read(plans_of, campaign=campaign, limit=1)
    if plans:
        # Nothing of it is approved yet: there is its plan alone.
        return RedirectResponse(f"/plans/{part(plans[0].id)}", 303)
    found = found or await board.campaign(campaign)
    view = RowView(rows_in(request.query_params, "rows", "cancelled"))
    asked = view.asked
    read = partial(shown_rows, campaign_id=found.id, which=asked.which, sort=asked.sort)
    shown = await board.read(read, after=asked.after, limit=asked.limit)
    told = await _told(board, found, view, len(shown.rows))
    told["cancelled"] = request.query_params.get("cancelled", "")
    told["lasting"] = told["cancelled"] and f"{told['root']}{view.query()}"
    told["groups"] = _groups(view, shown.rows)
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
    found = await board.campaign(campaign)
    # Longer numbers are no rows of the ledger's.
    numbers = [int(one) for one in rows.split(",")[:500] if one.isdecimal() and len(one) < 19]
    view = RowView(rows_in(request.query_params, "rows", "cancelled"))
    sent = _Sent(request, person, board, found, view, numbers)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(sent.messages(), media_type="text/event-stream", headers=headers)


async def _told(board: Board, campaign: Campaign, view: RowView, shown: int) -> dict[str, Any]:
    """Return what the parts of a page that shows so many rows are filled with, but for these."""
    runs = await board.read(runs_of, campaign=campaign.name, limit=RUNS)
    tally, counts, matching = await board.read(page_figures, campaign=campaign, which=view.which)
    # Rows that came since, and would be on the first page if that were asked for now.
    left = next(iter(await see_left(board, campaign.name)), None)
    came = 0 if view.asked.after else min(matching, view.asked.limit) - shown
    documents = [run_document(run) for run in runs]
    return {
        "more": came,
        "run": next((run for run in runs if run.is_asked), None),
        "runs": documents,
        "is_going": any(tally.rows.get(state) for state in UNDER_WAY)
        or any(one["state"] == "running" for one in documents),
        "time_left": _time_left(runs, documents, board.clock()),
        "resuming": resuming(campaign.id) in board.asked,
        "left": say_left(left) if left else "",
        "resume_command": resume_command(left) if left else "",
        "waiting": await _waiting(board, campaign.name, tally, counts),
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


def _time_left(runs: Sequence[RunRow], shown: Sequence[Mapping[str, Any]], now: float) -> str:
    """Return how long the run that is under way takes, as it says itself; empty: unknown."""
    for run, document in zip(runs, shown, strict=True):
        if document["state"] == "running" and run.expected_at is not None and run.expected_at > now:
            return say_roughly(run.expected_at - now)
    return ""


async def _waiting(board: Board, campaign: str, tally: Tally, counts: Counts) -> int:
    """Return how many rows a new plan of the campaign's sheet would release, once none is made."""
    found = tally.rows
    rest = sum(found.get(state, 0) for state in NOT_BEGUN)
    # What waits for a video is released once people have kept it.
    if not rest and counts.reviews["keep"] == counts.videos > 0:
        rest = found.get("held", 0)
    if not rest or any(found.get(state) for state in UNDER_WAY) or not board.who.may("approver"):
        return 0
    return rest if await _last_sheet(board, campaign) else 0


def _groups(view: RowView, rows: Sequence[ShownRow]) -> list[Variants[ShownRow]]:
    """Return rows with variants together, where they are in the order of the sheet."""
    if view.sort != "sheet":
        return [Variants(base=None, rows=rows, kinds={})]
    return variants_shown(rows)


#: The words of a moment, which differ from look to look.
_AGO = re.compile(r"(?<= data-ago )[^<]*")
#: Templates of the parts of the page that change, each with an element of its id.
PARTS: Mapping[str, str] = {
    "run": "_live_run.html",
    "progress": "_live_progress.html",
    "stats": "_live_stats.html",
    "chips": "_live_chips.html",
    "scope": "_live_scope.html",
    "runs": "_live_runs.html",
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
        """Yield server-sent events until no one listens."""
        # The page may be of a moment before this one: what it has is made good by sending all.
        event, _ = seen = await self._last()
        before = seen
        stirred, idle, aloud = STIRRED, 0, ALOUD
        yield "retry: 1000\n\n"
        for _ in range(LASTS):
            if seen != before:
                before, stirred = seen, STIRRED
            if stirred:
                stirred, aloud = stirred - 1, aloud + 1
                now = await self._now()
                spoken = aloud >= ALOUD or not stirred
                changed = self._differing(now if spoken else _without_spoken(now))
                if changed:
                    idle, aloud = 0, 0 if spoken else aloud
                    yield _message(event, changed)
            idle += 1
            if idle >= IDLE:
                idle, stirred = 0, max(stirred, 1)
                yield ": here\n\n"
            await asyncio.sleep(LOOK)
            event, _ = seen = await self._last()

    async def _last(self) -> tuple[int, RunRow | None]:
        """Return the newest event and the newest run: a run starts and ends without an event."""
        event = await self.board.read(last_event, campaign_id=self.campaign.id)
        runs = await self.board.read(runs_of, campaign=self.campaign.name, limit=1)
        run = next(iter(runs), None)
        # A lease is renewed all the time, and no page shows it.
        return event, run and replace(run, place=None, leased_until=None, token=0)

    async def _now(self) -> dict[str, str]:
        """Return every part of the page as it is now, by the id of its element."""
        told = await _told(self.board, self.campaign, self.view, len(self.numbers))

        def show(template: str, **more: Any) -> str:
            return filled(self.request, template, self.person, **told, **more)

        found = {name: show(template) for name, template in PARTS.items()}
        found["spoken"] = show("_live_spoken.html")
        rows = await self.board.read(rows_by_id, campaign_id=self.campaign.id, numbers=self.numbers)
        for row in rows.values():
            found[f"row-{row.id}"] = show("_live_row.html", row=row)
        # In the order of the page, in which variants follow each other.
        for group in _groups(self.view, [rows[one] for one in self.numbers if one in rows]):
            if group.base is not None:
                found[f"group-{group.rows[0].id}"] = show("_live_group.html", group=group)
        return found

    def _differing(self, now: Mapping[str, str]) -> dict[str, str]:
        """Return the parts that are not as they were sent, and take them as sent."""
        # How long ago something was is counted on by the page itself.
        bare = {name: _AGO.sub("", text) for name, text in now.items()}
        changed = {name: now[name] for name in now if self.parts.get(name) != bare[name]}
        self.parts |= {name: bare[name] for name in changed}
        return changed


def _without_spoken(now: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in now.items() if name != "spoken"}


def _message(number: int, parts: Mapping[str, str]) -> str:
    """Return parts of a page as one server-sent event, each for the element of its id."""
    text = "".join(
        f'<hx-partial hx-target="#{name}" hx-swap="outerMorph">{part}</hx-partial>'
        for name, part in parts.items()
    )
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"id: {number}\n{lines}\n"


# `/c/C/attention`: what waits for a person, by what is the matter, each with its one button.


#: In the order in which money is at stake.
ORDER: Sequence[State] = ("uncertain", "failed", "held", "stalled", "rejected")


@dataclass(frozen=True)
class _Group:
    """Rows that wait for the same reason."""

    state: State
    reason: str
    rows: Sequence[ShownRow]


@router.get("/attention")
async def attention(request: Request, board: TheBoard, person: Viewer, campaign: str) -> Response:
    """Show the rows that wait for a person, by state and reason."""
    found = await board.campaign(campaign)
    which = RowFilter.of(state=NEEDS_PERSON)
    shown = await board.read(shown_rows, campaign_id=found.id, which=which, limit=MOST)
    return page(
        request,
        "attention.html",
        person,
        tab="attention",
        campaign=found.name,
        root=f"/c/{part(found.name)}",
        tally=await board.read(tally_of, campaign=found),
        groups=_grouped(shown.rows),
        more=shown.next is not None,
        sheet=await _last_sheet(board, found.name) is not None,
        run=await _last_run(board, found.name),
    )


@router.post("/again")
async def again(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Plan the campaign's last sheet again: what is paid for is resumed, the rest is priced."""
    plan = await _last_sheet(board, campaign)
    if plan is None or plan.sheet_id is None:
        raise ProblemDetails(
            409,
            f"no sheet of {campaign} was uploaded on the board",
            title="Which sheet?",
            remedy="Hand it in under New campaign: a campaign of that name is gone on with.",
        )
    options = RunOptions.of(plan.terms, select=None, first=None)
    new = await plan_of_sheet(board, plan.sheet_id, options)
    return RedirectResponse(f"/plans/{part(new)}", 303)


@router.post("/carry-on")
async def go_on(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Have the last run go on with what it left: it looks again, and pays for nothing new."""
    run = await _last_run(board, campaign)
    if run is None:
        raise ProblemDetails(409, f"no run of {campaign} that started on the board has ended")
    await carry_run_on(board, run)
    return RedirectResponse(f"/c/{part(campaign)}", 303)


@router.post("/resume")
async def resumed(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Deliver the rows that a run left under way; nothing new is paid for."""
    await carry_campaign_on(board, campaign)
    return RedirectResponse(f"/c/{part(campaign)}", 303)


def _grouped(rows: Sequence[ShownRow]) -> list[_Group]:
    found: dict[tuple[State, str], list[ShownRow]] = defaultdict(list)
    for row in rows:
        # The same thing is wrong with rows whose reasons name each row and its line alone.
        reason = re.sub(r"\bline \d+", "its line", (row.reason or "").replace(row.row, "ROW"))
        found[row.state, reason].append(row)
    groups = [
        _Group(state, (these[0].reason or "") if len(these) == 1 else reason, these)
        for (state, reason), these in found.items()
    ]
    return sorted(groups, key=lambda one: (ORDER.index(one.state), -len(one.rows)))


async def _last_sheet(board: Board, campaign: str) -> KeptPlan | None:
    """Return the newest plan that was made of a sheet."""
    return next(iter(await board.read(plans_of, campaign=campaign, limit=1, with_sheet=True)), None)


async def _last_run(board: Board, campaign: str) -> str | None:
    """Return the id of the newest run that began on the board, where it has ended."""
    runs = await board.read(runs_of, campaign=campaign, limit=RUNS)
    run = next((run for run in runs if run.is_asked), None)
    return run.id if run is not None and run.ended_at is not None else None


# `/c/C/changes`: what changed outside since delivery, looked for when the page is asked for.


@router.get("/changes")
async def changes(request: Request, board: TheBoard, person: Reviewer, campaign: str) -> Response:
    """Show what changed at the service and in the store."""
    found = await see_drift(board, campaign)
    return await _changes(request, board, person, found, repaired=False)


@router.post("/changes")
async def repaired(request: Request, board: TheBoard, person: Approver, campaign: str) -> Response:
    """Fix what is free to fix, and show what was done."""
    found = await repair_drift(board, campaign)
    return await _changes(request, board, person, found, repaired=True)


async def _changes(
    request: Request, board: Board, person: Person, found: Repairs, *, repaired: bool
) -> Response:
    known = found.campaign
    assert known is not None
    tally = await board.read(tally_of, campaign=known)
    shown = partial(page, request, "changes.html", person, tab="changes", tally=tally)
    root = f"/c/{part(known.name)}"
    return shown(campaign=known.name, root=root, drift=found.drift, repaired=repaired)


# `/c/C/report`: what a campaign has made and cost, to print and to download.


#: What may be taken home, and what it is.
FILES: dict[What, str] = {
    "rows": "Status sheet: every row, its video and what it cost",
    "takes": "Every take, with keys, files and checksums",
    "events": "Everything that happened",
    "chargeback": "Costs by cost center, tag and month",
    "traffic": "For ad platforms: ad names, files, links and click addresses",
}
TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/x-ndjson",
}


@router.get("/report")
async def report(request: Request, board: TheBoard, person: Viewer, campaign: str) -> Response:
    """Show the counts, the costs, and how much is kept of what."""
    found = await board.campaign(campaign)
    by = {}
    for kind in KINDS:
        by[kind] = await board.read(keep_rates, campaign_id=found.id, by=kind)
    whole = await board.read(keep_rates, campaign_id=found.id)
    plans = [one.plan for one in await see_plans(board, found.name)]
    return page(
        request,
        "report.html",
        person,
        tab="report",
        campaign=found.name,
        root=f"/c/{part(found.name)}",
        known=found,
        tally=await board.read(tally_of, campaign=found),
        counts=await board.read(counts_of, campaign_id=found.id),
        whole=whole[0] if whole else None,
        by=by,
        files=FILES,
        approvals=[plan for plan in plans if plan.state == "approved"],
        store=f"{board.settings.store.rstrip('/')}/{found.name}",
    )


@router.get("/report/{what}.{form}")
async def file(board: TheBoard, person: Viewer, campaign: str, what: str, form: str) -> Response:
    """Return one of the files of a report."""
    found = await board.campaign(campaign)
    kind = next((one for one in get_args(What) if one == what), None)
    format = next((one for one in TYPES if one == form), None)
    if kind is None or format is None:
        raise ProblemDetails(404, "a report has no such file")
    out = io.BytesIO()
    query = partial(export, campaign=found, out=out, what=kind, format=format, shown=hiding())
    await board.read(query, link=link_maker(kind, board.settings))
    named = f'attachment; filename="{found.name}-{what}.{form}"'
    return Response(out.getvalue(), 200, {"Content-Disposition": named}, TYPES[format])
