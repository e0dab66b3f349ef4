"""Takes over videos that were made elsewhere, so that rows of a sheet are not paid for again.

A video is found by the id in the row's cell `video_id`; where a plan is asked to look for them,
also by the row's key, or as the only one with its title and length. A video that a row of the
ledger has is never taken over.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.service_list import ENDED, read_list
from callsheet.tasks.campaign.values import FoundVideo, Plan, PlanLine
from callsheet.tasks.engine.free_calls import before_spending
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.earlier_takes import PastTake, UnpaidRow, restore_take
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import changed_since
from callsheet.tasks.ledger.renames import first_ids
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.ledger.webhook_events import tracked_videos
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import NotFound, Problem, ServiceError
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.service.response import length
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import CREATE, Brief, Json

#: Nothing of these is finished, or will be without another payment.
UNUSABLE = ENDED | {"draft"}
#: How a video was found, for people.
BY = {
    "id": "its id",
    "key": "its key (another ledger paid for it)",
    "title": "its title and length",
}
#: Where the row and the record both say it, it must be the same.
_SAME = ("aspect_ratio", "language")
_HOW = "write the id of its video into the column video_id"

#: The video of a row, or why none is taken over.
Outcome = FoundVideo | str


def needs_search(plan: Plan) -> bool:
    """Return whether the service must be asked for videos that rows take over.

    A plan that takes over videos alone has every row that it would make looked for, or left out.
    """
    makes = any(_is_made(line) for line in plan.lines) or bool(_searched(plan))
    return bool(plan.adopting) or (plan.adopt and makes)


async def with_videos(
    sheet: Sheet,
    plan: Plan,
    *,
    service: VideoService,
    ledger: Ledger | None,
    at_once: int,
    clock: UnixClock,
) -> tuple[Sheet, Plan]:
    """Return the plan with the videos that its rows take over; the sheet notes what was not found.

    Reads only. A row whose video cannot be taken over waits for a person. A plan that takes over
    videos alone makes nothing, so it loses the other rows that it would pay for. Raises Parked or
    ConfigurationError when the service cannot be asked.
    """
    briefs = {brief.row: brief for brief in sheet.briefs}
    named = {line.row: str(briefs[line.row].video_id) for line in plan.adopting}
    searched = _searched(plan) if plan.adopt else []
    unread = None
    try:
        found = await _named(service, named, at_once)
        if searched:
            shown = {line.row for line in plan.lines}
            rest = [one for one in sheet.briefs if one.row in searched or one.row not in shown]
            more, unread = await _listed(service, ledger, plan.campaign, rest)
            found |= {row: one for row, one in more.items() if row in searched}
    except ServiceError as error:
        raise before_spending(error, clock()) from error
    found = await _certain(ledger, found)
    plan = replace(plan, lines=tuple(_line(one, found.get(one.row), named) for one in plan.lines))
    return _only_videos(sheet, plan, unread) if plan.adopt else (sheet, plan)


def _only_videos(sheet: Sheet, plan: Plan, unread: str | None) -> tuple[Sheet, Plan]:
    """Return the plan without the rows that it would pay for, and a note about those."""
    left = [line.row for line in plan.lines if _is_made(line)]
    notes = [unread] if unread else []
    if left:
        named = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
        notes.append(f"has {count(len(left), 'row')} without a video to take over ({named})")
    told = (Problem(file=sheet.name, message=words) for words in notes)
    lines = tuple(line for line in plan.lines if not _is_made(line))
    sheet = replace(sheet, notes=(*sheet.notes, *told))
    return sheet, replace(plan, lines=lines, refused=())


def _is_made(line: PlanLine) -> bool:
    return line.spends or line.action == "wait"


def _searched(plan: Plan) -> Collection[str]:
    """Return the rows that a run would make now, or later for the first time, or that another
    ledger may have paid for.
    """
    refused = {one.row for one in plan.refused}
    return {line.row for line in plan.lines if _is_without_video(line) or line.row in refused}


def _is_without_video(line: PlanLine) -> bool:
    return line.action == "make" or (line.action == "wait" and not line.charged)


async def _named(
    service: VideoService, named: Mapping[str, str], at_once: int
) -> dict[str, Outcome]:
    """Return for each row the video that its cell names."""

    async def see(video_id: str) -> Outcome:
        try:
            video = await service.get(video_id)
        except NotFound:
            return f"the service has no video {video_id}: correct or empty the cell video_id"
        if video.status in UNUSABLE:
            return f'{video_id} cannot be taken over: the service says "{video.status}"'
        return _found(video, "id")

    return dict(zip(named, await map_at_once(see, named.values(), at_once=at_once), strict=True))


async def _listed(
    service: VideoService, ledger: Ledger | None, campaign: str, briefs: Sequence[Brief]
) -> tuple[dict[str, Outcome], str | None]:
    """Return the videos of rows by key, title and length; and why the list was not read, if so."""
    titles = {_title(brief.request) for brief in briefs} - {None}
    # Keys are made of the id that a row had first, which the ledger knows of rows in it.
    first = await ledger.read(_first_ids, name=campaign) if ledger is not None else {}
    wanted = [
        UnpaidRow(
            0, one.row, one.operation, one.digest, 1,
            first.get(one.row) or first.get(one.was or "") or one.was,
        )
        for one in briefs
    ]  # fmt: skip
    listed = await read_list(
        service, campaign, wanted, keep=lambda video: _title(video.raw) in titles
    )
    found: dict[str, Outcome] = {
        row: _found(made.video, "key") for row, made in listed.made.items()
    }
    kept = {video.id: video for video in listed.kept if video.status not in UNUSABLE}
    taken = await _taken(ledger, kept)
    free = [video for video in kept.values() if video.id not in taken]
    return match(briefs, free) | found, listed.unread


def _first_ids(connection: Connection, name: str) -> Mapping[str, str]:
    """Return the first ids of renamed rows of a campaign, by their present ids."""
    campaign = find_campaign(connection, name)
    known = [] if campaign is None else first_ids(connection, campaign.id)
    return {row: first for first, row in known}


def match(briefs: Iterable[Brief], videos: Iterable[Video]) -> dict[str, Outcome]:
    """Return for each row the only video with its title and length, or why none is certain. Pure.

    A row without a title or a length has none. Ratio and language must not differ.
    """
    titled: dict[str | None, list[Video]] = defaultdict(list)
    for video in videos:
        titled[_title(video.raw)].append(video)
    fitting = {
        brief.row: [one for one in titled[_title(brief.request)] if _fits(one, brief.request)]
        for brief in briefs
    }
    rows: dict[str, list[str]] = defaultdict(list)
    for row, some in fitting.items():
        for video in some:
            rows[video.id].append(row)
    return {row: _one(some, rows) for row, some in fitting.items() if some}


def _one(fitting: Sequence[Video], rows: Mapping[str, Sequence[str]]) -> Outcome:
    if len(fitting) > 1:
        ids = ", ".join(video.id for video in fitting[:5])
        return f"{len(fitting)} videos have its title and length ({ids}): {_HOW}"
    video = fitting[0]
    if len(rows[video.id]) > 1:
        several = ", ".join(rows[video.id][:5])
        return f"{video.id} has the title and length of several rows ({several}): {_HOW}"
    return _found(video, "title")


def _fits(video: Video, asked: Mapping[str, Json]) -> bool:
    seconds = asked.get("duration_seconds")
    if not asked.get("title") or seconds is None or length(video.raw) != seconds:
        return False
    said = ((asked.get(name), video.raw.get(name)) for name in _SAME)
    return all(None in pair or pair[0] == pair[1] for pair in said)


def _found(video: Video, by: Any) -> FoundVideo:
    raw = video.raw if isinstance(video.raw, dict) else {}
    title = raw.get("title") or raw.get("topic")
    return FoundVideo(video.id, by, str(title) if title else None, length(raw))


def _title(record: Json | Mapping[str, Json]) -> str | None:
    title = record.get("title") if isinstance(record, Mapping) else None
    return " ".join(title.split()).casefold() if isinstance(title, str) else None


async def _taken(ledger: Ledger | None, videos: Collection[str]) -> Mapping[str, str]:
    """Return those of the videos that rows of the ledger have, each with its row in words."""
    if ledger is None or not videos:
        return {}
    return await ledger.read(taken_videos, videos=videos)


def taken_videos(connection: Connection, videos: Collection[str]) -> Mapping[str, str]:
    """Return those of the videos that rows of the ledger have, each with its row in words."""
    known = tracked_videos(connection, videos)
    return {one.video_id: f"row {one.row} of {one.campaign}" for one in known}


async def _certain(ledger: Ledger | None, found: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the outcomes, with a reason in place of a video of another row, or of several."""
    claims = Counter(one.video_id for one in found.values() if isinstance(one, FoundVideo))
    taken = await _taken(ledger, claims)

    def judged(one: Outcome) -> Outcome:
        if not isinstance(one, FoundVideo):
            return one
        if whose := taken.get(one.video_id):
            return f"{one.video_id} is the video of {whose}"
        twins = claims[one.video_id] > 1
        return f"{one.video_id} was found for several rows: {_HOW}" if twins else one

    return {row: judged(one) for row, one in found.items()}


def _line(line: PlanLine, outcome: Outcome | None, named: Mapping[str, str]) -> PlanLine:
    """Return a line with what was found for it."""
    if outcome is None:
        return line
    if isinstance(outcome, FoundVideo):
        words = f"{outcome.video_id}, found by {BY[outcome.by]}"
        told = [f'"{outcome.title}"'] if outcome.title else []
        told += [f"{outcome.seconds:g} s"] if outcome.seconds else []
        why = ": ".join(filter(None, (words, ", ".join(told))))
        return line._replace(action="adopt", why=why, found=outcome, priced=Decimal(0))
    if line.row not in named:
        return line._replace(action="person", why=outcome)
    # Until the cell is corrected nothing is paid for the row.
    video = FoundVideo(named[line.row], "id")
    return line._replace(action="person", why=outcome, state="held", found=video)


def as_found(shown: Plan, plan: Plan) -> Plan:
    """Return a plan with the videos that were found for an earlier one."""
    known = {line.row: line for line in shown.lines if line.found}

    def put_in(line: PlanLine) -> PlanLine:
        then = known.get(line.row)
        if then is None or line.action not in ("make", "wait", "adopt", "person"):
            return line
        # Until the cell of a video that cannot be taken over is corrected, its row is on hold.
        state = then.state if then.action == "person" else line.state
        return line._replace(action=then.action, why=then.why, found=then.found, state=state)

    lines = tuple(map(put_in, plan.lines))
    lines = tuple(line for line in lines if not (plan.adopt and line.spends))
    return replace(plan, lines=lines, credit_price=shown.credit_price or plan.credit_price)


def adopt(connection: Connection, campaign: Campaign, plan: Plan, *, at: float) -> None:
    """Record the videos that an approved plan takes over, each as a take of 0 credits.

    Raises MovedOn when a row is not as it was shown, or another row has its video by now.
    """
    lines = {line.row: line for line in plan.adopting}
    videos = {row: line.found for row, line in lines.items() if line.found}
    taken = taken_videos(connection, {one.video_id for one in videos.values()})
    changed = [
        f"{row}: {video.video_id} is the video of {taken[video.video_id]}"
        for row, video in videos.items()
        if video.video_id in taken
    ]
    for page in pages_of(videos):
        for row in rows_of(connection, campaign.id, named=page):
            video = videos[row.row]
            past = PastTake(
                number=1,
                nth=row.nth,
                key=row.key(),
                body=row.body(row.key() if row.operation == CREATE else None),
                quoted=Decimal(0),
                charged=Decimal(0),
                video_id=video.video_id,
                sent_at=at,
                source=f"the service by {BY[video.by]}, and adopted for 0 credits",
            )
            # What another ledger has paid for is restored with its price, by the next run.
            same = row.digest == lines[row.row].digest and video.by != "key"
            if not same or not restore_take(connection, row, past, at=at):
                changed.append(f"{row.row}: the row changed")
    if changed:
        raise changed_since(changed)
