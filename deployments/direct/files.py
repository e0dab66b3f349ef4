"""`callsheet video download` and `captions`: files that appear whole, checked, or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from deployments.direct.session import Document, Session
from deployments.direct.waiting import SETTLED, wait_for_film
from deployments.terminal import plain
from tasks.engine.context import make_fetcher
from tasks.engine.policy.decision import CANCELLED, FAILED
from tasks.engine.policy.polling import told_interval
from tasks.errors import BadInput, Conflict, Parked
from tasks.store import Fetched, File, Film, Stored, check_captions, inspect_film, open_store
from tasks.store.disk import say_bytes
from tasks.store.spool import spool_name


async def download(at: Session) -> Document:
    """Fetch a film beside its target, look at it, and give it its name.

    Raises BadInput when there is such a file already, or no film and none on its way.
    """
    video_id = at.args.id
    target = _target(at, f"{spool_name(video_id)}.mp4")
    if at.args.wait:
        await wait_for_film(at, video_id)
    film, fetched, stored = await _fetch(at, video_id, target)
    at.console.print(
        f"{plain(target)}: {say_bytes(stored.bytes)}, {film.seconds:.1f} s, "
        f"{film.width} x {film.height}, sha256 {stored.sha256}"
    )
    return {
        "video_id": video_id,
        "file": str(target),
        "bytes": stored.bytes,
        "sha256": fetched.sha256,
        "seconds": round(film.seconds, 3),
        "width": film.width,
        "height": film.height,
        "has_sound": film.has_sound,
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
    sha256 = hashlib.sha256(data).hexdigest()
    stored = await _publish(at, target, data, sha256, "text/plain")
    at.console.print(f"{plain(target)}: {cues} cues")
    return {**document, "file": str(target), "bytes": stored.bytes, "sha256": sha256}


def _target(at: Session, usual: str) -> Path:
    """Return where the file goes; raise BadInput when it cannot go there."""
    target = Path(at.args.output or usual)
    target = target / usual if target.is_dir() else target
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}", remedy="make it, or name another")
    if target.exists() and not at.args.force:
        raise BadInput(f"{target} exists and was left alone", remedy="add --force to replace it")
    return target


async def _fetch(at: Session, video_id: str, target: Path) -> tuple[Film, Fetched, Stored]:
    folder = target.resolve().parent

    async def fresh() -> str:
        try:
            return (await at.service.download(video_id)).url
        except Conflict as error:
            await _say_why(at, video_id, error)

    # Beside its target: one disk, so that its name is all it still needs when it is whole.
    async with make_fetcher(at.settings, folder) as fetcher:
        fetched = await fetcher.fetch(f"{spool_name(video_id)}.download", fresh)
    try:
        film = await asyncio.to_thread(inspect_film, fetched.path)
        stored = await _publish(at, target, fetched.path, fetched.sha256, "video/mp4")
    finally:
        fetched.path.unlink(missing_ok=True)
    return film, fetched, stored


async def _publish(
    at: Session, target: Path, source: Path | bytes, sha256: str, content_type: str
) -> Stored:
    """Give a checked file its name, in a way that never shows half of it."""
    shelf = open_store(str(target.resolve().parent))
    try:
        if at.args.force:
            return await shelf.replace(target.name, source, content_type=content_type)
        file = File(name=target.name, source=source, content_type=content_type, sha256=sha256)
        return (await shelf.put(file, metadata={}))[0]
    finally:
        await shelf.aclose()


async def _say_why(at: Session, video_id: str, refused: Conflict) -> NoReturn:
    """Raise what "not ready" means: come back later, or do something about it."""
    video = await at.service.get(video_id)
    if video.status in SETTLED or video.status in FAILED | CANCELLED:
        words = f'there is no film of {video_id}: the service says "{video.status}"'
        raise BadInput(words, remedy=SETTLED.get(video.status or "")) from refused
    later = datetime.fromtimestamp(time.time() + told_interval(video.poll_after), UTC)
    words = f"the film of {video_id} is not ready yet"
    raise Parked(words, until=later, remedy="add --wait to wait for it") from refused
