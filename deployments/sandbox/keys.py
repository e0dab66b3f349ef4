"""Owns the API keys: made once, kept in a file only its owner can read, told apart by scope."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path

from deployments.sandbox.envelope import Refusal

SCOPES = ("read", "write", "ai")


class Keyring:
    """The keys of one organization and the scopes each of them carries."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            _write(path, {"all": _key(), "signing": secrets.token_hex(32)} | _keys_by_scope())
        kept = json.loads(path.read_text())
        self.all_scopes: str = kept["all"]
        self.by_scope: dict[str, str] = {scope: kept[scope] for scope in SCOPES}
        self.signing: bytes = bytes.fromhex(kept["signing"])
        # Looked up by digest, so that the time it takes says nothing about a key.
        self._scopes = {_digest(key): frozenset({scope}) for scope, key in self.by_scope.items()}
        self._scopes[_digest(self.all_scopes)] = frozenset(SCOPES)

    def admit(self, authorization: str | None, scope: str) -> None:
        """Let a request pass whose key holds the scope; refuse any other."""
        kind, _, token = (authorization or "").partition(" ")
        held = self._scopes.get(_digest(token.strip()))
        if kind.lower() != "bearer" or held is None:
            raise _unauthorized("is missing" if authorization is None else "is not valid")
        if scope not in held:
            message = f"This key lacks the {scope} scope; issue a key that holds it."
            raise Refusal(403, "forbidden", message)


def _unauthorized(trouble: str) -> Refusal:
    message = f"The API key {trouble}: send 'Authorization: Bearer mav_...'."
    return Refusal(401, "unauthorized", message, headers={"www-authenticate": "Bearer"})


def _keys_by_scope() -> dict[str, str]:
    return {scope: _key() for scope in SCOPES}


def _key() -> str:
    return f"mav_{secrets.token_urlsafe(24)}"


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def _write(path: Path, kept: dict[str, str]) -> None:
    # Beside and then in place: a kill in between must not leave half a file.
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(kept, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
