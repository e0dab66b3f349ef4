"""Owns what goes wrong with one render because somebody planned it; it is kept with the render, so
that a restart does not forget it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass, replace

from deployments.sandbox import renders
from deployments.sandbox.faults.fault import Fault
from deployments.sandbox.video import Video


@dataclass(frozen=True, kw_only=True)
class Mishap:
    """`do` is fail, never, slow or corrupt; `message` is the reason of a failure."""

    do: str
    message: str | None = None


def strike(connection: sqlite3.Connection, video: Video, fault: Fault) -> tuple[Video, Mishap]:
    """Write down what goes wrong with the running render of a video, and how late it will be."""
    mishap = Mishap(do=fault.do, message=fault.message)
    late = fault.seconds if fault.do == "slow" else 0.0
    connection.execute(
        "UPDATE renders SET fault = ?, due_at = due_at + ? WHERE video_id = ? AND number = ?",
        (json.dumps(asdict(mishap)), late, video.id, video.render),
    )
    connection.execute(
        "UPDATE videos SET due_at = due_at + ? WHERE id = ? AND render = ?",
        (late, video.id, video.render),
    )
    assert video.due_at is not None
    return replace(video, due_at=video.due_at + late), mishap


def kept_mishap(connection: sqlite3.Connection, video: Video) -> Mishap | None:
    """Give what was to go wrong with the latest render of a video, if anything."""
    render = renders.find(connection, video.id, video.render)
    if render is None or render.fault is None:
        return None
    return Mishap(**json.loads(render.fault))
