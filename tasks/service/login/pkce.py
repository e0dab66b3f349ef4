"""Proof key for code exchange, method S256 (RFC 7636)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from tasks.redact import register_secret

RandomBytes = Callable[[int], bytes]
#: Bytes of chance in a verifier; 86 characters of the 128 allowed.
VERIFIER_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A verifier, which only the token endpoint gets to see, and its challenge."""

    verifier: str = field(repr=False)
    challenge: str


def new_proof(random_bytes: RandomBytes) -> Proof:
    """Return a fresh verifier and its challenge."""
    verifier = unguessable(random_bytes, VERIFIER_BYTES)
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return Proof(verifier=verifier, challenge=_urlsafe(digest))


def unguessable(random_bytes: RandomBytes, count: int = 32) -> str:
    """Return a text of `count` random bytes that will never be shown."""
    made = _urlsafe(random_bytes(count))
    register_secret(made)
    return made


def _urlsafe(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
