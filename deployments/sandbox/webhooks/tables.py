"""Owns the tables of webhooks: subscriptions, events, what is to be delivered, what was tried.

A delivery is one event on its way to one webhook:

pending --2xx--> delivered          pending --sixth failure--> failed
pending --webhook disabled--> stopped          pending --fault `missing`--> lost
"""

SCHEMA = """
CREATE TABLE IF NOT EXISTS webhooks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    name TEXT NOT NULL,
    secret TEXT NOT NULL,
    is_active INTEGER NOT NULL DEFAULT 1,
    failures INTEGER NOT NULL DEFAULT 0,
    disabled_at REAL,
    disabled_reason TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS events (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS deliveries (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'delivered', 'failed', 'stopped', 'lost')),
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL,
    held INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS deliveries_pending ON deliveries (webhook_id, due_at)
    WHERE state = 'pending';
CREATE TABLE IF NOT EXISTS attempts (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    status INTEGER,
    error TEXT,
    started_at REAL NOT NULL,
    milliseconds INTEGER NOT NULL,
    next_attempt_at REAL
);
CREATE INDEX IF NOT EXISTS attempts_by_webhook ON attempts (webhook_id, started_at);
"""
