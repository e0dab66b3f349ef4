"""A campaign with videos that are not reviewed yet, for the tests of pages about videos."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, update

from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deliveries import Delivered, deliver
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.schema import takes
from callsheet.tasks.values.briefs import Brief
from tests.bench.video import make_video
from tests.campaigns import NOW, VIDEO, Stage

CAPTIONS = Delivered(kind="vtt", uri="/nowhere/video.vtt", sha256="b" * 64, bytes=9, seconds=None)
CUES = """WEBVTT

00:00.000 --> 00:00.600
The kettle that hums.

00:00.600 --> 00:01.000
<b>Free</b> engraving & more.
"""


def wanted(number: int) -> Brief:
    """The brief of row-NUMBER: every third video is German, every fifth wide."""
    request: dict[str, Any] = {
        "title": f"The Kettle That Hums, Part {number}",
        "topic": "copper & <b>patience</b>",
        "language": "en" if number % 3 else "de",
        "aspect_ratio": "9:16" if number % 5 else "16:9",
        "duration_seconds": 8,
    }
    return Brief(row=f"row-{number}", request=request, line=number + 1)


async def with_videos(
    ledger: Ledger,
    count: int,
    *,
    flagged: Sequence[int] = (),
    files: Sequence[Delivered] = (VIDEO, CAPTIONS),
) -> Stage:
    """Return campaign spring with row-1 to row-COUNT, a video each; some of them flagged."""
    stage = await Stage.set(ledger, *map(wanted, range(1, count + 1)))
    names = [f"row-{number}" for number in range(1, count + 1)]
    await asyncio.gather(*(_video(stage, name, files) for name in names))
    for number in flagged:
        row = await stage.row(f"row-{number}")
        await stage.write(_flag, row.take.id)
    return stage


def stored(store: str) -> list[Delivered]:
    """Put a video that can be played and its captions in a folder; every row may have these."""
    video, captions = Path(store) / "video.mp4", Path(store) / "video.vtt"
    video.parent.mkdir(parents=True, exist_ok=True)
    make_video(video)
    captions.write_text(CUES)
    return [_file("mp4", video, seconds=1.0), _file("vtt", captions)]


def _file(kind: Literal["mp4", "vtt"], path: Path, *, seconds: float | None = None) -> Delivered:
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Delivered(kind=kind, uri=str(path), sha256=digest, bytes=len(data), seconds=seconds)


async def another_take(
    stage: Stage, row: str, *, files: Sequence[Delivered] = (VIDEO, CAPTIONS)
) -> None:
    """Have a row made again, to its video."""
    named = {"by": "Ann", "because": "wording", "at": NOW}
    await stage.write(approve_retakes, [Quoted(await stage.row(row), None)], **named)
    await _video(stage, row, files)


async def _video(stage: Stage, row: str, files: Sequence[Delivered]) -> None:
    ready = await stage.ready(row)
    await stage.write(deliver, ready, ready.take, files=files, at=NOW)


def _flag(connection: Connection, take_id: int) -> None:
    found = '{"picture": "ok", "sound": "silent from 3 s on"}'
    connection.execute(update(takes).where(takes.c.id == take_id).values(checks=found, flagged=1))
