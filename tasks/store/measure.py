"""How large some bytes are, and their digests."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_BLOCK = 1024 * 1024


@dataclass(frozen=True)
class Measure:
    """A size and the digests, in hex; `md5` is empty when nobody asked for it."""

    bytes: int
    sha256: str
    md5: str


def measure(source: Path | bytes, *, md5: bool = True) -> Measure:
    """Return the size and digests of a file or of bytes."""
    with open_source(source) as file:
        return measure_blocks(blocks(file), md5=md5)


def measure_blocks(pieces: Iterator[bytes], *, md5: bool = True) -> Measure:
    """Return the size and digests of what `pieces` add up to."""
    size, sha256 = 0, hashlib.sha256()
    other = hashlib.md5(usedforsecurity=False) if md5 else None
    for piece in pieces:
        size += len(piece)
        sha256.update(piece)
        if other is not None:
            other.update(piece)
    return Measure(size, sha256.hexdigest(), other.hexdigest() if other is not None else "")


def open_source(source: Path | bytes) -> BinaryIO:
    """Open a file, or bytes as if they were one."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is left of `file`."""
    while block := file.read(_BLOCK):
        yield block


def base64_of(hexed: str) -> str:
    """Return a hex digest the way HTTP headers want it."""
    return base64.b64encode(bytes.fromhex(hexed)).decode()
