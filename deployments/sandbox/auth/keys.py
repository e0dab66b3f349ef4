"""Who may call: every key of the organization by its digest, in memory for every request, and four
fixed ones in a file that only its owner can read. No key is ever deleted, and no value is kept."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from callsheet.deployments.sandbox.database import Database, Document, every, find, put
from callsheet.deployments.sandbox.envelope import Refusal

SCOPES = ("read", "write", "ai")
#: The keys that are there from the start, and what they hold.
FIXED: dict[str, tuple[str, ...]] = {"all": SCOPES, **{scope: (scope,) for scope in SCOPES}}


def new_secret(prefix: str) -> str:
    """Make a secret that no one can guess; its prefix says what it is for."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """Give what is kept and looked up in place of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class ApiKey(Document):
    """A key of the organization. Moments are Unix seconds; without `expires_at` it has no end."""

    digest: str
    name: str
    scopes: tuple[str, ...]
    made_by: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    revoked_at: float | None = None

    def is_good(self, now: float) -> bool:
        """Say whether it works now."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


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
    return put(db, key), value


def revoke_key(db: sqlite3.Connection, key_id: str, *, now: float) -> ApiKey | None:
    """Take a key back for good; the first time counts. None: there is no such key."""
    key = find(db, ApiKey, key_id)
    if key is None or key.revoked_at is not None:
        return key
    return put(db, key.changed(revoked_at=now))


class Keyring:
    """The keys of one organization and the scopes each of them has.

    The key that holds all of them may be `given`.
    """

    def __init__(
        self, path: Path, *, given: str | None = None, now: Callable[[], float] = time.time
    ) -> None:
        if not path.exists():
            made = {name: new_secret("mav") for name in FIXED}
            _write(path, {**made, "signing": secrets.token_hex(32)})
        kept = json.loads(path.read_text("utf-8"))
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
        """Learn every key from the state; a fixed key that was revoked is made again."""
        for key in await database.run(every, ApiKey):
            self.put(key)
        known = {name: self.find(value) for name, value in self._fixed.items()}
        revoked = [name for name, key in known.items() if key and key.revoked_at is not None]
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
        key = self.find(token.strip())
        if authorization is None:
            raise _unauthorized("is missing", fault="")
        if kind.lower() != "bearer" or key is None:
            raise _unauthorized("is not valid")
        now = self._now()
        if not key.is_good(now):
            raise _unauthorized("has expired" if key.revoked_at is None else "was revoked")
        if scope is not None and scope not in key.scopes:
            message = f"This key lacks the {scope} scope; issue a key that holds it."
            raise Refusal(403, "forbidden", message)
        self._used[key.digest] = now
        return key

    def find(self, value: str) -> ApiKey | None:
        """Give the key with this value, whatever has become of it."""
        return self._keys.get(digest(value))

    async def revoke(self, database: Database, key_id: str) -> None:
        """Take a key back: on the disk first, then for every request from now on."""
        key = await database.run(revoke_key, key_id, now=self._now())
        if key is not None:
            self.put(key)

    async def keep_uses(self, database: Database) -> None:
        """Write down when keys were last used; doing so at every request would slow each down."""
        used, self._used = self._used, {}
        for value, moment in used.items():
            self._keys[value] = self._keys[value].changed(last_used_at=moment)
        changed = [self._keys[value] for value in used]
        if changed:
            await database.run(lambda db: [put(db, key) for key in changed])

    def all(self) -> list[ApiKey]:
        """Give every key there ever was, oldest first."""
        return sorted(self._keys.values(), key=lambda key: key.created_at)

    def _issue_fixed(self, db: sqlite3.Connection, names: Sequence[str]) -> list[ApiKey]:
        return [
            issue_key(db, name=f"Printed at the start ({name})", scopes=FIXED[name],
                      value=self._fixed[name], made_by="the sandbox", now=self._now())[0]
            for name in names
        ]  # fmt: skip


def _unauthorized(trouble: str, *, fault: str = ' error="invalid_token"') -> Refusal:
    message = (
        f"The API key {trouble}: send 'Authorization: Bearer mav_...' with a key that is good."
    )
    return Refusal(401, "unauthorized", message, headers={"www-authenticate": f"Bearer{fault}"})


def _write(path: Path, kept: dict[str, str]) -> None:
    # Written next to it and then moved in place: a kill in between must not leave half a file.
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with open(
        os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(kept, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
