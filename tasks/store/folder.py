"""A store in a folder.

The order in which bytes and names reach the disk survives a kill at any moment.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, RLock
from typing import TypeVar

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.runtime.files import sync_folder
from callsheet.tasks.store.disk import (
    Measure,
    SharedSync,
    TemporaryFile,
    disk_trouble,
    measure,
    os_reason,
    sweep,
    sync_and_measure,
)
from callsheet.tasks.store.store import File, StoredFile

Result = TypeVar("Result")

#: Writing waits for the disk, not for the processor.
_THREADS = 16


class FolderStore:
    """Videos in a folder; what waits for the disk waits in threads."""

    def __init__(self, root: Path) -> None:
        self._writer = FolderWriter(Path(os.path.abspath(root)))
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="callsheet-folder")

    @property
    def address(self) -> str:
        """The folder's path."""
        return str(self._writer.root)

    async def check(self) -> Sequence[str]:
        """Raise StoreUnusable unless files can be made in the folder; makes it if it is missing."""
        await self._run(self._check)
        return ()

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[StoredFile]:
        """Store files whose names are free, or have these same bytes already."""
        return await self._run(lambda: self._writer.put(files))

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> StoredFile:
        """Store `source` whatever the name held before; no one ever reads half of it."""
        return await self._run(lambda: self._writer.replace(name, source))

    async def keep(self, name: str, data: bytes, *, content_type: str) -> str | None:
        """Keep what can be made again, without waiting for the disk; None where it cannot be."""
        return await self._run(lambda: self._writer.keep(name, data))

    async def head(self, name: str) -> StoredFile | None:
        """Return what the folder has under `name`, read from the first byte to the last."""
        return await self._run(lambda: self._writer.head(name))

    async def read(self, name: str) -> bytes | None:
        """Return the whole of a small file, or None where there is none."""
        return await self._run(lambda: self._writer.read(name))

    async def aclose(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _check(self) -> None:
        root = self._writer.root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(root / "callsheet-probe") as probe:
                probe.write(b"callsheet")
        except OSError as error:
            reason = os_reason(error)
        else:
            return
        message = f"videos cannot be written to {root}: {reason}"
        raise StoreUnusable(message, remedy="name another folder, or make this one writable")


# Files in a folder: the order in which bytes, names and folders reach the disk.
#
# A kill at any moment leaves no name whose bytes are not whole. Blocks; knows no loop.


_DISK = "the disk of the store"
#: Folders that are remembered to be there: those that were needed last.
_KNOWN = 1000


class FolderWriter:
    """Files under `root`; a name appears only once its bytes are on the disk and verified."""

    def __init__(self, root: Path, *, known: int = _KNOWN) -> None:
        self.root = root
        self._known = known
        #: In the order in which they were needed.
        self._ready: dict[Path, None] = {}
        self._changing = Lock()
        self._above = RLock()
        self._sync = SharedSync()

    def put(self, files: Sequence[File]) -> list[StoredFile]:
        """Store files whose names are free, or have these same bytes already."""
        paths = [self._path(file.name) for file in files]
        folders = {path.parent for path in paths}
        with disk_trouble(_DISK, self.root):
            for folder in folders:
                self._prepare(folder)
            stored = [self._put(path, file) for path, file in zip(paths, files, strict=True)]
            # Also for a file that was there: anyone who wrote it may have been killed before this.
            for folder in folders:
                sync_folder(folder)
        crashpoint("store: the names are on the disk")
        return stored

    def replace(self, name: str, source: Path | bytes) -> StoredFile:
        """Store `source` whatever the name held before."""
        path = self._path(name)
        with disk_trouble(_DISK, self.root):
            self._prepare(path.parent)
            with TemporaryFile(path) as temporary:
                written = temporary.write(source)
                self._verify(temporary.read_back(), written.sha256)
                temporary.overwrite()
            sync_folder(path.parent)
        return StoredFile(str(path), written.bytes, written.sha256)

    def keep(self, name: str, data: bytes) -> str | None:
        """Keep what can be made again: written whole, and not waited for to be on the disk."""
        try:
            path = self._path(name)
            self._prepare(path.parent)
            fresh = path.with_name(f".callsheet-{secrets.token_hex(8)}.part")
            try:
                fresh.write_bytes(data)
                # Unlike a rename, a link never replaces what is there.
                os.link(fresh, path)
            except FileExistsError:
                return str(path) if path.read_bytes() == data else None
            finally:
                fresh.unlink(missing_ok=True)
        except (OSError, StoreError):
            return None
        return str(path)

    def head(self, name: str) -> StoredFile | None:
        """Return what is under `name`, read from the first byte to the last."""
        path = self._path(name)
        with disk_trouble(_DISK, self.root):
            self._require_inside(path.parent)
            return _read(path)

    def read(self, name: str) -> bytes | None:
        """Return the whole of a small file, or None where there is none."""
        path = self._path(name)
        with disk_trouble(_DISK, self.root):
            self._require_inside(path.parent)
            try:
                return path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _put(self, path: Path, file: File) -> StoredFile:
        if (there := _there(path, file.sha256)) is not None:
            return there
        stored = self._taken_over(path, file) or self._copied(path, file)
        # Someone was faster: the same video is as good as ours.
        return stored or _there(path, file.sha256) or self._put(path, file)

    def _taken_over(self, path: Path, file: File) -> StoredFile | None:
        """Give a file that lies on this disk another name: no byte of it is written again."""
        source, folder = file.source, path.parent.stat()
        if isinstance(source, bytes) or source.stat().st_dev != folder.st_dev:
            return None
        # Anyone who may look into the folder may look at the video: the spool was closed to others.
        source.chmod(folder.st_mode & 0o666)
        written = sync_and_measure(source)
        self._verify(written, file.sha256)
        crashpoint("store: the video is on the disk")
        try:
            # Unlike a rename, a link never replaces what is there.
            os.link(source, path)
            crashpoint("store: the video has its name")
        except OSError:
            return None
        return StoredFile(str(path), written.bytes, written.sha256)

    def _copied(self, path: Path, file: File) -> StoredFile | None:
        with TemporaryFile(path) as temporary:
            temporary.write(file.source)
            written = temporary.read_back()
            self._verify(written, file.sha256)
            if not temporary.publish():
                return None
            return StoredFile(str(path), written.bytes, written.sha256)

    def _verify(self, written: Measure, sha256: str) -> None:
        if written.sha256 != sha256:
            raise StoreError(f"what was written to {self.root} is not what was downloaded")

    def _path(self, name: str) -> Path:
        # Texts and no Paths: of the parents of each a list would be made.
        path = os.path.normpath(os.path.join(self.root, name))
        inside = os.path.join(self.root, "")
        if not path.startswith(inside) or path == inside:
            raise _outside(name)
        return Path(path)

    def _require_inside(self, folder: Path) -> None:
        # A link inside the store may not lead a video out of it either.
        real, root = os.path.realpath(folder), os.path.realpath(self.root)
        if os.path.commonpath([real, root]) != root:
            raise _outside(os.path.relpath(folder, self.root))

    def _prepare(self, folder: Path) -> None:
        """Make sure that a folder is on the disk, inside the store, without old temporary files.

        What was just made holds nothing and leads nowhere else: only what was there is looked at.
        """
        if self._is_ready(folder):
            return
        if folder != self.root:
            # By one for all: what is above may hold a hundred thousand folders to look through.
            with self._above:
                self._prepare(folder.parent)
        try:
            folder.mkdir(parents=folder == self.root)
            crashpoint("store: the folder is made")
        except FileExistsError:
            self._require_inside(folder)
            sweep(folder)
        # A folder is on the disk when its name in the folder above is.
        self._sync.sync(folder.parent)
        self._remember(folder)

    def _is_ready(self, folder: Path) -> bool:
        if folder not in self._ready or not folder.is_dir():
            return False
        self._remember(folder)
        return True

    def _remember(self, folder: Path) -> None:
        """Remember that a folder is there, and forget the one that no one has needed for longest.

        That is never one above others, which is needed with each of them.
        """
        with self._changing:
            self._ready.pop(folder, None)
            self._ready[folder] = None
            while len(self._ready) > self._known:
                del self._ready[next(iter(self._ready))]


def _outside(name: str) -> StoreError:
    return StoreError(f'"{name}" is not a name inside the store', permanent=True)


def _there(path: Path, sha256: str) -> StoredFile | None:
    there = _read(path)
    if there is not None and there.sha256 != sha256:
        message = f"{path} exists already and is another file; it was left alone"
        raise StoreError(message, permanent=True, conflict=True)
    return there


def _read(path: Path) -> StoredFile | None:
    try:
        found = measure(path, md5=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return StoredFile(str(path), found.bytes, found.sha256)
