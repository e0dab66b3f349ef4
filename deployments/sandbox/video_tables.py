"""Owns the tables of videos, their renders, idempotency keys, credits, charges and reports."""

from __future__ import annotations

import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS account (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    balance INTEGER NOT NULL CHECK (balance >= 0),
    reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved BETWEEN 0 AND balance)
);
CREATE TABLE IF NOT EXISTS videos (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL DEFAULT 'video',
    status TEXT NOT NULL,
    asked TEXT NOT NULL,
    picture TEXT,
    price INTEGER NOT NULL,
    render INTEGER NOT NULL DEFAULT 0,
    plan TEXT,
    reserved INTEGER NOT NULL DEFAULT 0,
    charged INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    started_at REAL,
    due_at REAL,
    finished_at REAL,
    failure TEXT
);
CREATE INDEX IF NOT EXISTS videos_by_status ON videos (status);
CREATE TABLE IF NOT EXISTS renders (
    video_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    credits INTEGER NOT NULL,
    plan TEXT NOT NULL,
    scene INTEGER,
    started_at REAL NOT NULL,
    due_at REAL NOT NULL,
    finished_at REAL,
    file TEXT,
    sha256 TEXT,
    bytes INTEGER,
    failure TEXT,
    fault TEXT,
    PRIMARY KEY (video_id, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS idempotency (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    video_id TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS charges (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('reserve', 'release', 'charge')),
    video_id TEXT NOT NULL,
    idempotency_key TEXT,
    title TEXT,
    credits INTEGER NOT NULL,
    operation TEXT,
    render INTEGER,
    key_id TEXT
);
CREATE TRIGGER IF NOT EXISTS charges_are_not_changed BEFORE UPDATE ON charges
BEGIN SELECT RAISE(ABORT, 'the charge log is only appended to'); END;
CREATE TRIGGER IF NOT EXISTS charges_are_not_deleted BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'the charge log is only appended to'); END;
CREATE TABLE IF NOT EXISTS reports (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    time REAL NOT NULL,
    video_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    details TEXT,
    key_id TEXT NOT NULL
);
"""

#: What sandboxes before 0.2 did not have.
ADDED = {
    "videos": {"kind": "TEXT NOT NULL DEFAULT 'video'", "picture": "TEXT"},
    "charges": {"operation": "TEXT", "render": "INTEGER", "key_id": "TEXT"},
}
#: They kept the latest render in the video itself, and no other.
TAKE_OVER = """
INSERT OR IGNORE INTO renders (video_id, number, kind, status, operation, key, credits, plan,
    started_at, due_at, finished_at, file, sha256, failure)
SELECT id, render, 'generate', CASE status WHEN 'generating' THEN 'running' ELSE status END,
    'create', '', price, plan, started_at, due_at, finished_at, file, sha256, failure
FROM videos WHERE render > 0 AND plan IS NOT NULL
"""


def set_up(connection: sqlite3.Connection, *, credits: int) -> None:
    """Make the tables that are missing and take over what an earlier sandbox left.

    `credits` is the balance of a new state.
    """
    connection.executescript(SCHEMA)
    for table, added in ADDED.items():
        there = _columns(connection, table)
        for column, kind in added.items():
            if column not in there:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    if "sha256" in _columns(connection, "videos"):
        connection.execute(TAKE_OVER)
    connection.execute("INSERT OR IGNORE INTO account (one, balance) VALUES (1, ?)", (credits,))


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row["name"] for row in connection.execute(f"PRAGMA table_info({table})")}
