"""Owns who may call: every key of the organization by its digest, in memory for every request and
in a table where none is ever deleted, and four fixed ones in a file only its owner can read."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from callsheet.deployments.sandbox.auth.oauth import SCOPES
from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.tables import insert

#: The keys that are there from the start, and what they hold.
FIXED: dict[str, tuple[str, ...]] = {
    "all": SCOPES,
    "read": ("read",),
    "write": ("write",),
    "ai": ("ai",),
}


def new_secret(prefix: str) -> str:
    """Make a secret that nobody can guess; its prefix says what it is for."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """Give what is kept and looked up, so that the time a look-up takes says nothing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ApiKey:
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
    def from_row(cls, row: sqlite3.Row) -> ApiKey:
        return cls(**{**dict(row), "scopes": tuple(row["scopes"].split())})


def issue_key(
    db: sqlite3.Connection,
    *,
    name: str,
    scopes: Sequence[str],
    made_by: str,
    now: float,
    lifetime: float | None = None,
    value: str | None = None,
) -> tuple[ApiKey, str]:
    """Make a key and keep it; give it and its value, which is not kept."""
    value = value or new_secret("mav")
    key = ApiKey(
        id=f"key_{secrets.token_hex(8)}",
        digest=digest(value),
        name=name,
        scopes=tuple(scopes),
        made_by=made_by,
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    insert(db, "api_keys", **{**vars(key), "scopes": " ".join(key.scopes)})
    return key, value


def all_keys(db: sqlite3.Connection) -> list[ApiKey]:
    """Give every key there ever was, oldest first."""
    return [ApiKey.from_row(row) for row in db.execute("SELECT * FROM api_keys ORDER BY rowid")]


def revoke_key(db: sqlite3.Connection, key_id: str, *, now: float) -> ApiKey | None:
    """Take a key back for good; the first time counts. None: there is no such key."""
    db.execute(
        "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, key_id)
    )
    row = db.execute("SELECT * FROM api_keys WHERE id = ?", (key_id,)).fetchone()
    return None if row is None else ApiKey.from_row(row)


def note_uses(db: sqlite3.Connection, uses: Mapping[str, float]) -> None:
    """Write down when keys were last used."""
    db.executemany(
        "UPDATE api_keys SET last_used_at = ? WHERE id = ?",
        [(moment, key_id) for key_id, moment in uses.items()],
    )


class Keyring:
    """The keys of one organization and the scopes each of them carries.

    The key that holds all of them may be `given`.
    """

    def __init__(
        self, path: Path, *, given: str | None = None, now: Callable[[], float] = time.time
    ) -> None:
        if not path.exists():
            made = {name: new_secret("mav") for name in FIXED}
            _write(path, {**made, "signing": secrets.token_hex(32)})
        kept = json.loads(path.read_text())
        self.signing: bytes = bytes.fromhex(kept["signing"])
        self._fixed: dict[str, str] = {name: kept[name] for name in FIXED}
        if given:
            self._fixed["all"] = given
        self._path = path
        self._now = now
        self._keys: dict[str, ApiKey] = {}
        self._used: dict[str, float] = {}

    @property
    def all_scopes(self) -> str:
        """The fixed key that holds every scope."""
        return self._fixed["all"]

    @property
    def by_scope(self) -> dict[str, str]:
        """The fixed keys that hold one scope each."""
        return {scope: self._fixed[scope] for scope in SCOPES}

    async def open(self, database: Database) -> None:
        """Learn every key from the state; a fixed key that was revoked is made anew."""
        for key in await database.run(all_keys):
            self.put(key)
        revoked = [name for name, value in self._fixed.items() if self._is_revoked(value)]
        if revoked:
            self._fixed |= {name: new_secret("mav") for name in revoked}
            _write(self._path, {**self._fixed, "signing": self.signing.hex()})
        missing = [name for name, value in self._fixed.items() if self.find(value) is None]
        # All in one transaction: each alone would be flushed to the disk by itself.
        for key in await database.run(self._issue_fixed, missing):
            self.put(key)

    def put(self, key: ApiKey) -> None:
        """Know a key as it now is, new or revoked; call it when that is on the disk."""
        self._keys[key.digest] = key

    def admit(self, authorization: str | None, scope: str | None = None) -> ApiKey:
        """Let a request pass whose key holds the scope (any key, without one); refuse any other.

        Gives the key, which says who is calling. Raises 401 or 403 (specification, section 5).
        """
        kind, _, token = (authorization or "").partition(" ")
        key = self._keys.get(digest(token.strip()))
        if authorization is None:
            raise _unauthorized("is missing", fault="")
        if kind.lower() != "bearer" or key is None:
            raise _unauthorized("is not valid")
        now = self._now()
        if key.revoked_at is not None:
            raise _unauthorized("was revoked")
        if key.expires_at is not None and key.expires_at <= now:
            raise _unauthorized("has expired")
        if scope is not None and scope not in key.scopes:
            message = f"This key lacks the {scope} scope; issue a key that holds it."
            raise Refusal(403, "forbidden", message)
        self._used[key.id] = now
        return key

    def find(self, value: str) -> ApiKey | None:
        """Give the key with this value, whatever has become of it."""
        return self._keys.get(digest(value))

    async def keep_uses(self, database: Database) -> None:
        """Write down when keys were last used; doing so at every request would slow each down."""
        used, self._used = self._used, {}
        if used:
            await database.run(note_uses, used)

    def _issue_fixed(self, db: sqlite3.Connection, names: Sequence[str]) -> list[ApiKey]:
        return [
            issue_key(db, name=f"Printed at the start ({name})", scopes=FIXED[name],
                      value=self._fixed[name], made_by="the sandbox", now=self._now())[0]
            for name in names
        ]  # fmt: skip

    def _is_revoked(self, value: str) -> bool:
        key = self.find(value)
        return key is not None and key.revoked_at is not None


def _unauthorized(trouble: str, *, fault: str = ' error="invalid_token"') -> Refusal:
    message = (
        f"The API key {trouble}: send 'Authorization: Bearer mav_...' with a key that is good."
    )
    return Refusal(401, "unauthorized", message, headers={"www-authenticate": f"Bearer{fault}"})


def _write(path: Path, kept: dict[str, str]) -> None:
    # Beside and then in place: a kill in between must not leave half a file.
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(kept, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
