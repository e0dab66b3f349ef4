"""A store that is a bucket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from callsheet.tasks.errors import StoreError, StoreUnusable
from callsheet.tasks.store.measure import measure
from callsheet.tasks.store.s3_client import DIGEST_REFUSED, S3Calls, S3Trouble, said
from callsheet.tasks.store.s3_objects import S3Objects, Upload
from callsheet.tasks.store.s3_probe import Abilities, probe
from callsheet.tasks.store.store import File, StoredFile

_log = logging.getLogger(__name__)

_ANOTHER = "the file to be stored is not the one that was downloaded"


class BucketStore:
    """Videos in a bucket, each verified there before it counts."""

    def __init__(self, bucket: str, prefix: str, *, calls: S3Calls | None = None) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._calls = calls or S3Calls(bucket)
        self._objects: S3Objects | None = None
        self._probing = asyncio.Lock()
        #: A lock lives as long as somebody holds it or waits for it.
        self._names: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def address(self) -> str:
        """The bucket and prefix, as `s3://bucket/prefix`."""
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    async def check(self) -> Sequence[str]:
        """Raise StoreUnusable, with a remedy, unless objects can be written and read here."""
        try:
            return _lacks(self.address, (await self._known()).abilities)
        except S3Trouble as trouble:
            unusable = trouble
        message = f"videos cannot be written to {self.address}: {unusable.sentence}"
        raise StoreUnusable(message, remedy=unusable.remedy)

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[StoredFile]:
        """Store files whose names are free, or have these same bytes already."""
        storing = [asyncio.ensure_future(self._put_file(file, metadata)) for file in files]
        # Whoever hears of a failure removes what was to be sent: by then all have ended.
        await asyncio.gather(*storing, return_exceptions=True)
        return [one.result() for one in storing]

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> StoredFile:
        """Store `source` whatever the name held before; nobody ever reads half of it."""
        return await said(self._replace(name, source, content_type))

    async def keep(self, name: str, data: bytes, *, content_type: str) -> str | None:
        """Keep what can be made again, sent once; None where it did not come there."""
        key = self._prefix + name
        try:
            objects = await self._known()
            upload = await self._upload(name, data, content_type, {})
            there = None if objects.abilities.conditional else await objects.head(key)
            if there is None and not await objects.put_once(upload):
                there = await objects.head(key)
        except (S3Trouble, StoreError):
            return None
        # Of another size it is another file.
        return objects.uri(key) if there is None or there.bytes == len(data) else None

    async def head(self, name: str) -> StoredFile | None:
        """Return what the bucket has under `name`."""
        return await said(self._head(self._prefix + name))

    async def read(self, name: str) -> bytes | None:
        """Return the whole of a small object, or None where there is none."""
        return await said(self._read(self._prefix + name))

    async def aclose(self) -> None:
        """Let go of connections and threads."""
        await self._calls.aclose()

    async def _put_file(self, file: File, metadata: Mapping[str, str]) -> StoredFile:
        return await said(self._put_proved(file, metadata))

    async def _put_proved(self, file: File, metadata: Mapping[str, str]) -> StoredFile:
        objects = await self._known()
        # A store that compares every upload with this digest need not be forestalled: what is not
        # the file that was downloaded never gets in.
        compares = objects.abilities.checks and objects.abilities.digest == "sha256"
        upload = await self._upload(
            file.name,
            file.source,
            file.content_type,
            metadata,
            known=file.sha256 if compares else None,
        )
        if upload.measured.sha256 != file.sha256:
            raise StoreError(_ANOTHER)
        try:
            return await self._put(objects, upload)
        except S3Trouble as trouble:
            if trouble.code not in DIGEST_REFUSED or await self._is_still(file):
                raise
        raise StoreError(_ANOTHER)

    async def _is_still(self, file: File) -> bool:
        measured = await self._calls.run(lambda: measure(file.source, md5=False))
        return measured.sha256 == file.sha256

    async def _put(self, objects: S3Objects, upload: Upload) -> StoredFile:
        if objects.abilities.conditional:
            return await self._claim(objects, upload)
        # Such a store lets the last writer win. Looking first keeps us off the files of others,
        # and the lock keeps this process from coming in between; nothing more is to be had.
        name = self._names.setdefault(upload.key, asyncio.Lock())
        async with name:
            return await self._there(objects, upload) or await self._claim(objects, upload)

    async def _claim(self, objects: S3Objects, upload: Upload) -> StoredFile:
        try:
            return await objects.put(upload, free=True)
        except S3Trouble as trouble:
            # Taken by a stranger, or by an earlier write of ours whose answer was lost.
            taken = trouble.code == "PreconditionFailed"
            there = await self._there(objects, upload) if taken else None
            if there is None:
                raise
            return there

    async def _replace(self, name: str, source: Path | bytes, content_type: str) -> StoredFile:
        objects = await self._known()
        upload = await self._upload(name, source, content_type, {})
        return await objects.put(upload, free=False)

    async def _head(self, key: str) -> StoredFile | None:
        return await (await self._known()).stored(key)

    async def _read(self, key: str) -> bytes | None:
        return await (await self._known()).read(key)

    async def _there(self, objects: S3Objects, upload: Upload) -> StoredFile | None:
        seen = await objects.head(upload.key)
        if seen is None:
            return None
        # Another size is another file: no need to read it.
        same_size = seen.bytes == upload.measured.bytes
        there = await objects.stored(upload.key) if same_size else None
        if there is None or there.sha256 != upload.measured.sha256:
            uri = objects.uri(upload.key)
            message = f"{uri} exists already and is another file; it was left alone"
            raise StoreError(message, permanent=True, conflict=True)
        return there

    async def _upload(
        self,
        name: str,
        source: Path | bytes,
        content_type: str,
        metadata: Mapping[str, str],
        *,
        known: str | None = None,
    ) -> Upload:
        """Return an upload whose digests are `known`, or read from `source` by a thread."""
        assert self._objects is not None
        md5 = self._objects.abilities.digest == "md5"
        return await self._calls.run(
            lambda: Upload.of(
                self._prefix + name,
                source,
                content_type=content_type,
                metadata=metadata,
                known=known,
                md5=md5,
            )
        )

    async def _known(self) -> S3Objects:
        async with self._probing:
            if self._objects is None:
                abilities = await probe(self._calls, self._prefix)
                for words in _lacks(self.address, abilities):
                    _log.warning("%s", words)
                self._objects = S3Objects(self._calls, abilities)
            return self._objects


def _lacks(address: str, abilities: Abilities) -> list[str]:
    """Say what a bucket does not do, and what is done instead."""
    lacks = []
    if not abilities.conditional:
        lacks.append(f"{address} lets files be overwritten: Callsheet looks before it writes")
    if not abilities.checks:
        lacks.append(f"{address} does not check uploads: Callsheet reads every file back")
    return lacks
