"""The free verbs on videos that are more than one request: list, show, renders, download."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import sys
import time
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

from callsheet.deployments.direct.session import Document, Session, show_list, show_record
from callsheet.deployments.terminal import plain
from callsheet.tasks.engine.context import make_fetcher
from callsheet.tasks.engine.free_calls import look
from callsheet.tasks.engine.policy.decision import CANCELLED, FAILED, SPREAD, VideoReady
from callsheet.tasks.engine.policy.renders import ENDS, poll_interval, told_interval
from callsheet.tasks.runtime.errors import BadInput, Conflict, Forbidden, NotFound, Parked
from callsheet.tasks.runtime.redact import redact, redacted
from callsheet.tasks.runtime.suggest import again_with, suggest
from callsheet.tasks.service import Video
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.response import record_of
from callsheet.tasks.store import File, FileKind, check_captions, inspect_video, open_store
from callsheet.tasks.store.spool import spool_name
from callsheet.tasks.values.amounts import (
    as_number,
    in_credits,
    parse_duration,
    say_bytes,
    say_duration,
)


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
    lines = [_line(video) for video in found]
    show_list("Videos", lines, ops.LIST.columns, at.console)
    if more:
        at.console.print(f"and more than these {limit}: --limit shows them")
    return {"videos": lines, "more": more}


async def show(at: Session) -> Document:
    """Show a video; with `--wait` once its video is there, or will not come (exit 3)."""
    ready = at.args.wait and await wait_for_video(at, at.args.id)
    video = await at.service.get(at.args.id)
    document = _shown(at, video)
    if not at.args.wait:
        return document
    document["ready"] = ready
    if ready:
        at.console.print(f"the video is there: `{suggest('video download', plain(video.id))}`")
        return document
    at.console.print(UNSTARTED.get(video.status or "", "there is no video and none is on its way"))
    return {**document, "exit": 3}


async def renders(at: Session) -> Document:
    """Show past exports, and how far the present one is, in whatever shape."""
    past = await at.service.renders(at.args.id)
    try:
        progress = await at.service.ask(ops.RENDER_PROGRESS, at.args.id)
    except (NotFound, Conflict):
        progress = None  # none is under way
    show_list("Exports", past, ops.RENDERS.columns, at.console)
    if progress is not None:
        at.console.print("the current one")
        show_record(progress, at.console)
    return {"video_id": at.args.id, "renders": redacted(past), "progress": redacted(progress)}


async def show_before(at: Session, video_id: str) -> None:
    """Show in a line what is about to be changed, if this key may look; raise NotFound."""
    with suppress(Forbidden):
        _show_line(at, await at.service.get(video_id))


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


# A video and its captions: waited for, fetched, checked, and then a file, or no file at all.
#
# A video is waited for by the same rules as in a run: when to poll, and what is proof of a video.


#: What to say about a video that waits for a person.
UNSTARTED = {"draft": "it is a draft: `callsheet video generate ID` renders it"}


async def download(at: Session) -> Document:
    """Download a video next to its target, check it, and give it its name.

    Raises BadInput when there is such a file already, or no video and none on its way.
    """
    video_id = at.args.id
    target = _target(at, f"{spool_name(video_id)}.mp4")
    if at.args.wait:
        await wait_for_video(at, video_id)
    # Next to its target: on one disk, a rename is all that is left to do when it is complete.
    async with make_fetcher(at.settings, target.resolve().parent) as fetcher:
        address = partial(_address, at, video_id)
        fetched = await fetcher.fetch(f"{spool_name(video_id)}.download", address)
    try:
        video = await asyncio.to_thread(inspect_video, fetched.path)
        written = await _publish(at, target, "mp4", fetched.path, fetched.sha256)
    finally:
        fetched.path.unlink(missing_ok=True)
    at.console.print(
        f"{plain(target)}: {say_bytes(written['bytes'])}, {video.seconds:.1f} s, "
        f"{video.width} x {video.height}, sha256 {fetched.sha256}"
    )
    return {
        "video_id": video_id,
        **written,
        "seconds": round(video.seconds, 3),
        "width": video.width,
        "height": video.height,
        "has_sound": video.has_sound,
    }


async def captions(at: Session) -> Document:
    """Fetch captions and write them to a file, or print them; they are checked first."""
    video_id, form = at.args.id, at.args.format
    target = None if at.args.output in (None, "-") else _target(at, f"{video_id}.{form}")
    data = await at.service.captions(video_id, form)
    cues = check_captions(data, form)
    document: Document = {"video_id": video_id, "format": form, "cues": cues}
    if target is None:
        if at.args.json:
            return {**document, "text": data.decode("utf-8-sig")}
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return document
    written = await _publish(at, target, form, data, hashlib.sha256(data).hexdigest())
    at.console.print(f"{plain(target)}: {cues} cues")
    return {**document, **written}


async def wait_for_video(at: Session, video_id: str) -> bool:
    """Return whether a video's file is there, once that will not change by itself.

    Raises Parked when `--max-wait` (or the deadline of the settings) has passed.
    """
    longest = at.settings.deadline
    if at.args.max_wait is not None:
        longest = parse_duration(at.args.max_wait)
    began = time.monotonic()
    ends = 0
    for polls in count(1):
        seen = await look(at.service, video_id, polls=polls)
        if isinstance(seen, VideoReady):
            return True
        ends = ends + 1 if seen.status in FAILED | CANCELLED else 0
        if seen.status == "draft" or ends == ENDS:
            break
        elapsed = time.monotonic() - began
        wait = poll_interval(elapsed, None, told=seen.poll_after) * random.uniform(1.0, SPREAD)
        if elapsed >= longest:
            raise Parked(
                f'{video_id} has no video after {say_duration(longest)}; it says "{seen.status}"',
                until=datetime.fromtimestamp(time.time() + wait, UTC),
                remedy="run the same command again: waiting costs nothing",
            )
        await asyncio.sleep(min(wait, longest - elapsed))
    return False


def _target(at: Session, usual: str) -> Path:
    """Return where the file goes; raise BadInput when it cannot go there."""
    target = Path(at.args.output or usual)
    target = target / usual if target.is_dir() else target
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}", remedy="make it, or name another")
    if not os.access(target.parent, os.W_OK):
        raise BadInput(f"you may not write to {target.parent}", remedy=again_with("-o", "FILE"))
    if target.exists() and not at.args.force:
        raise BadInput(
            f"{target} exists and was not changed", remedy=f"{again_with('--force')} to replace it"
        )
    return target


async def _publish(
    at: Session, target: Path, kind: FileKind, source: Path | bytes, sha256: str
) -> Document:
    """Give a checked file its name, in a way that never shows half of it; return it as JSON."""
    file = File(kind=kind, name=target.name, source=source, sha256=sha256)
    store = open_store(str(target.resolve().parent))
    try:
        if at.args.force:
            stored = await store.replace(file.name, file.source, content_type=file.content_type)
        else:
            (stored,) = await store.put(file, metadata={})
    finally:
        await store.aclose()
    return {"file": str(target), "bytes": stored.bytes, "sha256": sha256}


async def _address(at: Session, video_id: str) -> str:
    """Return a video's signed address; raise what "not ready" means: wait, or do something."""
    try:
        return (await at.service.download(video_id)).url
    except Conflict as error:
        refused = error
    video = await at.service.get(video_id)
    if video.status in UNSTARTED or video.status in FAILED | CANCELLED:
        words = f'there is no video of {video_id}: the service says "{video.status}"'
        raise BadInput(words, remedy=UNSTARTED.get(video.status or "")) from refused
    later = datetime.fromtimestamp(time.time() + told_interval(video.poll_after), UTC)
    words = f"the video of {video_id} is not ready yet"
    raise Parked(words, until=later, remedy=f"{again_with('--wait')} to wait for it") from refused
