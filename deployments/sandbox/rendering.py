"""Owns the way of one render through its video: it starts, and it ends once, in one of four ways.

Each step is one transaction, guarded by the state and the render it starts from, and moves the
credits with it.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from deployments.sandbox import charges, renders
from deployments.sandbox.call import Call
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.renders import Order, Render
from deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    FAILED,
    GENERATING,
    Video,
    get,
)
from deployments.sandbox.webhooks.events import READY, emit


def refuse_if_generating(video: Video) -> None:
    """Refuse with 409 to start a second render."""
    if video.status == GENERATING:
        raise Refusal(409, "already_generating", "This video is already being generated.")


def start(connection: sqlite3.Connection, video: Video, order: Order, call: Call) -> Video:
    """Begin a render: reserve its credits and move the video to generating.

    Raises 402 without credits and 429 over the spend limit; nothing has happened then.
    """
    number, now = video.render + 1, call.now
    render = Render(
        video_id=video.id, number=number, kind=order.kind, status=renders.RUNNING,
        operation=call.operation, key=call.key, credits=order.credits,
        plan=replace(order.plan, render=number).to_json(), scene=order.scene, started_at=now,
        due_at=now + call.timing.render_seconds(video.id, order.seconds),
    )  # fmt: skip
    charges.reserve(connection, video, render, now=now)
    call.spend(order.credits)
    renders.add(connection, render)
    connection.execute(
        "UPDATE videos SET status = ?, render = ?, plan = ?, reserved = ?, started_at = ?,"
        " due_at = ?, finished_at = NULL, failure = NULL, updated_at = ?"
        " WHERE id = ? AND status = ?",
        (
            *(GENERATING, number, render.plan, render.credits, now),
            *(render.due_at, now, video.id, video.status),
        ),
    )
    return get(connection, video.id)


def finish(
    connection: sqlite3.Connection, video: Video, *, file: str, sha256: str, size: int, now: float
) -> bool:
    """Take the film and the credits, and tell of it; False when it was stopped in the meantime."""
    ended = leave(connection, video, COMPLETED, now, file=file, sha256=sha256, bytes=size)
    if ended is None:
        return False
    connection.execute("UPDATE videos SET finished_at = ? WHERE id = ?", (now, video.id))
    if ended.kind == "voice":
        # From now on the video speaks with this voice, in the next generate too.
        voice = json.loads(ended.plan)["voice"]
        connection.execute(
            "UPDATE videos SET asked = json_set(asked, '$.voice_id', ?) WHERE id = ?",
            (voice, video.id),
        )
    shown = get(connection, video.id).shown(now)
    emit(connection, kind=READY, data={**shown, "render_kind": ended.kind}, now=now)
    return True


def fail(connection: sqlite3.Connection, video: Video, *, reason: str, now: float) -> None:
    """Give up a render and give its credits back, unless it was stopped in the meantime."""
    if leave(connection, video, FAILED, now, failure=reason):
        connection.execute("UPDATE videos SET failure = ? WHERE id = ?", (reason, video.id))


def leave(
    connection: sqlite3.Connection, video: Video, status: str, now: float, **made: str | int
) -> Render | None:
    """Leave the state and the render that were seen, and settle what was reserved for it.

    Gives the render that ended, with what was `made`; None when none was running, or when the
    video has moved on since it was seen.
    """
    charged = video.reserved if status == COMPLETED else 0
    moved = connection.execute(
        "UPDATE videos SET status = ?, reserved = 0, charged = charged + ?, updated_at = ?"
        " WHERE id = ? AND status = ? AND render = ?",
        (status, charged, now, video.id, video.status, video.render),
    )
    running = renders.find(connection, video.id, video.render)
    if not moved.rowcount or video.status != GENERATING or running is None:
        return None
    settle = charges.charge if status == COMPLETED else charges.release
    settle(connection, video, running, now=now)
    ended = replace(running, **made)  # type: ignore[arg-type]
    return renders.end(connection, ended, CANCELLED if status == DELETED else status, now)
