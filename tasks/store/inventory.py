"""What is in a store now, as an auditor sees it: looked at, read, listed, set aside.

Never writes a film and never removes one. Files go by their addresses as deliveries have them: a
path, or `s3://bucket/key`.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that is there, and how large it is."""

    uri: str
    bytes: int


class Inventory(Protocol):
    """The files of one folder tree, or of one bucket."""

    async def size(self, uri: str) -> int | None:
        """Return how many bytes a file has, without reading it; None where there is none."""

    async def vouched(self, uri: str) -> str | None:
        """Return the sha256 that the store itself has checked and keeps, if it does."""

    def opened(self, uri: str, spool: Path) -> AbstractAsyncContextManager[Path | None]:
        """Open a file to read it, fetched to `spool` where need be; None where there is none."""

    async def below(self, uri: str) -> list[Listed]:
        """Return every file below a folder."""

    async def set_aside(self, uri: str, mark: str) -> str:
        """Give a file another name, which holds `mark`, beside its own; return its new address.

        What has that name already is left alone: raises StoreError.
        """

    async def aclose(self) -> None:
        """Let go of connections and threads."""


def open_inventory(uri: str) -> Inventory:
    """Return the inventory of the place a file is in; contacts nobody."""
    if uri.startswith("s3://"):
        from tasks.store.bucket_inventory import BucketInventory

        return BucketInventory(uri.removeprefix("s3://").partition("/")[0])
    from tasks.store.folder_inventory import FolderInventory

    return FolderInventory()


def place_of(uri: str) -> str:
    """Return what tells one inventory from another: the bucket, or the file system."""
    return "/".join(uri.split("/")[:3]) if uri.startswith("s3://") else "/"


def name_below(address: str, uri: str) -> str | None:
    """Return a file's name in the store at `address`, None where it is not in that store."""
    prefix = address.rstrip("/") + "/"
    return uri.removeprefix(prefix) if uri.startswith(prefix) else None


def marked(name: str, mark: str) -> str:
    """Return a name with a mark before its suffix: `film.mp4` becomes `film.<mark>.mp4`."""
    path = PurePath(name)
    return f"{name.removesuffix(path.suffix)}.{mark}{path.suffix}"
