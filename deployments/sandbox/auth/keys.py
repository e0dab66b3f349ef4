"""Who may call: every key of the organization by its digest, in memory for every request, and four
fixed ones in a file that only its owner can read. No key is ever deleted, and no value is kept."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from callsheet.deployments.sandbox.database import Database, Document, Moment, every, put
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


class KeyShown(Document):
    """A key as its owner sees it, without its value; without `expires_at` it has no end."""

    name: str
    scopes: tuple[str, ...]
    created_at: Moment
    expires_at: Moment | None = None


class ApiKey(KeyShown):
    """A key of the organization as it is kept."""

    digest: str
    revoked_at: float | None = None

    def is_good(self, now: float) -> bool:
        """Say whether it works now."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


def issue_key(
    db: sqlite3.Connection,
    *,
    name: str,
    scopes: Sequence[str],
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
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    return put(db, key), value


class Keyring:
    """The keys of one organization and the scopes each of them has.

    The key that holds all of them may be `given`.
    """

    def __init__(self, path: Path, *, given: str | None = None) -> None:
        if not path.exists():
            made = {name: new_secret("mav") for name in FIXED}
            _write(path, {**made, "signing": secrets.token_hex(32)})
        #: The values of the fixed keys, by what they hold.
        self.fixed: dict[str, str] = json.loads(path.read_text("utf-8"))
        self.signing = bytes.fromhex(self.fixed.pop("signing"))
        if given:
            self.fixed["all"] = given
        self._path = path
        self._keys: dict[str, ApiKey] = {}

    async def open(self, database: Database) -> None:
        """Learn every key from the state; a fixed key that was revoked is made again."""
        for key in await database.run(every, ApiKey):
            self.put(key)
        for name, value in self.fixed.items():
            key_of_name = self.find(value)
            if key_of_name is not None and key_of_name.revoked_at is not None:
                self.fixed[name] = new_secret("mav")
                _write(self._path, {**self.fixed, "signing": self.signing.hex()})
        missing = [name for name, value in self.fixed.items() if self.find(value) is None]
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
        if not key.is_good(time.time()):
            raise _unauthorized("has expired" if key.revoked_at is None else "was revoked")
        if scope is not None and scope not in key.scopes:
            message = f"This key lacks the {scope} scope; issue a key that holds it."
            raise Refusal(403, "forbidden", message)
        return key

    def find(self, value: str) -> ApiKey | None:
        """Give the key with this value, whatever has become of it."""
        return self._keys.get(digest(value))

    async def revoke(self, database: Database, key: ApiKey | None) -> None:
        """Take a key back for good: on the disk first, then for every request from now on."""
        if key is not None and key.revoked_at is None:
            self.put(await database.run(put, key.changed(revoked_at=time.time())))

    def _issue_fixed(self, db: sqlite3.Connection, names: Sequence[str]) -> list[ApiKey]:
        return [
            issue_key(db, name=f"Printed at the start ({name})", scopes=FIXED[name],
                      value=self.fixed[name], now=time.time())[0]
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
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    temporary.replace(path)
