"""Owns making secrets and the one form in which they are kept."""

from __future__ import annotations

import hashlib
import secrets


def new_secret(prefix: str) -> str:
    """Make a secret that nobody can guess; its prefix says what it is for."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """Give what is kept and looked up, so that the time a look-up takes says nothing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
