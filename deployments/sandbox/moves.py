"""Owns every change of a video's state. Each is one transaction, guarded by the state it starts
from, and moves the credits and the render with it.

(none) --create--> draft | generating        any but generating --start--> generating
generating --finish--> completed             generating --fail--> failed
generating --cancel--> cancelled             any --delete--> deleted
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from deployments.sandbox import charges, renders
from deployments.sandbox.call import Call
from deployments.sandbox.credits import price
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.idempotency import digest, remember, remembered
from deployments.sandbox.renders import Order, Render
from deployments.sandbox.storyboard import first_plan
from deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    DRAFT,
    FAILED,
    GENERATING,
    Video,
    get,
)
from deployments.sandbox.video_bodies import CreateVideo, PatchVideo
from deployments.sandbox.webhooks.events import READY, emit


def create(
    connection: sqlite3.Connection, asked: CreateVideo, *, video_id: str, call: Call
) -> tuple[Video, bool]:
    """Make a video, or find the one this key already made; say whether its render begins now.

    A repeat with a known key is neither counted nor charged.
    """
    known = remembered(connection, asked)
    if known is not None:
        return known, False
    call.count()
    video = insert(
        connection, video_id, kind="video", asked=asked.model_dump_json(), price=price(asked),
        now=call.now,
    )  # fmt: skip
    if asked.idempotency_key is not None:
        remember(connection, asked.idempotency_key, digest(asked), video_id)
    if asked.start_generation:
        video = start(connection, video, _first_order(video), call)
    return video, asked.start_generation


def insert(
    connection: sqlite3.Connection, video_id: str, *, kind: str, asked: str, price: int,
    now: float, picture: str | None = None,
) -> Video:  # fmt: skip
    """Make a draft of what is asked for, which is JSON."""
    connection.execute(
        "INSERT INTO videos (id, kind, status, asked, price, picture, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (video_id, kind, DRAFT, asked, price, picture, now, now),
    )
    return get(connection, video_id)


def generate(connection: sqlite3.Connection, video_id: str, call: Call) -> Video:
    """Start a render, of a draft or again; what was edited since takes effect."""
    video = get(connection, video_id)
    refuse_if_generating(video)
    call.count()
    return start(connection, video, _first_order(video), call)


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


def cancel(connection: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Stop a running render and give its credits back."""
    video = get(connection, video_id)
    if video.status != GENERATING:
        raise Refusal(409, "not_running", "No render of this video is running.")
    _leave(connection, video, CANCELLED, now)
    return get(connection, video_id)


def delete(connection: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Forget a video. Its row stays, so that its idempotency key never buys a second one."""
    video = get(connection, video_id)
    _leave(connection, video, DELETED, now)
    return video


def finish(
    connection: sqlite3.Connection, video: Video, *, file: str, sha256: str, size: int, now: float
) -> bool:
    """Take the film and the credits, and tell of it; False when it was stopped in the meantime."""
    ended = _leave(connection, video, COMPLETED, now, file=file, sha256=sha256, bytes=size)
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
    if _leave(connection, video, FAILED, now, failure=reason):
        connection.execute("UPDATE videos SET failure = ? WHERE id = ?", (reason, video.id))


def patch(
    connection: sqlite3.Connection, video_id: str, changes: PatchVideo, *, now: float
) -> Video:
    """Edit what may be edited; the next generate uses it, a running render does not."""
    video = get(connection, video_id)
    said = changes.model_dump(exclude_unset=True)
    if "script" in said and video.asked["script"] is None and video.kind != "video":
        message = f"script: a video made by {video.kind} has none to edit"
        raise Refusal(400, "invalid_request", message)
    asked = {**video.asked, **said}
    connection.execute(
        "UPDATE videos SET asked = ?, updated_at = ? WHERE id = ?",
        (json.dumps(asked), now, video_id),
    )
    return replace(video, asked=asked, updated_at=now)


def _first_order(video: Video) -> Order:
    plan = first_plan(video)
    return Order(kind="generate", plan=plan, credits=video.price, seconds=plan.duration)


def _leave(
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
