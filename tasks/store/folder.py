"""A store in a folder.

The order in which bytes, names and folders reach the disk survives a kill at any moment: no name
is ever there whose bytes are not whole.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import wraps
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.runtime.files import sync_folder
from callsheet.tasks.store.disk import (
    Measure,
    TemporaryFile,
    disk_trouble,
    measure,
    os_reason,
    sweep,
    sync_and_measure,
)
from callsheet.tasks.store.store import File, Listed, StoredFile, marked

Result = TypeVar("Result")
Given = ParamSpec("Given")

#: Writing waits for the disk, not for the processor.
_THREADS = 16
#: Folders that are remembered to be there: those that were needed last.
_KNOWN = 1000


def _in_thread(
    work: Callable[Concatenate[FolderStore, Given], Result],
) -> Callable[Concatenate[FolderStore, Given], Coroutine[Any, Any, Result]]:
    """Have a method wait for the disk in a thread of its store; its OSError is a StoreError."""

    @wraps(work)
    async def run(self: FolderStore, /, *args: Given.args, **named: Given.kwargs) -> Result:
        def here() -> Result:
            with disk_trouble("the disk of the store", self.root):
                return work(self, *args, **named)

        return await asyncio.get_running_loop().run_in_executor(self.threads, here)

    return run


class FolderStore:
    """Videos in a folder; a name appears only once its bytes are on the disk and verified."""

    def __init__(self, root: Path, *, known: int = _KNOWN) -> None:
        self.root = Path(os.path.abspath(root))
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="callsheet-folder")
        self._known = known
        #: In the order in which they were needed.
        self._ready: dict[Path, None] = {}
        self._changing = Lock()
        self._above = RLock()

    @property
    def address(self) -> str:
        """The folder's path."""
        return str(self.root)

    @_in_thread
    def check(self) -> Sequence[str]:
        """Raise StoreUnusable unless files can be made in the folder; makes it if it is missing."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(self.root / "callsheet-probe") as probe:
                probe.write(b"callsheet")
        except OSError as error:
            reason = os_reason(error)
        else:
            return ()
        message = f"videos cannot be written to {self.root}: {reason}"
        raise StoreUnusable(message, remedy="name another folder, or make this one writable")

    @_in_thread
    def put(self, *files: File, metadata: Mapping[str, str]) -> list[StoredFile]:
        """Store files whose names are free, or have these same bytes already."""
        paths = [self._path(file.name) for file in files]
        folders = {path.parent for path in paths}
        for folder in folders:
            self._prepare(folder)
        stored = [self._put(path, file) for path, file in zip(paths, files, strict=True)]
        # Also for a file that was there: anyone who wrote it may have been killed before this.
        for folder in folders:
            sync_folder(folder)
        crashpoint("store: the names are on the disk")
        return stored

    @_in_thread
    def replace(self, name: str, source: Path | bytes, *, content_type: str) -> StoredFile:
        """Store `source` whatever the name held before; no one ever reads half of it."""
        path = self._path(name)
        self._prepare(path.parent)
        with TemporaryFile(path) as temporary:
            written = temporary.write(source)
            self._verify(temporary.read_back(), written.sha256)
            temporary.overwrite()
        sync_folder(path.parent)
        return StoredFile(str(path), written.bytes, written.sha256)

    @_in_thread
    def keep(self, name: str, data: bytes, *, content_type: str) -> str | None:
        """Keep what can be made again, without waiting for the disk; None where it cannot be."""
        with suppress(OSError, StoreError):
            path = self._path(name)
            self._prepare(path.parent)
            with TemporaryFile(path) as temporary:
                temporary.write(data, sync=False)
                if temporary.publish() or path.read_bytes() == data:
                    return str(path)
        return None

    @_in_thread
    def head(self, name: str) -> StoredFile | None:
        """Return what the folder has under `name`, read from the first byte to the last."""
        return _read(self._there(name))

    @_in_thread
    def size(self, name: str) -> int | None:
        """Return how many bytes a file has; None where there is none."""
        path = self._there(name)
        return path.stat().st_size if path.is_file() else None

    async def vouched(self, name: str) -> str | None:
        """Return None: a folder keeps no digests."""
        return None

    @_in_thread
    def read(self, name: str) -> bytes | None:
        """Return the whole of a small file, or None where there is none."""
        try:
            return self._there(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    @asynccontextmanager
    async def opened(self, name: str, spool: Path) -> AsyncIterator[Path | None]:
        """Yield the file where it is; anyone who reads it copies nothing."""
        yield None if await self.size(name) is None else self._path(name)

    @_in_thread
    def below(self, name: str) -> list[Listed]:
        """Return every file below a folder; none where there is no folder."""
        found = [path for path in (self.root / name).rglob("*") if path.is_file()]
        return [Listed(str(path), path.stat().st_size) for path in sorted(found)]

    @_in_thread
    def set_aside(self, name: str, mark: str) -> str:
        """Give a file another name in its folder; raise StoreError where that name is taken."""
        path = self._there(name)
        aside = path.with_name(marked(path.name, mark))
        if os.path.lexists(aside):
            raise StoreError(f"{aside} already exists; {path} was left alone", permanent=True)
        os.rename(path, aside)
        sync_folder(path.parent)
        return str(aside)

    @_in_thread
    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is deleted."""
        path = self._there(name)
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            sync_folder(path.parent)

    def sign(
        self, name: str, *, lasting: int, content_type: str = "", disposition: str = ""
    ) -> str | None:
        """Return None: only a path leads to a file here."""
        return None

    def origin(self) -> str | None:
        """Return None, as for `sign`."""
        return None

    async def aclose(self) -> None:
        """Let the threads end."""
        self.threads.shutdown(wait=False, cancel_futures=True)

    def _put(self, path: Path, file: File) -> StoredFile:
        there = _same(path, file.sha256) or self._taken_over(path, file) or self._copied(path, file)
        # Else someone was faster: the same video is as good as ours.
        return there or self._put(path, file)

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

    def _there(self, name: str) -> Path:
        path = self._path(name)
        self._require_inside(path.parent)
        return path

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
        sync_folder(folder.parent)
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


def _same(path: Path, sha256: str) -> StoredFile | None:
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
