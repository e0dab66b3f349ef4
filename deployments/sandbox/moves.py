"""Owns every change of a video. Each is one transaction, guarded by the state it starts from.

(none) --create--> draft | generating        draft, completed, ... --generate--> generating
generating --finish--> completed             generating --fail--> failed
generating --cancel--> cancelled             any --delete--> deleted
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from deployments.sandbox import charges
from deployments.sandbox.bodies import CreateVideo, PatchVideo
from deployments.sandbox.credits import price
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.idempotency import digest, remember, remembered
from deployments.sandbox.script import scenes_of
from deployments.sandbox.timing import Timing
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


def create(
    connection: sqlite3.Connection, asked: CreateVideo, *, video_id: str, timing: Timing, now: float
) -> tuple[Video, bool]:
    """Make a video, or find the one this key already made; say whether its render begins now."""
    known = remembered(connection, asked)
    if known is not None:
        return known, False
    connection.execute(
        "INSERT INTO videos (id, status, asked, price, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (video_id, DRAFT, asked.model_dump_json(), price(asked), now, now),
    )
    if asked.idempotency_key is not None:
        remember(connection, asked.idempotency_key, digest(asked), video_id)
    video = get(connection, video_id)
    if asked.start_generation:
        video = _start(connection, video, timing, now)
    return video, asked.start_generation


def generate(connection: sqlite3.Connection, video_id: str, *, timing: Timing, now: float) -> Video:
    """Start a render, of a draft or again; what was edited since takes effect."""
    video = get(connection, video_id)
    if video.status == GENERATING:
        raise Refusal(409, "already_generating", "This video is already being generated.")
    return _start(connection, video, timing, now)


def cancel(connection: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Stop a running render and give its credits back."""
    video = get(connection, video_id)
    if video.status != GENERATING:
        raise Refusal(409, "not_running", "No render of this video is running.")
    _end(connection, video, CANCELLED, now)
    return get(connection, video_id)


def delete(connection: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Forget a video. Its row stays, so that its idempotency key never buys a second one."""
    video = get(connection, video_id)
    _end(connection, video, DELETED, now)
    return video


def finish(
    connection: sqlite3.Connection, video: Video, *, file: str, sha256: str, now: float
) -> None:
    """Take the film and the credits, unless the render was stopped in the meantime."""
    if _end(connection, video, COMPLETED, now):
        connection.execute(
            "UPDATE videos SET file = ?, sha256 = ?, finished_at = ? WHERE id = ?",
            (file, sha256, now, video.id),
        )


def fail(connection: sqlite3.Connection, video: Video, *, reason: str, now: float) -> None:
    """Give up a render and give its credits back, unless it was stopped in the meantime."""
    if _end(connection, video, FAILED, now):
        connection.execute("UPDATE videos SET failure = ? WHERE id = ?", (reason, video.id))


def patch(
    connection: sqlite3.Connection, video_id: str, changes: PatchVideo, *, now: float
) -> Video:
    """Edit what may be edited; the next generate uses it, a running render does not."""
    video = get(connection, video_id)
    asked = {**video.asked, **changes.model_dump(exclude_unset=True)}
    connection.execute(
        "UPDATE videos SET asked = ?, updated_at = ? WHERE id = ?",
        (json.dumps(asked), now, video_id),
    )
    return replace(video, asked=asked, updated_at=now)


def _start(connection: sqlite3.Connection, video: Video, timing: Timing, now: float) -> Video:
    plan = _plan(video)
    charges.reserve(connection, video, now=now)
    connection.execute(
        "UPDATE videos SET status = ?, render = render + 1, plan = ?, reserved = price,"
        " started_at = ?, due_at = ?, finished_at = NULL, failure = NULL, updated_at = ?"
        " WHERE id = ? AND status = ?",
        (
            *(GENERATING, plan.to_json()),
            *(now, now + timing.render_seconds(video.id, plan.duration), now),
            *(video.id, video.status),
        ),
    )
    return get(connection, video.id)


def _end(connection: sqlite3.Connection, video: Video, status: str, now: float) -> bool:
    """Leave the state and the render that were seen; settle the credits that were reserved."""
    charged = video.reserved if status == COMPLETED else 0
    moved = connection.execute(
        "UPDATE videos SET status = ?, reserved = 0, charged = charged + ?, updated_at = ?"
        " WHERE id = ? AND status = ? AND render = ?",
        (status, charged, now, video.id, video.status, video.render),
    )
    if moved.rowcount and video.status == GENERATING:
        settle = charges.charge if status == COMPLETED else charges.release
        settle(connection, video, now=now)
    return bool(moved.rowcount)


def _plan(video: Video) -> FilmPlan:
    asked = video.asked
    scenes = scenes_of(
        script=asked["script"], tool=asked["tool"], fields=asked["fields"],
        title=asked["title"], topic=asked["topic"], duration=asked["duration_seconds"],
    )  # fmt: skip
    return FilmPlan(
        id=video.id,
        seed=video.seq,
        title=asked["title"] or asked["topic"] or asked["tool"] or "Untitled",
        topic=asked["topic"] if asked["title"] and asked["topic"] else "",
        language=asked["language"],
        aspect_ratio=asked["aspect_ratio"],
        duration=asked["duration_seconds"],
        scenes=scenes,
    )
