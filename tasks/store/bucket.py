"""A store in an S3 bucket: objects are written with their digest and read back."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote
from weakref import WeakValueDictionary

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.store.disk import Measure, disk_trouble, measure, measure_blocks, open_source
from callsheet.tasks.store.s3_client import (
    DIGEST_REFUSED,
    Abilities,
    S3Calls,
    S3Trouble,
    digest_header,
    probe,
    said,
)
from callsheet.tasks.store.store import File, StoredFile
from callsheet.tasks.values.amounts import say_bytes
from callsheet.tasks.values.locations import ObjectAddress

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import PutObjectOutputTypeDef

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
        #: A lock lives as long as someone holds it or waits for it.
        self._names: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def address(self) -> str:
        """The bucket and prefix, as `s3://bucket/prefix`."""
        return str(ObjectAddress("s3", self._bucket, self._prefix.rstrip("/")))

    async def check(self) -> Sequence[str]:
        """Raise StoreUnusable, with a remedy, unless objects can be written and read here."""
        try:
            if self._objects is not None:
                # In the middle of a run: what was true at its start may not be true any more.
                return _lacks(self.address, await probe(self._calls, self._prefix))
            return _lacks(self.address, (await self._known()).abilities)
        except S3Trouble as trouble:
            unusable = trouble
        message = f"videos cannot be written to {self.address}: {unusable.sentence}"
        raise StoreUnusable(message, remedy=unusable.remedy)

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[StoredFile]:
        """Store files whose names are free, or have these same bytes already."""
        storing = [asyncio.ensure_future(self._put_file(file, metadata)) for file in files]
        # Anyone who hears of a failure removes what was to be sent: by then all have ended.
        await asyncio.gather(*storing, return_exceptions=True)
        return [one.result() for one in storing]

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> StoredFile:
        """Store `source` whatever the name held before; no one ever reads half of it."""
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


# Single objects of a bucket: measured, written with their digest, looked at, read back.


_BLOCK = 1024 * 1024
#: The most that one PUT may hold. Videos of minutes are far below it.
_LARGEST = 5 * 1024**3
#: All metadata of an object together may have 2 kB.
_METADATA_LIMIT = 250


@dataclass(frozen=True, kw_only=True)
class Upload:
    """Bytes, their digests, and what goes with them."""

    key: str
    source: Path | bytes
    measured: Measure
    content_type: str
    metadata: Mapping[str, str]

    @classmethod
    def of(
        cls,
        key: str,
        source: Path | bytes,
        *,
        content_type: str,
        metadata: Mapping[str, str],
        known: str | None = None,
        md5: bool = True,
    ) -> Self:
        """Measure `source`; raise StoreError when it cannot be read or sent.

        With `known`, the sha256 that the store is going to compare it with, nothing is read.
        """
        with disk_trouble("the file to be stored", Path() if isinstance(source, bytes) else source):
            size = len(source) if isinstance(source, bytes) else source.stat().st_size
            if size > _LARGEST:
                message = f"the file is larger than the {say_bytes(_LARGEST)} one upload may have"
                raise StoreError(message, permanent=True)
            measured = Measure(size, known, "") if known else measure(source, md5=md5)
        return cls(
            key=key,
            source=source,
            measured=measured,
            content_type=content_type,
            metadata=_ascii({**metadata, "callsheet-sha256": measured.sha256}),
        )


@dataclass(frozen=True)
class ObjectHead:
    """What a look tells; `sha256` only where the store vouches for it."""

    bytes: int
    sha256: str | None


class S3Objects:
    """What the bucket store needs of a bucket, done the way this store was seen to support."""

    def __init__(self, calls: S3Calls, abilities: Abilities) -> None:
        self._calls = calls
        self.abilities = abilities

    def uri(self, key: str) -> str:
        """Return the address of an object."""
        return str(ObjectAddress("s3", self._calls.bucket, key))

    async def put_once(self, upload: Upload) -> bool:
        """Write an object whose name is free, trying once; return False where it is not."""
        headers = self._headers(upload, free=True)
        try:
            await self._calls.call(
                lambda client: client.put_object(Body=cast("bytes", upload.source), **headers),
                attempts=1,
            )
        except S3Trouble as trouble:
            if trouble.code != "PreconditionFailed":
                raise
            return False
        return True

    async def put(self, upload: Upload, *, free: bool) -> StoredFile:
        """Write an object and return it, proved; raise StoreError when it is not what was sent.

        With `free`, it is written only where there is none (if the store can tell).
        """
        measured, headers = upload.measured, self._headers(upload, free=free)

        def put(client: S3Client) -> PutObjectOutputTypeDef:
            with open_source(upload.source) as file:
                return client.put_object(Body=file, **headers)

        crashpoint("bucket: before the PUT")
        answer = await self._calls.call(put)
        crashpoint("bucket: after the PUT")
        if self._proves(answer, measured):
            return StoredFile(self.uri(upload.key), measured.bytes, measured.sha256)
        return await self._verified(upload)

    def _headers(self, upload: Upload, *, free: bool) -> dict[str, Any]:
        measured = upload.measured
        headers: dict[str, Any] = {
            "Bucket": self._calls.bucket,
            "Key": upload.key,
            "ContentType": upload.content_type,
            "ContentLength": measured.bytes,
            "Metadata": upload.metadata,
            **digest_header(self.abilities.digest, measured.sha256, measured.md5),
        }
        if free and self.abilities.conditional:
            headers["IfNoneMatch"] = "*"
        return headers

    async def head(self, key: str) -> ObjectHead | None:
        """Return what is there without reading it, or None."""
        # A digest the store does not check is only our own words repeated back.
        vouches = self.abilities.digest == "sha256" and self.abilities.checks
        mode: dict[str, Any] = {"ChecksumMode": "ENABLED"} if vouches else {}
        try:
            head = await self._calls.call(
                lambda client: client.head_object(Bucket=self._calls.bucket, Key=key, **mode)
            )
        except S3Trouble as trouble:
            if trouble.code != "404":
                raise
            return None
        crashpoint("bucket: after the HEAD")
        sha256 = _hex(head.get("ChecksumSHA256")) if vouches else None
        return ObjectHead(head["ContentLength"], sha256)

    def _proves(self, answer: PutObjectOutputTypeDef, sent: Measure) -> bool:
        """Return whether a store that checks digests answers with the digest of these bytes."""
        if self.abilities.digest == "sha256":
            named = _hex(answer.get("ChecksumSHA256")) == sent.sha256
        else:
            named = answer.get("ETag", "").strip('"') == sent.md5
        return self.abilities.checks and named

    async def _verified(self, upload: Upload) -> StoredFile:
        wanted, uri = upload.measured, self.uri(upload.key)
        there: StoredFile | None = None
        if not self.abilities.checks:
            there = await self.stored(upload.key)
        elif (seen := await self.head(upload.key)) is not None:
            # It compared the digest before it said yes; what is left to see is that it is there.
            there = StoredFile(uri, seen.bytes, seen.sha256 or wanted.sha256)
        if there is None or (there.bytes, there.sha256) != (wanted.bytes, wanted.sha256):
            raise StoreError(f"what the store holds at {uri} is not what was sent")
        return there

    async def stored(self, key: str) -> StoredFile | None:
        """Return what is there with its sha256, reading all of it where the store has none."""
        seen = await self.head(key)
        if seen is None:
            return None
        if seen.sha256 is not None:
            return StoredFile(self.uri(key), seen.bytes, seen.sha256)
        read = await self._read_back(key)
        return StoredFile(self.uri(key), read.bytes, read.sha256)

    async def read(self, key: str) -> bytes | None:
        """Return the whole of a small object, or None where there is none."""

        def read(client: S3Client) -> bytes:
            with client.get_object(Bucket=self._calls.bucket, Key=key)["Body"] as body:
                return body.read()

        try:
            return await self._calls.call(read)
        except S3Trouble as trouble:
            if trouble.code not in ("404", "NoSuchKey"):
                raise
            return None

    async def _read_back(self, key: str) -> Measure:
        def read(client: S3Client) -> Measure:
            body = client.get_object(Bucket=self._calls.bucket, Key=key)["Body"]
            with body:
                return measure_blocks(body.iter_chunks(_BLOCK))

        measured = await self._calls.call(read)
        crashpoint("bucket: after reading back")
        return measured


def _ascii(metadata: Mapping[str, str]) -> dict[str, str]:
    # Metadata travels in headers: ASCII, no line ends.
    safe = " !#$&'()*+,-./:;<=>?@[]_|~"
    return {key: quote(value, safe=safe)[:_METADATA_LIMIT] for key, value in metadata.items()}


def _hex(checksum: str | None) -> str | None:
    # A digest of parts ends in "-<number>" and is not the digest of the file.
    try:
        raw = base64.b64decode(checksum or "", validate=True)
    except binascii.Error:
        return None
    return raw.hex() if len(raw) == 32 else None
