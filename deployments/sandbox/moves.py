"""Owns what a caller does to a video: make it, generate it, edit it, cancel it, delete it.

(none) --create--> draft | generating        any but generating --start--> generating
generating --finish--> completed             generating --fail--> failed
generating --cancel--> cancelled             any --delete--> deleted
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from deployments.sandbox.call import Call
from deployments.sandbox.credits import price
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.idempotency import digest, remember, remembered
from deployments.sandbox.rendering import leave, refuse_if_generating, start
from deployments.sandbox.renders import Order
from deployments.sandbox.storyboard import first_plan
from deployments.sandbox.video import CANCELLED, DELETED, DRAFT, GENERATING, Video, get
from deployments.sandbox.video_bodies import CreateVideo, PatchVideo


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


def cancel(connection: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Stop a running render and give its credits back."""
    video = get(connection, video_id)
    if video.status != GENERATING:
        raise Refusal(409, "not_running", "No render of this video is running.")
    leave(connection, video, CANCELLED, now)
    return get(connection, video_id)


def delete(connection: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Forget a video. Its row stays, so that its idempotency key never buys a second one."""
    video = get(connection, video_id)
    leave(connection, video, DELETED, now)
    return video


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
