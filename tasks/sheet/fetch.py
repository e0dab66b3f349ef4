"""The bytes of a sheet, wherever it lies."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tasks.errors import Problem, SheetError
from tasks.sheet.limits import MAX_BYTES, say_bytes


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A sheet's bytes, what to call it, and the folder it lies in if it is a local file."""

    content: bytes
    name: str
    folder: Path | None = None


async def fetch(address: str, *, stdin: BinaryIO | None = None) -> Fetched:
    """Return the bytes at an address; raise SheetError with one sentence when there are none."""
    scheme, mark, _ = address.partition("://")
    if address == "-":
        content = await asyncio.to_thread(_read, stdin or sys.stdin.buffer, "stdin")
        return Fetched(content=content, name="stdin")
    if not mark:
        return await asyncio.to_thread(_read_path, address)
    if scheme.lower() in ("https", "http"):
        from tasks.sheet.web import fetch_web

        return await fetch_web(address)
    if scheme.lower() == "s3":
        from tasks.sheet.bucket import fetch_bucket

        return await asyncio.to_thread(fetch_bucket, address)
    raise refused(address, "is not a path, - (standard input), https:// or s3://")


def refused(name: str, message: str) -> SheetError:
    """Return the error for a sheet that could not be had."""
    return SheetError([Problem(file=name, message=message)])


def too_large(name: str) -> SheetError:
    """Return the error for a sheet that is larger than any campaign."""
    return refused(name, f"is larger than {say_bytes(MAX_BYTES)}, the limit for a sheet: split it")


def _read_path(address: str) -> Fetched:
    path = Path(address).expanduser()
    try:
        with path.open("rb") as source:
            content = _read(source, path.name)
    except FileNotFoundError:
        raise refused(address, "is not there; is the path right?") from None
    except IsADirectoryError:
        raise refused(address, "is a folder, not a sheet") from None
    except PermissionError:
        raise refused(address, "may not be read by this user") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refused(address, f"cannot be read: {reason}") from None
    return Fetched(content=content, name=path.name, folder=path.parent)


def _read(source: BinaryIO, name: str) -> bytes:
    content = source.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise too_large(name)
    return content
