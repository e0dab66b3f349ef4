"""Secrets that the board makes: what they look like, and what is kept of them.

All begin `csb_`, by which `tasks.runtime.redact` knows them. They are long and random, so a plain
sha256 is as good as a slow one: no one can guess what to hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

PREFIX = "csb_"
#: Longer is no one's: it is not even hashed.
LONGEST = 200


def make_token(random: Callable[[], str]) -> str:
    """Return a secret that no one can guess."""
    return PREFIX + random()


def digest_of(token: str) -> str:
    """Return what is kept of a secret, and asked for: its sha256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def could_be(token: str) -> bool:
    """Whether a text has the form of one of our secrets."""
    return token.startswith(PREFIX) and len(token) <= LONGEST
