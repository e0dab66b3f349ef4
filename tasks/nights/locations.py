"""The location of an inbox, a folder or a bucket.

Lists its sheets, tells which are complete, and writes the reports next to them.

Subfolders are not read. Nothing in an inbox is ever moved or deleted.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.sheet.text import MAX_BYTES
from callsheet.tasks.store.folder import FolderStore
from callsheet.tasks.store.s3_client import S3Calls, S3Trouble
from callsheet.tasks.values.locations import ObjectAddress, object_at

log = logging.getLogger("callsheet.night")

#: File name endings of sheets. Not text files: those next to a sheet are scripts.
SUFFIXES = frozenset(
    (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".yaml", ".yml", ".json", ".jsonl", ".ndjson",
     ".xls", ".ods", ".numbers")
)  # fmt: skip
#: File name endings of reports.
ANSWERS = (".callsheet.json", ".report.csv")
_KINDS = {".json": "application/json", ".csv": "text/csv"}


@dataclass(frozen=True, kw_only=True)
class SheetFile:
    """A sheet in an inbox.

    `version` changes with its size, time or ETag; `beside` changes with any file that its rows may
    point to. `changed_at` is in Unix seconds; None for objects, which are always complete.
    """

    name: str
    address: str
    version: str
    bytes: int
    changed_at: float | None = None
    beside: str = ""
    #: All files of the inbox by name: size, and time in ns. Shared by all sheets.
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)


class InboxPlace(Protocol):
    """The location of an inbox. Every method raises BadInput if it fails."""

    #: Folder of the files that rows point to (`@script.txt`); a bucket has none.
    folder: Path | None

    async def entries(self) -> Sequence[SheetFile]:
        """Return the sheets of the inbox by name."""

    async def read(self, entry: SheetFile) -> bytes | None:
        """Return the bytes of a sheet; None if its version has changed."""

    async def answer(self, name: str, content: bytes) -> None:
        """Write a report file, unless it is already the same."""


@asynccontextmanager
async def open_place(inbox: Inbox) -> AsyncIterator[InboxPlace]:
    """Open the location of an inbox."""
    if (where := object_at(inbox.place)) is not None:
        async with aclosing(S3Calls(where.bucket)) as calls:
            yield BucketPlace(calls, where.key)
    else:
        async with aclosing(FolderStore(Path(inbox.place))) as store:
            yield FolderPlace(Path(inbox.place), store)


def is_sheet(name: str) -> bool:
    """Return whether a file may be a sheet: not hidden, partial, or a report."""
    if name.startswith((".", "~")) or name.lower().endswith(ANSWERS):
        return False
    return PurePosixPath(name).suffix.lower() in SUFFIXES


class FolderPlace:
    """An inbox in a folder."""

    def __init__(self, folder: Path, store: FolderStore) -> None:
        self.folder: Path | None = folder
        self._folder = folder
        self._store = store

    async def entries(self) -> Sequence[SheetFile]:
        """Return the sheets of the inbox by name."""
        try:
            return await asyncio.to_thread(self._entries)
        except OSError as error:
            raise BadInput(
                f"the inbox {self._folder} cannot be read: {error.strerror}; nothing was spent"
            ) from error

    async def read(self, entry: SheetFile) -> bytes | None:
        """Return the bytes of a sheet; None if its version has changed."""
        try:
            return await asyncio.to_thread(self._read, entry)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"{entry.address} cannot be read: {error.strerror}") from error

    async def answer(self, name: str, content: bytes) -> None:
        """Write a report file, unless it is already the same."""
        # A new folder in the place of a disk that is gone would be an inbox without sheets.
        if not await asyncio.to_thread(self._folder.is_dir):
            raise BadInput(f"the inbox {self._folder} is gone")
        if await self._store.read(name) != content:
            await self._store.replace(name, content, content_type=_KINDS[Path(name).suffix])

    def _entries(self) -> list[SheetFile]:
        sheets: dict[str, os.stat_result] = {}
        files: dict[str, tuple[int, int]] = {}
        with os.scandir(self._folder) as found:
            for file in found:
                name = file.name
                if name.startswith((".", "~")) or name.lower().endswith(ANSWERS):
                    continue
                if name.encode(errors="ignore").decode() != name:
                    log.warning("the name of %a is not UTF-8: rename it", name)
                elif (now := _stat(file)) is not None:
                    files[name] = (now.st_size, now.st_mtime_ns)
                    if is_sheet(name):
                        sheets[name] = now
        beside = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
        return [
            self._entry(name, sheets[name], beside=beside, files=files) for name in sorted(sheets)
        ]

    def _entry(self, name: str, now: os.stat_result, **beside: Any) -> SheetFile:
        return SheetFile(
            name=name,
            address=str(self._folder / name),
            version=f"{now.st_size}-{now.st_mtime_ns}-{now.st_ino}",
            bytes=now.st_size,
            changed_at=now.st_mtime,
            **beside,
        )

    def _read(self, entry: SheetFile) -> bytes | None:
        path = self._folder / entry.name
        with path.open("rb") as source:
            content = source.read(MAX_BYTES + 1)
            now = os.fstat(source.fileno())
        # The second check: the file may have been replaced meanwhile.
        versions = {self._entry(entry.name, stat).version for stat in (now, path.stat())}
        return content if versions == {entry.version} else None


def _stat(file: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of a file; None if it is not a file or no longer exists."""
    try:
        return file.stat() if file.is_file() else None
    except FileNotFoundError:
        return None


class BucketPlace:
    """An inbox in a bucket or below a prefix of one."""

    folder: Path | None = None

    def __init__(self, calls: S3Calls, prefix: str) -> None:
        self._calls = calls
        self._prefix = f"{prefix}/" if prefix else ""

    async def entries(self) -> Sequence[SheetFile]:
        """Return the sheets of the inbox by name."""
        try:
            found = await self._calls.call(lambda client: list(self._listed(client)))
        except S3Trouble as trouble:
            raise self._refused("cannot be read", trouble) from None
        return sorted(found, key=lambda entry: entry.name)

    async def read(self, entry: SheetFile) -> bytes | None:
        """Return the bytes of a sheet; None if its version has changed."""
        tag, _, size = entry.version.rpartition("-")

        def get(client: Any) -> bytes | None:
            key = self._prefix + entry.name
            answer = client.get_object(Bucket=self._calls.bucket, Key=key)
            with answer["Body"] as body:
                if (answer["ETag"], str(answer["ContentLength"])) != (tag, size):
                    return None
                content: bytes = body.read(MAX_BYTES + 1)
            return content

        try:
            return await self._calls.call(get)
        except S3Trouble as trouble:
            if trouble.code == "404":
                return None
            raise self._refused(f"has {entry.name}, which cannot be read", trouble) from None

    async def answer(self, name: str, content: bytes) -> None:
        """Write a report file, unless it is already the same."""
        key = self._prefix + name

        def put(client: Any) -> None:
            where = {"Bucket": self._calls.bucket, "Key": key}
            if not _has(client, where, content):
                kind = _KINDS[PurePosixPath(name).suffix]
                client.put_object(**where, Body=content, ContentType=kind)

        try:
            await self._calls.call(put)
        except S3Trouble as trouble:
            raise self._refused("cannot be written to", trouble) from None

    def _listed(self, client: Any) -> Iterator[SheetFile]:
        pages = client.get_paginator("list_objects_v2")
        asked = {"Bucket": self._calls.bucket, "Prefix": self._prefix, "Delimiter": "/"}
        for page in pages.paginate(**asked):
            for one in page.get("Contents", ()):
                name = one["Key"].removeprefix(self._prefix)
                if is_sheet(name):
                    yield SheetFile(
                        name=name,
                        address=str(ObjectAddress("s3", self._calls.bucket, one["Key"])),
                        version=f"{one['ETag']}-{one['Size']}",
                        bytes=one["Size"],
                    )

    def _refused(self, words: str, trouble: S3Trouble) -> BadInput:
        address = ObjectAddress("s3", self._calls.bucket, self._prefix.rstrip("/"))
        return BadInput(f"the inbox {address} {words}: {trouble.sentence}", remedy=trouble.remedy)


def _has(client: Any, where: dict[str, str], content: bytes) -> bool:
    """Return whether an object already has these bytes, by the MD5 that most stores use as ETag."""
    listed = client.list_objects_v2(Bucket=where["Bucket"], Prefix=where["Key"], MaxKeys=1)
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return any(
        one["Key"] == where["Key"] and one["ETag"].strip('"') == md5
        for one in listed.get("Contents", ())
    )


# Tells which sheets are complete and which have changed. Pure.


#: A file is complete if size and time stay the same for this many seconds.
STILL = 3.0
#: A file not written to for this many seconds is complete at once; an empty one only then.
OLD = 60.0


def is_whole(
    entry: SheetFile, known: SweptSheet | None, *, now: float, still: float = STILL
) -> bool:
    """Return whether a sheet is complete; an object always is."""
    if entry.changed_at is None:
        return True
    old = entry.changed_at <= now - OLD
    if entry.bytes == 0 and not old:
        # Download programs create an empty file first.
        return False
    seen = known is not None and known.version == entry.version and known.seen_at <= now - still
    return old or seen


def moving(
    files: Mapping[str, tuple[int, int]],
    earlier: Mapping[str, tuple[int, int]] | None,
    *,
    now: float,
) -> frozenset[str]:
    """Return the names of the files, other than sheets, that may still be written to.

    `files` is their current status (`SheetFile.files`), `earlier` the previous one, if any.
    """
    recent = {name: file for name, file in files.items() if file[1] / 1e9 > now - OLD}
    fresh = {name: file for name, file in recent.items() if not is_sheet(name)}
    return frozenset(name for name in fresh if earlier is None or earlier.get(name) != fresh[name])


def points_to(content: bytes, name: str) -> bool:
    """Return whether a row of a sheet may point to another file (`@script.txt`)."""
    if content.startswith(b"PK") or not name.isascii():
        # Compressed sheets and encodings with variants are not searched.
        return content.startswith(b"PK") or b"@" in content
    return b"@" in content and any(
        name.encode(code) in content for code in ("utf-8", "utf-16-le", "utf-16-be")
    )


def is_as_dealt(entry: SheetFile, known: SweptSheet) -> bool:
    """Return whether a sheet and its files are unchanged since the last nightly run."""
    return known.dealt_version in (entry.version, f"{entry.version} {entry.beside}")


def version_dealt(entry: SheetFile, content: bytes) -> str:
    """Return the version to compare a sheet with later.

    If a row may point to another file (`@script.txt`), those files count as well.
    """
    points = b"@" in content or content.startswith(b"PK")
    return f"{entry.version} {entry.beside}" if points and entry.beside else entry.version
