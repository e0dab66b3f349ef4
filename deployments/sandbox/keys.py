"""Owns who may call: every key of the organization by its digest, in memory for every request,
and four fixed ones in a file only its owner can read."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from deployments.sandbox.auth import key_table
from deployments.sandbox.auth.key_table import Key
from deployments.sandbox.auth.scopes import SCOPES
from deployments.sandbox.auth.secret import digest, new_secret
from deployments.sandbox.database import Database
from deployments.sandbox.envelope import Refusal

#: The keys that are there from the start, and what they hold.
FIXED: dict[str, tuple[str, ...]] = {
    "all": SCOPES,
    "read": ("read",),
    "write": ("write",),
    "ai": ("ai",),
}


class Keyring:
    """The keys of one organization and the scopes each of them carries."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        if not path.exists():
            made = {name: new_secret("mav") for name in FIXED}
            _write(path, {**made, "signing": secrets.token_hex(32)})
        kept = json.loads(path.read_text())
        self.signing: bytes = bytes.fromhex(kept["signing"])
        self._fixed: dict[str, str] = {name: kept[name] for name in FIXED}
        self._path = path
        self._now = now
        self._keys: dict[str, Key] = {}
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
        for key in await database.run(key_table.listed):
            self.put(key)
        revoked = [name for name, value in self._fixed.items() if self._is_revoked(value)]
        if revoked:
            self._fixed |= {name: new_secret("mav") for name in revoked}
            _write(self._path, {**self._fixed, "signing": self.signing.hex()})
        fresh = [
            self._fixed_key(name) for name, value in self._fixed.items() if self.find(value) is None
        ]
        await database.run(lambda db: key_table.put(db, *fresh))
        for key in fresh:
            self.put(key)

    def put(self, key: Key) -> None:
        """Know a key as it now is, new or revoked; call it when that is on the disk."""
        self._keys[key.digest] = key

    def admit(self, authorization: str | None, scope: str | None = None) -> Key:
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

    def find(self, value: str) -> Key | None:
        """Give the key with this value, whatever has become of it."""
        return self._keys.get(digest(value))

    async def keep_uses(self, database: Database) -> None:
        """Write down when keys were last used; doing so at every request would slow each down."""
        used, self._used = self._used, {}
        if used:
            await database.run(lambda db: key_table.note_uses(db, used))

    def _fixed_key(self, name: str) -> Key:
        return key_table.new_key(
            self._fixed[name],
            name=f"Printed at the start ({name})",
            scopes=FIXED[name],
            made_by="the sandbox",
            now=self._now(),
        )

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
