"""Where an inbox is, a folder or a bucket.

Its sheets, which of them are complete, and the answers beside them.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
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

# Where an inbox of sheets lies: what is there, its bytes, and the answers that are put beside.
#
# A folder or a bucket; only what lies in it directly. Nothing in it is ever moved or deleted.


log = logging.getLogger("callsheet.night")

#: What sheets are called. Text files are not among them: scripts lie beside the sheets.
SUFFIXES = frozenset(
    (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".yaml", ".yml", ".json", ".jsonl", ".ndjson",
     ".xls", ".ods", ".numbers")
)  # fmt: skip
#: How the names of our answers end.
ANSWERS = (".callsheet.json", ".report.csv")
_KINDS = {".json": "application/json", ".csv": "text/csv"}


@dataclass(frozen=True, kw_only=True)
class SheetFile:
    """A sheet as it lies in an inbox.

    `version` is another one once its size or time, or its ETag, is; `beside` once a file is that
    its rows may point to. `changed_at` is in Unix seconds; None: it is whole, as objects are.
    """

    name: str
    address: str
    version: str
    bytes: int
    changed_at: float | None = None
    beside: str = ""
    #: The files beside it that are no sheets, by name: size, and time in ns. One for all sheets.
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)


class InboxPlace(Protocol):
    """An inbox as it lies somewhere. Every verb raises BadInput where it cannot be done."""

    #: Where files are that rows point to (`@script.txt`); a bucket has none.
    folder: Path | None

    async def entries(self) -> Sequence[SheetFile]:
        """Return the sheets that are there, by name."""

    async def read(self, entry: SheetFile) -> bytes | None:
        """Return the bytes of a sheet; None where it is not that version any more."""

    async def answer(self, name: str, content: bytes) -> None:
        """Put an answer there in place of the one before; one that is the same is left."""


@asynccontextmanager
async def open_place(inbox: Inbox) -> AsyncIterator[InboxPlace]:
    """Open the place of an inbox."""
    if (where := object_at(inbox.place)) is not None:
        calls = S3Calls(where.bucket)
        try:
            yield BucketPlace(calls, where.key)
        finally:
            await calls.aclose()
        return
    store = FolderStore(Path(inbox.place))
    try:
        yield FolderPlace(Path(inbox.place), store)
    finally:
        await store.aclose()


def is_sheet(name: str) -> bool:
    """Whether a file of that name may be a sheet: not hidden, not half, not an answer of ours."""
    if name.startswith((".", "~")) or name.lower().endswith(ANSWERS):
        return False
    return PurePosixPath(name).suffix.lower() in SUFFIXES


class FolderPlace:
    """An inbox that is a folder."""

    def __init__(self, folder: Path, store: FolderStore) -> None:
        self.folder: Path | None = folder
        self._folder = folder
        self._store = store

    async def entries(self) -> Sequence[SheetFile]:
        """Return the sheets that are there, by name."""
        try:
            return await asyncio.to_thread(self._entries)
        except OSError as error:
            raise BadInput(
                f"the inbox {self._folder} cannot be read: {error.strerror}; nothing was spent"
            ) from error

    async def read(self, entry: SheetFile) -> bytes | None:
        """Return the bytes of a sheet; None where it is not that version any more."""
        try:
            return await asyncio.to_thread(self._read, entry)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"{entry.address} cannot be read: {error.strerror}") from error

    async def answer(self, name: str, content: bytes) -> None:
        """Put an answer there in place of the one before; one that is the same is left."""
        if await self._store.read(name) != content:
            await self._store.replace(name, content, content_type=_KINDS[Path(name).suffix])

    def _entries(self) -> list[SheetFile]:
        sheets: list[tuple[str, os.stat_result]] = []
        others: list[tuple[str, int, int]] = []
        files: dict[str, tuple[int, int]] = {}
        with os.scandir(self._folder) as found:
            for file in found:
                if file.name.startswith((".", "~")) or (now := _stat(file)) is None:
                    continue
                if not _is_text(file.name):
                    log.warning("the name of %a is not UTF-8: rename it", file.name)
                    continue
                if is_sheet(file.name):
                    sheets.append((file.name, now))
                elif not file.name.lower().endswith(ANSWERS):
                    files[file.name] = (now.st_size, now.st_mtime_ns)
                if not file.name.lower().endswith(ANSWERS):
                    others.append((file.name, now.st_size, now.st_mtime_ns))
        beside = hashlib.sha256(repr(sorted(others)).encode()).hexdigest()[:16]
        return [self._entry(name, now, beside=beside, files=files) for name, now in sorted(sheets)]

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
        # The second: a file that was put in its place meanwhile is another one.
        versions = {self._entry(entry.name, stat).version for stat in (now, path.stat())}
        return content if versions == {entry.version} else None


def _stat(file: os.DirEntry[str]) -> os.stat_result | None:
    """Return how a file is; None for what is none, or has gone since the folder was read."""
    try:
        return file.stat() if file.is_file() else None
    except FileNotFoundError:
        return None


def _is_text(name: str) -> bool:
    """Whether a name can be written down; of bytes that are no text it cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class BucketPlace:
    """An inbox that is a bucket, or what lies below a prefix of one."""

    folder: Path | None = None

    def __init__(self, calls: S3Calls, prefix: str) -> None:
        self._calls = calls
        self._prefix = f"{prefix}/" if prefix else ""

    async def entries(self) -> Sequence[SheetFile]:
        """Return the sheets that are there, by name."""
        try:
            found = await self._calls.call(lambda client: list(self._listed(client)))
        except S3Trouble as trouble:
            raise self._refused("cannot be read", trouble) from None
        return sorted(found, key=lambda entry: entry.name)

    async def read(self, entry: SheetFile) -> bytes | None:
        """Return the bytes of a sheet; None where it is not that version any more."""
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
        """Put an answer there in place of the one before; one that is the same is left."""
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
    """Whether an object is these bytes already: by the MD5 that most stores have for its ETag."""
    listed = client.list_objects_v2(Bucket=where["Bucket"], Prefix=where["Key"], MaxKeys=1)
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return any(
        one["Key"] == where["Key"] and one["ETag"].strip('"') == md5
        for one in listed.get("Contents", ())
    )


# Which sheets of an inbox are whole, and which have changed. Pure: versions and moments in.


#: A file counts once size and time stand still between two looks so far apart, in seconds.
STILL = 3.0
#: One that was not written to for so long counts at once, in seconds; an empty one only then.
OLD = 60.0


def is_whole(
    entry: SheetFile, known: SweptSheet | None, *, now: float, still: float = STILL
) -> bool:
    """Whether a sheet is no longer written to; an object is whole as soon as it is there."""
    if entry.changed_at is None:
        return True
    old = entry.changed_at <= now - OLD
    if entry.bytes == 0 and not old:
        # Programs that fetch files from elsewhere make them empty first.
        return False
    seen = known is not None and known.version == entry.version and known.seen_at <= now - still
    return old or seen


def moving(
    files: Mapping[str, tuple[int, int]],
    earlier: Mapping[str, tuple[int, int]] | None,
    *,
    now: float,
) -> frozenset[str]:
    """Return which files beside the sheets may still be written to, by name.

    `files` is how they are (`SheetFile.files`), `earlier` how they were at a look before, if any.
    """
    fresh = {name: file for name, file in files.items() if file[1] / 1e9 > now - OLD}
    return frozenset(name for name in fresh if earlier is None or earlier.get(name) != fresh[name])


def points_to(content: bytes, name: str) -> bool:
    """Whether a row of a sheet may point to a file beside it (`@script.txt`)."""
    if content.startswith(b"PK") or not name.isascii():
        # What is packed, or written in one of several ways, is not looked for.
        return content.startswith(b"PK") or b"@" in content
    return b"@" in content and any(
        name.encode(code) in content for code in ("utf-8", "utf-16-le", "utf-16-be")
    )


def is_as_dealt(entry: SheetFile, known: SweptSheet) -> bool:
    """Whether a sheet is as it was when a night last dealt with it, and what it points to."""
    return known.dealt_version in (entry.version, f"{entry.version} {entry.beside}")


def version_dealt(entry: SheetFile, content: bytes) -> str:
    """Return by what a sheet is known later that is dealt with now.

    Where a row may point to a file beside the sheet (`@script.txt`), those files count as well.
    """
    points = b"@" in content or content.startswith(b"PK")
    return f"{entry.version} {entry.beside}" if points and entry.beside else entry.version
