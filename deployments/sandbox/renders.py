"""Owns renders: every video that was ever asked of a video, what it cost and what became of it.

running --finish--> completed      running --fail--> failed      running --cancel--> cancelled
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, fields, replace
from typing import Literal

from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan
from callsheet.deployments.sandbox.tables import insert
from callsheet.deployments.sandbox.video import COMPLETED, percent, stamp

RUNNING = "running"


@dataclass(frozen=True, kw_only=True)
class RenderOrder:
    """A video that is wanted. `seconds` of it are made anew, which says how long it takes."""

    kind: Literal["generate", "scene", "voice", "export"]
    plan: VideoPlan
    credits: int
    seconds: float
    scene: int | None = None


@dataclass(frozen=True, kw_only=True)
class Render:
    """One render. `number` counts the renders of its video from 1; `key` says who pays for it."""

    video_id: str
    number: int
    kind: str
    status: str
    operation: str
    key: str
    credits: int
    plan: str
    scene: int | None
    started_at: float
    due_at: float
    finished_at: float | None = None
    file: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    failure: str | None = None
    fault: str | None = None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Render:
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    def percent(self, now: float) -> int:
        """Say how far it is; 100 when it is finished, 0 when it came to nothing."""
        if self.status == RUNNING:
            return percent(self.started_at, self.due_at, now)
        return 100 if self.status == COMPLETED else 0

    def shown(self, now: float) -> dict[str, object]:
        """Show it as `GET /videos/{id}/renders` does."""
        plan = json.loads(self.plan)
        return {
            "number": self.number,
            "kind": self.kind,
            "status": self.status,
            "percent": self.percent(now),
            "credits": self.credits,
            "scene": self.scene,
            "voice_id": plan.get("voice"),
            "aspect_ratio": plan["aspect_ratio"],
            "started_at": stamp(self.started_at),
            "finished_at": stamp(self.finished_at),
            "sha256": self.sha256,
            "bytes": self.bytes,
            "failure_reason": self.failure,
        }


def add(db: sqlite3.Connection, render: Render) -> None:
    """Keep a render that begins."""
    insert(db, "renders", **vars(render))


def find(db: sqlite3.Connection, video_id: str, number: int) -> Render | None:
    """Find one render of a video."""
    row = db.execute(
        "SELECT * FROM renders WHERE video_id = ? AND number = ?", (video_id, number)
    ).fetchone()
    return None if row is None else Render.from_row(row)


def of_video(db: sqlite3.Connection, video_id: str, *, kind: str | None = None) -> list[Render]:
    """Give the renders of a video, newest first; of one kind, if one is named."""
    rows = db.execute(
        "SELECT * FROM renders WHERE video_id = ? AND kind = coalesce(?, kind)"
        " ORDER BY number DESC",
        (video_id, kind),
    )
    return [Render.from_row(row) for row in rows]


def last_finished(db: sqlite3.Connection, video_id: str) -> Render | None:
    """Give the newest render of a video that has a video."""
    row = db.execute(
        "SELECT * FROM renders WHERE video_id = ? AND status = ? ORDER BY number DESC LIMIT 1",
        (video_id, COMPLETED),
    ).fetchone()
    return None if row is None else Render.from_row(row)


def end(db: sqlite3.Connection, render: Render, status: str, now: float) -> Render:
    """Write down how a running render ended: its video or its failure is in `render`."""
    ended = replace(render, status=status, finished_at=now)
    db.execute(
        "UPDATE renders SET status = ?, finished_at = ?, file = ?, sha256 = ?, bytes = ?,"
        " failure = ? WHERE video_id = ? AND number = ? AND status = ?",
        (
            *(ended.status, ended.finished_at, ended.file, ended.sha256, ended.bytes),
            *(ended.failure, ended.video_id, ended.number, RUNNING),
        ),
    )
    return ended
