"""Owns the table of API keys: made, looked through, revoked; never deleted, never shown again."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deployments.sandbox.auth.secret import digest, new_secret


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of the organization. Moments are Unix seconds; without `expires_at` it has no end."""

    id: str
    digest: str
    name: str
    scopes: tuple[str, ...]
    made_by: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    revoked_at: float | None = None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Key:
        return cls(**{**dict(row), "scopes": tuple(row["scopes"].split())})


def new_key(
    value: str,
    *,
    name: str,
    scopes: Sequence[str],
    made_by: str,
    now: float,
    lifetime: float | None = None,
) -> Key:
    """Describe a key by its value, which is not kept."""
    return Key(
        id=f"key_{secrets.token_hex(8)}",
        digest=digest(value),
        name=name,
        scopes=tuple(scopes),
        made_by=made_by,
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )


def issue(
    db: sqlite3.Connection,
    *,
    name: str,
    scopes: Sequence[str],
    made_by: str,
    now: float,
    lifetime: float | None = None,
) -> tuple[Key, str]:
    """Make a key and keep it; give it and its value, which exists nowhere else."""
    value = new_secret("mav")
    key = new_key(value, name=name, scopes=scopes, made_by=made_by, now=now, lifetime=lifetime)
    put(db, key)
    return key, value


def put(db: sqlite3.Connection, *keys: Key) -> None:
    """Keep keys that are new."""
    db.executemany(
        "INSERT INTO api_keys (id, digest, name, scopes, made_by, created_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                key.id,
                key.digest,
                key.name,
                " ".join(key.scopes),
                key.made_by,
                key.created_at,
                key.expires_at,
            )
            for key in keys
        ],
    )


def listed(db: sqlite3.Connection) -> list[Key]:
    """Give every key there ever was, oldest first."""
    return [Key.from_row(row) for row in db.execute("SELECT * FROM api_keys ORDER BY rowid")]


def revoke(db: sqlite3.Connection, key_id: str, *, now: float) -> Key | None:
    """Take a key back for good; the first time counts. None: there is no such key."""
    db.execute(
        "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, key_id)
    )
    row = db.execute("SELECT * FROM api_keys WHERE id = ?", (key_id,)).fetchone()
    return None if row is None else Key.from_row(row)


def note_uses(db: sqlite3.Connection, uses: Mapping[str, float]) -> None:
    """Write down when keys were last used."""
    db.executemany(
        "UPDATE api_keys SET last_used_at = ? WHERE id = ?",
        [(moment, key_id) for key_id, moment in uses.items()],
    )
