"""The files of a folder, looked at and not written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tasks.errors import StoreError
from tasks.store.disk import disk_trouble, sync_folder
from tasks.store.inventory import Listed, marked

_DISK = "the disk of the store"


class FolderInventory:
    """Files by their paths."""

    async def size(self, uri: str) -> int | None:
        """Return how many bytes a file has; None where there is none."""
        return await asyncio.to_thread(_size, Path(uri))

    async def vouched(self, uri: str) -> str | None:
        """Return None: a folder keeps no digests."""
        return None

    @asynccontextmanager
    async def opened(self, uri: str, spool: Path) -> AsyncIterator[Path | None]:
        """Yield the file where it is; whoever reads it copies nothing."""
        path = Path(uri)
        yield path if await asyncio.to_thread(_size, path) is not None else None

    async def below(self, uri: str) -> list[Listed]:
        """Return every file below a folder; none where there is no folder."""
        return await asyncio.to_thread(_below, Path(uri))

    async def set_aside(self, uri: str, mark: str) -> str:
        """Give a file another name in its folder; raise StoreError where that name is taken."""
        return await asyncio.to_thread(_set_aside, Path(uri), mark)

    async def aclose(self) -> None:
        """Nothing is held open."""


def _size(path: Path) -> int | None:
    with disk_trouble(_DISK, path.parent):
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_size if path.is_file() else None


def _below(folder: Path) -> list[Listed]:
    with disk_trouble(_DISK, folder):
        found = [path for path in folder.rglob("*") if path.is_file()]
        return [Listed(str(path), path.stat().st_size) for path in sorted(found)]


def _set_aside(path: Path, mark: str) -> str:
    aside = path.with_name(marked(path.name, mark))
    with disk_trouble(_DISK, path.parent):
        if os.path.lexists(aside):
            raise StoreError(f"{aside} is there already; {path} was left alone", permanent=True)
        os.rename(path, aside)
        sync_folder(path.parent)
    return str(aside)
