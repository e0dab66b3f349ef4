"""Taking over what an earlier sandbox left, whose videos kept their one render in themselves."""

from __future__ import annotations

import sqlite3

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.database import set_up
from callsheet.deployments.sandbox.video import get

EARLIER = """
CREATE TABLE account (one INTEGER PRIMARY KEY, balance INTEGER, reserved INTEGER DEFAULT 0);
INSERT INTO account VALUES (1, 70, 0);
CREATE TABLE videos (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
    asked TEXT NOT NULL, price INTEGER NOT NULL, render INTEGER NOT NULL DEFAULT 0, plan TEXT,
    reserved INTEGER NOT NULL DEFAULT 0, charged INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, started_at REAL, due_at REAL,
    finished_at REAL, file TEXT, sha256 TEXT, failure TEXT
);
INSERT INTO videos VALUES (1, 'vid_old', 'completed', '{"title": "Old"}', 30, 2, '{"scenes": []}',
    0, 30, 1.0, 2.0, 1.0, 2.0, 2.0, 'vid_old-2.mp4', 'ab', NULL);
INSERT INTO videos VALUES (2, 'vid_new', 'draft', '{}', 30, 0, NULL,
    0, 0, 1.0, 2.0, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE charges (n INTEGER PRIMARY KEY AUTOINCREMENT, time REAL, event TEXT,
    video_id TEXT, idempotency_key TEXT, title TEXT, credits INTEGER);
INSERT INTO charges VALUES (1, 2.0, 'charge', 'vid_old', 'k', 'Old', 30);
"""


def test_an_earlier_state_is_taken_over_once_and_whole() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.executescript(EARLIER)
    for _ in range(2):
        set_up(connection, credits=1)
    video = get(connection, "vid_old")
    assert (video.kind, video.asked["title"], video.asked["image"]) == ("video", "Old", None)
    rendered = accounting.last_finished(connection, "vid_old")
    assert rendered is not None
    assert (rendered.number, rendered.kind, rendered.file, rendered.sha256) == (
        2,
        "generate",
        "vid_old-2.mp4",
        "ab",
    )
    assert accounting.of_video(connection, "vid_new") == []
    assert connection.execute("SELECT balance FROM account").fetchone()[0] == 70
    charge = connection.execute("SELECT credits, operation FROM charges").fetchone()
    assert tuple(charge) == (30, None)
