"""A store that is a folder: what waits for its disk waits in threads, or in the second process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from callsheet.tasks.errors import StoreUnusable
from callsheet.tasks.store.disk import os_reason
from callsheet.tasks.store.folder_writer import FolderWriter
from callsheet.tasks.store.store import File, StoredFile
from callsheet.tasks.store.temporary_file import TemporaryFile

if TYPE_CHECKING:
    from callsheet.tasks.store.second_process import SecondProcess

Result = TypeVar("Result")

#: Writing waits for the disk, not for the processor.
_THREADS = 16


class FolderStore:
    """Videos in a folder; what waits for the disk waits in threads, or in the `second` process."""

    def __init__(self, root: Path, second: SecondProcess | None = None) -> None:
        self._writer = FolderWriter(Path(os.path.abspath(root)))
        self._second = second
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

        async def here() -> list[StoredFile]:
            return await self._run(lambda: self._writer.put(files))

        if self._second is None:
            return await here()
        return await self._second.do(put_files, str(self._writer.root), files, here=here)

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> StoredFile:
        """Store `source` whatever the name held before; nobody ever reads half of it."""
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


def put_files(root: str, files: Sequence[File]) -> list[StoredFile]:
    """Do what `FolderWriter.put` does, with one that this process keeps for `root`."""
    return _writer(root).put(files)


@cache
def _writer(root: str) -> FolderWriter:
    return FolderWriter(Path(root))
