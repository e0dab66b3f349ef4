"""Owns idempotency keys: the same key and the same body give the same video, always."""

from __future__ import annotations

import hashlib
import json
import sqlite3

from deployments.sandbox.envelope import Refusal
from deployments.sandbox.video import Video
from deployments.sandbox.video_bodies import CreateVideo


def digest(asked: CreateVideo) -> str:
    """Digest what was said in the body; spacing, order of fields and the key do not count."""
    said = asked.model_dump(exclude_unset=True, exclude={"idempotency_key"})
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def remembered(connection: sqlite3.Connection, asked: CreateVideo) -> Video | None:
    """Find the video this key made; refuse the key when it comes with another body."""
    if asked.idempotency_key is None:
        return None
    row = connection.execute(
        "SELECT digest, videos.* FROM idempotency JOIN videos ON videos.id = video_id"
        " WHERE key = ?",
        (asked.idempotency_key,),
    ).fetchone()
    if row is None:
        return None
    if row["digest"] != digest(asked):
        message = "This idempotency_key was used before with another body."
        raise Refusal(422, "idempotency_key_reuse", message)
    return Video.from_row(row)


def remember(connection: sqlite3.Connection, key: str, digest_of_body: str, video_id: str) -> None:
    """Keep a key with the digest of its first body."""
    connection.execute("INSERT INTO idempotency VALUES (?, ?, ?)", (key, digest_of_body, video_id))
