"""The verbs that change a video and pay nothing: edit, delete, cancel, share, report."""

from __future__ import annotations

from deployments.direct import body
from deployments.direct.approval import ask
from deployments.direct.looks import look_before
from deployments.direct.safe import safe
from deployments.direct.session import Document, Session
from deployments.terminal import plain
from tasks.errors import BadInput
from tasks.service import Video, bodies


async def edit(at: Session) -> Document:
    """Change title, topic, script or caption settings; the next generate uses them."""
    args = at.args
    options = body.given(title=args.title, topic=args.topic, script=body.script(args.script))
    changes = body.completed({**body.raw_body(args), **options}, args)
    if not changes:
        raise BadInput("nothing to change", remedy="give --title, --topic, --script or --set")
    video = await at.service.edit(args.id, changes)
    at.console.print(f"{plain(args.id)}: changed {', '.join(sorted(changes))}")
    if "script" in changes:
        at.console.print(f"the film stays as it is until callsheet video generate {plain(args.id)}")
    return {**_seen(args.id, video), "changed": sorted(changes)}


async def delete(at: Session) -> Document:
    """Delete a video and its files, once that was agreed to."""
    video_id = at.args.id
    await look_before(at, video_id)
    await ask(at, f"Delete {video_id} and its files?", what=f"to delete {video_id} is")
    await at.service.delete(video_id)
    at.console.print(f"{plain(video_id)}: deleted")
    return {"video_id": video_id, "deleted": True}


async def cancel(at: Session) -> Document:
    """Stop a running render; the credits it reserved are released."""
    video = await at.service.cancel(at.args.id)
    at.console.print(f"{plain(at.args.id)}: stopped; the credits it reserved are released")
    return _seen(at.args.id, video)


async def share(at: Session) -> Document:
    """Make a public link and print it: whoever has it can see the film until it expires."""
    link = await at.service.share(at.args.id, body.completed({}, at.args) or None)
    # As it is: markup or a line break would make another address of it.
    print(link.url, file=at.console.file)
    return {"video_id": at.args.id, "url": link.url, "raw": safe(link.raw)}


async def report(at: Session) -> Document:
    """Flag a video for review."""
    request = body.completed(bodies.report(at.args.reason), at.args)
    await at.service.report(at.args.id, request)
    at.console.print(f"{plain(at.args.id)}: flagged for review")
    return {"video_id": at.args.id, "reported": True}


def _seen(video_id: str, video: Video | None) -> Document:
    raw = None if video is None else safe(video.raw)
    return {"video_id": video_id, "status": video.status if video else None, "raw": raw}
