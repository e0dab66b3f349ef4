"""Owns the way of one render through its video: it starts, perhaps a fault strikes it, and it ends
once, in one of four ways.

Each step is one transaction, guarded by the state and the render it starts from, and moves the
credits with it.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass, replace

from callsheet.deployments.sandbox import credits, renders
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.faults.kinds import Fault
from callsheet.deployments.sandbox.limits import CallTerms
from callsheet.deployments.sandbox.renders import Render, RenderOrder
from callsheet.deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    FAILED,
    GENERATING,
    Video,
    get,
)
from callsheet.deployments.sandbox.webhooks.outbox import emit
from callsheet.deployments.sandbox.webhooks.webhook import READY


def refuse_if_generating(video: Video) -> None:
    """Refuse with 409 to start a second render."""
    if video.status == GENERATING:
        raise Refusal(409, "already_generating", "This video is already being generated.")


def start(db: sqlite3.Connection, video: Video, order: RenderOrder, call: CallTerms) -> Video:
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
    credits.reserve(db, video, render, now=now)
    call.spend(order.credits)
    renders.add(db, render)
    db.execute(
        "UPDATE videos SET status = ?, render = ?, plan = ?, reserved = ?, started_at = ?,"
        " due_at = ?, finished_at = NULL, failure = NULL, updated_at = ?"
        " WHERE id = ? AND status = ?",
        (
            *(GENERATING, number, render.plan, render.credits, now),
            *(render.due_at, now, video.id, video.status),
        ),
    )
    return get(db, video.id)


def finish(
    db: sqlite3.Connection, video: Video, *, file: str, sha256: str, size: int, now: float
) -> bool:
    """Take the video and the credits, and tell of it; False when it was stopped in the meantime."""
    ended = leave(db, video, COMPLETED, now, file=file, sha256=sha256, bytes=size)
    if ended is None:
        return False
    db.execute("UPDATE videos SET finished_at = ? WHERE id = ?", (now, video.id))
    if ended.kind == "voice":
        # From now on the video speaks with this voice, in the next generate too.
        voice = json.loads(ended.plan)["voice"]
        db.execute(
            "UPDATE videos SET asked = json_set(asked, '$.voice_id', ?) WHERE id = ?",
            (voice, video.id),
        )
    shown = get(db, video.id).shown(now)
    emit(db, kind=READY, data={**shown, "render_kind": ended.kind}, now=now)
    return True


def fail(db: sqlite3.Connection, video: Video, *, reason: str, now: float) -> None:
    """Give up a render and give its credits back, unless it was stopped in the meantime."""
    if leave(db, video, FAILED, now, failure=reason):
        db.execute("UPDATE videos SET failure = ? WHERE id = ?", (reason, video.id))


def leave(
    db: sqlite3.Connection, video: Video, status: str, now: float, **made: str | int
) -> Render | None:
    """Leave the state and the render that were seen, and settle what was reserved for it.

    Gives the render that ended, with what was `made`; None when none was running, or when the
    video has moved on since it was seen.
    """
    charged = video.reserved if status == COMPLETED else 0
    moved = db.execute(
        "UPDATE videos SET status = ?, reserved = 0, charged = charged + ?, updated_at = ?"
        " WHERE id = ? AND status = ? AND render = ?",
        (status, charged, now, video.id, video.status, video.render),
    )
    running = renders.find(db, video.id, video.render)
    if not moved.rowcount or video.status != GENERATING or running is None:
        return None
    move = credits.charge if status == COMPLETED else credits.release
    move(db, video, running, now=now)
    ended = replace(running, **made)  # type: ignore[arg-type]
    return renders.end(db, ended, CANCELLED if status == DELETED else status, now)


@dataclass(frozen=True, kw_only=True)
class RenderFault:
    """`do` is fail, never, slow or corrupt; `message` is the reason of a failure."""

    do: str
    message: str | None = None


def strike_render(db: sqlite3.Connection, video: Video, fault: Fault) -> tuple[Video, RenderFault]:
    """Write down what goes wrong with the running render of a video, and how late it will be."""
    struck = RenderFault(do=fault.do, message=fault.message)
    late = fault.seconds if fault.do == "slow" else 0.0
    db.execute(
        "UPDATE renders SET fault = ?, due_at = due_at + ? WHERE video_id = ? AND number = ?",
        (json.dumps(asdict(struck)), late, video.id, video.render),
    )
    db.execute(
        "UPDATE videos SET due_at = due_at + ? WHERE id = ? AND render = ?",
        (late, video.id, video.render),
    )
    assert video.due_at is not None
    return replace(video, due_at=video.due_at + late), struck


def kept_fault(db: sqlite3.Connection, video: Video) -> RenderFault | None:
    """Give what was to go wrong with the latest render of a video, if anything."""
    render = renders.find(db, video.id, video.render)
    if render is None or render.fault is None:
        return None
    return RenderFault(**json.loads(render.fault))
