"""Owns the proof that whoever brings a code is who asked for it (RFC 7636, method S256)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

_FORM = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


def is_well_formed(said: str) -> bool:
    """Say whether this can be a verifier or a challenge."""
    return _FORM.fullmatch(said) is not None


def verifies(verifier: str, challenge: str) -> bool:
    """Say whether the challenge was made of this verifier."""
    if not is_well_formed(verifier):
        return False
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(made, challenge.encode())
