"""Owns the tables of section 5 of the specification. Whatever is secret is kept as its sha256."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS api_keys (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL,
    last_used_at REAL,
    revoked_at REAL
);
CREATE TABLE IF NOT EXISTS oauth_clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    grant_types TEXT NOT NULL,
    created_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS authorization_codes (
    digest TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    scopes TEXT NOT NULL,
    email TEXT NOT NULL,
    expires_at REAL NOT NULL,
    key_id TEXT
);
CREATE TABLE IF NOT EXISTS claims (
    digest TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    app TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS approvals (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    user_code TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('device', 'claim')),
    secret TEXT NOT NULL,
    app TEXT NOT NULL,
    client_id TEXT,
    email TEXT,
    scopes TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    granted TEXT,
    answered_by TEXT,
    expires_at REAL NOT NULL,
    interval INTEGER NOT NULL,
    polled_at REAL
);
CREATE INDEX IF NOT EXISTS approvals_by_secret ON approvals (secret);
"""
