"""Where something lies: in a folder, or in an object store at `scheme://bucket/key`.

What an address says is known here; what can be done there is in `tasks.store`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import parse_duration

#: What is behind an address that is neither a folder nor an object store.
WEB = ("http", "https")
#: One letter before the colon is a Windows drive, not a scheme.
_OBJECT = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)/?(.*)", re.DOTALL)


class ObjectAddress(NamedTuple):
    """An address in an object store; `key` is empty for a bucket as a whole.

    The scheme says which kind of store it is, in lower case: `s3`.
    """

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    @property
    def root(self) -> str:
        """The address of the bucket."""
        return f"{self.scheme}://{self.bucket}"


def object_at(address: str) -> ObjectAddress | None:
    """Return an address in an object store; None for a path or a web address."""
    found = _OBJECT.fullmatch(address)
    scheme = "" if found is None else found[1].lower()
    if found is None or scheme in (*WEB, "file"):
        return None
    return ObjectAddress(scheme, found[2], found[3])


def is_object(address: str) -> bool:
    """Whether an address is in an object store."""
    return object_at(address) is not None


def folder_at(address: str) -> Path | None:
    """Return the folder or file at an address, absolute; None for what is at no path."""
    if "://" in address:
        return None
    return Path(address).expanduser().absolute()


class Links(NamedTuple):
    """How to link to files of the store: below a public address, or signed for some seconds."""

    base: str | None = None
    lasting: int = 0

    def turn(self, now: float) -> int:
        """Return a number that changes at a moment (Unix seconds) when links are to be made again.

        A link that is signed is replaced when half of its time has passed.
        """
        return 0 if self.base else int(now // (self.lasting / 2))


#: The longest that S3 lets a signed address be read at, and the shortest that is of use.
_LONGEST, _SHORTEST = 7 * 86400, 60


def parse_links(text: str) -> Links | None:
    """Read `public https://cdn.example.com/videos` or `presigned 7d`; None for anything else."""
    kind, _, value = text.strip().partition(" ")
    parts = urlsplit(value.strip())
    if kind == "public":
        right = parts.scheme in WEB and parts.hostname and not (parts.query or parts.fragment)
        return Links(base=value.strip().rstrip("/")) if right else None
    try:
        lasting = parse_duration(value)
    except BadInput:
        return None
    right = kind == "presigned" and _SHORTEST <= lasting <= _LONGEST
    return Links(lasting=int(lasting)) if right else None
