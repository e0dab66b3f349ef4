"""The verbs on videos that pay nothing: those that only show, and those that change."""

from __future__ import annotations

from contextlib import aclosing, suppress

from callsheet.deployments.direct import request_body
from callsheet.deployments.direct.answer_view import show_record, show_records
from callsheet.deployments.direct.session import Document, Session
from callsheet.deployments.direct.video_files import UNSTARTED, wait_for_video
from callsheet.deployments.terminal import consent, plain, table
from callsheet.tasks.brief import Json
from callsheet.tasks.credits import as_number, as_text, in_credits
from callsheet.tasks.errors import BadInput, Conflict, Forbidden, NotFound
from callsheet.tasks.redact import redact, redacted
from callsheet.tasks.service import Video
from callsheet.tasks.service.bodies import Report, body_of
from callsheet.tasks.service.shapes import record_of
from callsheet.tasks.suggest import suggest
from callsheet.tasks.visible import visible

#: What a template, a tool or an export is likely to say of itself; its shape is not shown.
CATALOG = ("id", "slug", "name", "title", "category", "description", "fields")
EXPORTS = ("id", "render", "status", "progress", "created_at", "finished_at", "credits_charged")


async def list_videos(at: Session) -> Document:
    """List the first videos the service lists; `more` says whether there are others."""
    limit = at.args.limit
    if limit < 1:
        raise BadInput(f"--limit {limit} is not a number from 1")
    found: list[Video] = []
    more = False
    async with aclosing(at.service.list_videos()) as videos:  # type: ignore[type-var]
        async for video in videos:
            if len(found) == limit:
                more = True
                break
            found.append(video)
    made = table("Videos", ("id", "status", "title", "credits"), numbers=("credits",))
    for video in found:
        charged = "-" if video.charged is None else as_text(video.charged)
        cells = (video.id, video.status or "-", _title_of(video) or "-", charged)
        made.add_row(*(plain(cell) for cell in cells))
    at.console.print(made)
    if more:
        at.console.print(f"and more than these {limit}: --limit shows them")
    return {"videos": [_line(video) for video in found], "more": more}


async def show(at: Session) -> Document:
    """Show a video; with `--wait` once its video is there, or will not come (exit 3)."""
    if not at.args.wait:
        return _shown(at, await at.service.get(at.args.id))
    video, ready = await wait_for_video(at, at.args.id)
    document = {**_shown(at, video), "ready": ready}
    if ready:
        at.console.print(f"the video is there: `{suggest('video download', plain(video.id))}`")
        return document
    at.console.print(UNSTARTED.get(video.status or "", "there is no video and none is on its way"))
    return {**document, "exit": 3}


async def renders(at: Session) -> Document:
    """Show past exports, and how far the present one is, in whatever shape."""
    past = await at.service.renders(at.args.id)
    try:
        progress = await at.service.render_progress(at.args.id)
    except (NotFound, Conflict):
        progress = None  # none is under way
    _show_list("Exports", past, EXPORTS, at)
    if progress is not None:
        at.console.print("the present one")
        show_record(progress, at.console)
    return {"video_id": at.args.id, "renders": redacted(past), "progress": redacted(progress)}


async def templates(at: Session) -> Document:
    """Show the template library."""
    found = await at.service.templates()
    _show_list("Templates", found, CATALOG, at)
    return {"templates": redacted(found)}


async def tools(at: Session) -> Document:
    """Show the tools."""
    found = await at.service.tools()
    _show_list("Tools", found, CATALOG, at)
    return {"tools": redacted(found)}


async def show_before(at: Session, video_id: str) -> None:
    """Show in a line what is about to be changed, if this key may look; raise NotFound."""
    with suppress(Forbidden):
        _show_line(at, await at.service.get(video_id))


async def edit(at: Session) -> Document:
    """Change title, topic, script or caption settings; the next generate uses them."""
    args = at.args
    options = request_body.given(
        title=args.title, topic=args.topic, script=request_body.script(args.script)
    )
    changes = request_body.completed({**request_body.raw_body(args), **options}, args)
    if not changes:
        raise BadInput(
            "nothing to change",
            remedy="give --title TEXT, --topic TEXT, --script FILE or --set NAME=JSON",
        )
    video = await at.service.edit(args.id, changes)
    at.console.print(f"{plain(args.id)}: changed {', '.join(sorted(changes))}")
    if "script" in changes:
        at.console.print(
            f"the video stays as it is until `{suggest('video generate', plain(args.id))}`"
        )
    return {**_after_change(args.id, video), "changed": sorted(changes)}


async def delete(at: Session) -> Document:
    """Delete a video and its files, once that was agreed to."""
    video_id = at.args.id
    await show_before(at, video_id)
    await consent(at.args, f"Delete {video_id} and its files?", what=f"to delete {video_id} is")
    await at.service.delete(video_id)
    at.console.print(f"{plain(video_id)}: deleted")
    return {"video_id": video_id, "deleted": True}


async def cancel(at: Session) -> Document:
    """Stop a running render; the credits it reserved are released."""
    video = await at.service.cancel(at.args.id)
    at.console.print(f"{plain(at.args.id)}: stopped; the credits it reserved are released")
    return _after_change(at.args.id, video)


async def share(at: Session) -> Document:
    """Make a public link and print it: whoever has it can see the video until it expires."""
    link = await at.service.share(at.args.id, request_body.completed({}, at.args) or None)
    # As it is: markup or a line break would make another address of it.
    print(visible(link.url), file=at.console.file)
    return {"video_id": at.args.id, "url": link.url, "raw": redacted(link.raw)}


async def report(at: Session) -> Document:
    """Flag a video for review."""
    request = request_body.completed(body_of(Report, reason=at.args.reason), at.args)
    await at.service.report(at.args.id, request)
    at.console.print(f"{plain(at.args.id)}: flagged for review")
    return {"video_id": at.args.id, "reported": True}


def _shown(at: Session, video: Video) -> Document:
    _show_line(at, video)
    show_record(record_of(video.raw), at.console, told=("id", "status", "title"))
    return {
        **_line(video),
        "poll_after_seconds": video.poll_after,
        "raw": redacted(video.raw),
    }


def _show_line(at: Session, video: Video) -> None:
    title = f" {_title_of(video)}" if _title_of(video) else ""
    charged = ""
    if video.charged is not None:
        charged = f", {in_credits(video.charged)} charged so far"
    at.console.print(
        f"[bold]{plain(video.id)}[/]{plain(title)}: {plain(video.status or 'no status')}{charged}"
    )


def _title_of(video: Video) -> str | None:
    """Return a video's title or topic, where the service shows one."""
    record = record_of(video.raw)
    for name in ("title", "topic"):
        if isinstance(record.get(name), str) and record[name].strip():
            return redact(str(record[name]))
    return None


def _line(video: Video) -> Document:
    return {
        "video_id": video.id,
        "status": video.status,
        "title": _title_of(video),
        "charged": as_number(video.charged),
    }


def _show_list(title: str, found: Json, likely: tuple[str, ...], at: Session) -> None:
    records = found
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        records = lists[0] if len(lists) == 1 else [found]
    if not records:
        at.console.print(f"{title}: none")
        return
    show_records(title, records if isinstance(records, list) else [records], likely, at.console)


def _after_change(video_id: str, video: Video | None) -> Document:
    raw = None if video is None else redacted(video.raw)
    return {"video_id": video_id, "status": video.status if video else None, "raw": raw}
