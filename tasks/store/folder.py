"""A store that is a folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tasks.errors import StoreUnusable
from tasks.store.disk import os_reason
from tasks.store.folder_writer import FolderWriter
from tasks.store.store import File, Stored
from tasks.store.temporary_file import TemporaryFile

Result = TypeVar("Result")

#: Writing waits for the disk, not for the processor.
_THREADS = 16


class FolderStore:
    """Films in a folder; what waits for the disk waits in threads."""

    def __init__(self, root: Path) -> None:
        self._writer = FolderWriter(Path(os.path.abspath(root)))
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="callsheet-folder")

    @property
    def address(self) -> str:
        """The folder's path."""
        return str(self._writer.root)

    async def check(self) -> None:
        """Raise StoreUnusable unless files can be made in the folder; makes it if it is missing."""
        await self._run(self._check)

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[Stored]:
        """Store files whose names are free, or have these same bytes already."""
        return await self._run(lambda: self._writer.put(files))

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> Stored:
        """Store `source` whatever the name held before; nobody ever reads half of it."""
        return await self._run(lambda: self._writer.replace(name, source))

    async def head(self, name: str) -> Stored | None:
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
            with TemporaryFile(root / "callsheet-probe") as temporary:
                temporary.write(b"callsheet")
        except OSError as error:
            reason = os_reason(error)
        else:
            return
        message = f"films cannot be written to {root}: {reason}"
        raise StoreUnusable(message, remedy="name another folder, or make this one writable")
