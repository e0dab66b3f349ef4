"""Secrets that the board makes: what they look like, and what is kept of them.

All begin `csb_`, by which `tasks.redact` knows them. They are long and random, so a plain sha256
is as good as a slow one: nobody can guess what to hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

PREFIX = "csb_"
#: Longer is nobody's: it is not even hashed.
LONGEST = 200


def make_token(random: Callable[[], str]) -> str:
    """Return a secret that nobody can guess."""
    return PREFIX + random()


def digest_of(token: str) -> str:
    """Return what is kept of a secret, and asked for: its sha256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def without_secrets(text: str) -> str:
    """Return a text with a mark in the place of every secret of ours."""
    return re.sub(rf"\b{PREFIX}[A-Za-z0-9_-]+", f"{PREFIX}***", text)


def could_be(token: str) -> bool:
    """Whether a text has the form of one of our secrets."""
    return token.startswith(PREFIX) and len(token) <= LONGEST
