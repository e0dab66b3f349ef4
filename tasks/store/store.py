"""What a store is, and how an address becomes one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from tasks.errors import ConfigurationError, shorten

#: One letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


@dataclass(frozen=True)
class Stored:
    """A file in the store, as the store has it."""

    uri: str
    bytes: int
    sha256: str
    etag: str | None = None


@dataclass(frozen=True, kw_only=True)
class File:
    """A file to be stored: its bytes or where they are, and the digest they must have.

    A store on the same disk may take the file over instead of copying it: its owner removes it
    afterwards, and never writes to it again.
    """

    name: str
    source: Path | bytes
    content_type: str
    sha256: str


class Store(Protocol):
    """A place for films. A name is never given to two different files."""

    @property
    def address(self) -> str:
        """The store as people write it."""

    async def check(self) -> None:
        """Raise StoreUnusable, with a remedy, unless films can be written and read here."""

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[Stored]:
        """Store files whose names are free, or have these same bytes already.

        Together they cost less than one by one. Raises StoreError; with `conflict` when a name
        belongs to other bytes.
        """

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> Stored:
        """Store `source` whatever the name held before; nobody ever reads half of it."""

    async def head(self, name: str) -> Stored | None:
        """Return what the store has under `name`, its sha256 proved, or None."""

    async def read(self, name: str) -> bytes | None:
        """Return the whole of a small file, or None where there is none."""

    async def aclose(self) -> None:
        """Let go of connections and threads."""


def open_store(address: str, *, base: Path | None = None) -> Store:
    """Return the store at `s3://bucket/prefix` or in a folder; contacts nobody."""
    scheme = _SCHEME.match(address)
    if not address.strip():
        raise ConfigurationError("the store has no address", remedy=_REMEDY)
    if scheme is None:
        return _folder(Path(address), base)
    if scheme[1].lower() == "s3":
        return _bucket(address)
    if scheme[1].lower() == "file":
        return _folder(_file_path(address), base)
    message = f'"{shorten(address.split("?")[0])}" is not a store'
    raise ConfigurationError(message, remedy=_REMEDY)


_REMEDY = "give a folder, or s3://bucket/prefix"


def _folder(path: Path, base: Path | None) -> Store:
    from tasks.store.folder import FolderStore

    return FolderStore((base or Path.cwd()) / path.expanduser())


def _bucket(address: str) -> Store:
    from tasks.store.bucket import BucketStore

    parts = urlsplit(address)
    odd = parts.username or parts.password or parts.query or parts.fragment
    if odd or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}", parts.netloc):
        message = "the store's address is not of the form s3://bucket/prefix"
        remedy = "credentials, region and endpoint come from the AWS_ variables or ~/.aws"
        raise ConfigurationError(message, remedy=remedy)
    prefix = "/".join(part for part in parts.path.split("/") if part)
    return BucketStore(parts.netloc, prefix)


def _file_path(address: str) -> Path:
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost"):
        raise ConfigurationError(f'"{shorten(address)}" is on another machine', remedy=_REMEDY)
    return Path(unquote(parts.path))
