"""A store that is a folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tasks.errors import StoreError, StoreUnusable
from tasks.store.disk import disk_trouble, os_reason, sync_folder
from tasks.store.draft import Draft, sweep
from tasks.store.measure import measure
from tasks.store.store import Stored

Result = TypeVar("Result")

_DISK = "the disk of the store"
#: Writing waits for the disk, not for the processor.
_THREADS = 16


class FolderStore:
    """Films in a folder; a name appears only once its bytes are on the disk and verified."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="callsheet-folder")
        self._swept: set[Path] = set()

    @property
    def address(self) -> str:
        """The folder's path."""
        return str(self._root)

    async def check(self) -> None:
        """Raise StoreUnusable unless files can be made in the folder; makes it if it is missing."""
        await self._run(self._check)

    async def put(
        self,
        name: str,
        source: Path | bytes,
        *,
        content_type: str,
        sha256: str,
        metadata: Mapping[str, str],
    ) -> Stored:
        """Store `source` under a name that is free, or has these same bytes already."""
        return await self._run(lambda: self._put(name, source, sha256))

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> Stored:
        """Store `source` whatever the name held before; nobody ever reads half of it."""
        return await self._run(lambda: self._replace(name, source))

    async def head(self, name: str) -> Stored | None:
        """Return what the folder has under `name`, read from the first byte to the last."""
        return await self._run(lambda: self._head(self._path(name)))

    async def aclose(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _check(self) -> None:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with Draft(self._root / "callsheet-probe") as draft:
                draft.write(b"callsheet")
        except OSError as error:
            reason = os_reason(error)
        else:
            return
        message = f"films cannot be written to {self._root}: {reason}"
        raise StoreUnusable(message, remedy="name another folder, or make this one writable")

    def _put(self, name: str, source: Path | bytes, sha256: str) -> Stored:
        path = self._path(name)
        with disk_trouble(_DISK, self._root):
            if (there := self._there(path, sha256)) is not None:
                return there
            self._prepare(path.parent)
            with Draft(path) as draft:
                draft.write(source)
                self._verify(draft, sha256)
                if not draft.publish():
                    # Somebody was faster: the same film is as good as ours.
                    return self._there(path, sha256) or self._put(name, source, sha256)
            sync_folder(path.parent)
        return Stored(str(path), path.stat().st_size, sha256)

    def _replace(self, name: str, source: Path | bytes) -> Stored:
        path = self._path(name)
        with disk_trouble(_DISK, self._root):
            self._prepare(path.parent)
            with Draft(path) as draft:
                written = draft.write(source)
                self._verify(draft, written.sha256)
                draft.overwrite()
            sync_folder(path.parent)
        return Stored(str(path), written.bytes, written.sha256)

    def _verify(self, draft: Draft, sha256: str) -> None:
        if measure(draft.path, md5=False).sha256 != sha256:
            raise StoreError(f"what was written to {self._root} is not what was downloaded")

    def _there(self, path: Path, sha256: str) -> Stored | None:
        there = self._head(path)
        if there is not None and there.sha256 != sha256:
            message = f"{path} exists already and is another file; it was left alone"
            raise StoreError(message, permanent=True, conflict=True)
        return there

    def _head(self, path: Path) -> Stored | None:
        with disk_trouble(_DISK, self._root):
            try:
                found = measure(path, md5=False)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return Stored(str(path), found.bytes, found.sha256)

    def _path(self, name: str) -> Path:
        path = Path(os.path.normpath(self._root / name))
        # A link inside the store may not lead a film out of it either.
        real, root = os.path.realpath(path.parent), os.path.realpath(self._root)
        if not path.is_relative_to(self._root) or os.path.commonpath([real, root]) != root:
            raise StoreError(f'"{name}" is not a name inside the store', permanent=True)
        return path

    def _prepare(self, folder: Path) -> None:
        if folder in self._swept and folder.is_dir():
            return
        there = folder
        while not there.is_dir():
            there = there.parent
        folder.mkdir(parents=True, exist_ok=True)
        # A folder is on the disk when its name in the folder above is.
        above = folder
        while above != there:
            above = above.parent
            sync_folder(above)
        sweep(folder)
        self._swept.add(folder)
