"""Owns reports: videos that somebody flagged for review, kept for a person to read."""

from __future__ import annotations

import secrets
import sqlite3

from deployments.sandbox.video import get, stamp
from deployments.sandbox.video_bodies import ReportVideo


def keep_report(
    connection: sqlite3.Connection, video_id: str, asked: ReportVideo, *, key: str, now: float
) -> dict[str, object]:
    """Keep a report about a video that exists; show it as it is answered."""
    get(connection, video_id)
    report_id = f"rep_{secrets.token_hex(8)}"
    connection.execute(
        "INSERT INTO reports (id, time, video_id, reason, details, key_id)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (report_id, now, video_id, asked.reason, asked.details, key),
    )
    return {
        "id": report_id,
        "video_id": video_id,
        "reason": asked.reason,
        "details": asked.details,
        "created_at": stamp(now),
    }


def listed(connection: sqlite3.Connection) -> list[dict[str, object]]:
    """Give every report, oldest first."""
    rows = connection.execute("SELECT * FROM reports ORDER BY n")
    return [{**dict(row), "time": stamp(row["time"])} for row in rows]
