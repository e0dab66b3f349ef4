"""A store in an S3 bucket: objects are written with their digest and read back."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit
from weakref import WeakValueDictionary

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.store.abilities import Abilities, digest_header, probe
from callsheet.tasks.store.disk import (
    BLOCK,
    Measure,
    disk_trouble,
    make_private,
    measure,
    measure_blocks,
    open_source,
)
from callsheet.tasks.store.s3_client import ATTEMPTS, S3Calls, S3Trouble
from callsheet.tasks.store.store import File, Listed, StoredFile, marked
from callsheet.tasks.values.amounts import say_bytes
from callsheet.tasks.values.locations import ObjectAddress

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import PutObjectOutputTypeDef

Result = TypeVar("Result")

_log = logging.getLogger(__name__)

_SPOOL = "the spool disk"
#: The most that one PUT may hold. Videos of minutes are far below it.
_LARGEST = 5 * 1024**3
#: All metadata of an object together may have 2 kB.
_METADATA_LIMIT = 250


@dataclass(frozen=True, kw_only=True)
class _Upload:
    """Bytes, their digests, what goes with them, and how often they are sent at most."""

    key: str
    source: Path | bytes
    measured: Measure
    headers: Mapping[str, Any]
    attempts: int


class BucketStore:
    """Videos in a bucket, each verified there before it counts."""

    def __init__(self, bucket: str, prefix: str = "", *, calls: S3Calls | None = None) -> None:
        self.address = str(ObjectAddress("s3", bucket, prefix))
        self._bucket = bucket
        self._root = f"s3://{bucket}/"
        self._prefix = f"{prefix}/" if prefix else ""
        self._calls = calls or S3Calls(bucket)
        self._probing = asyncio.Lock()
        self._abilities: Abilities | None = None
        #: The key was refused to write: it can be read here, and nothing be tried.
        self._is_read_only = False
        #: A lock lives as long as someone holds it or waits for it.
        self._names: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def check(self) -> Sequence[str]:
        """Raise StoreUnusable, with a remedy, unless objects can be written and read here."""
        try:
            if self._abilities is not None:
                # In the middle of a run: what was true at its start may not be true any more.
                return _lacks(self.address, await probe(self._calls, self._prefix))
            lacks = _lacks(self.address, await self._known())
        except S3Trouble as trouble:
            unusable = trouble
        else:
            for words in lacks:
                _log.warning("%s", words)
            return lacks
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
        return await self._write(await self._upload(name, source, content_type), free=False)

    async def keep(self, name: str, data: bytes, *, content_type: str) -> str | None:
        """Keep what can be made again, sent once; None where it did not come there."""
        with suppress(StoreError):
            return (await self._put(await self._upload(name, data, content_type, attempts=1))).uri
        return None

    async def head(self, name: str) -> StoredFile | None:
        """Return what the bucket has under `name`, read where the store does not vouch for it."""
        await self._known()
        return await self._stored(self._key(name))

    async def size(self, name: str) -> int | None:
        """Return how many bytes an object has; None where there is none.

        Raises StoreError where the bucket is gone: a HEAD of an object says the same of both.
        """
        seen = await self._seen(self._key(name))
        if seen is None:
            await self._require_bucket()
        return None if seen is None else seen.bytes

    async def vouched(self, name: str) -> str | None:
        """Return the sha256 that the store has checked, where this one was seen to check any."""
        key = self._key(name)
        try:
            vouches = not self._is_read_only and (await self._known(beside=key)).vouches
        except S3Trouble as trouble:
            if not trouble.permanent:
                raise
            vouches, self._is_read_only = False, True
        seen = await self._seen(key) if vouches else None
        return (seen and seen.sha256) or None

    async def read(self, name: str) -> bytes | None:
        """Return the whole of a small object, or None where there is none."""
        return await self._got(self._key(name), lambda body: body.read())

    @asynccontextmanager
    async def opened(self, name: str, spool: Path) -> AsyncIterator[Path | None]:
        """Yield a copy of an object in `spool`, removed afterwards."""
        copy = spool / f"look-{secrets.token_hex(8)}"
        with disk_trouble(_SPOOL, spool):
            make_private(spool)
        try:
            yield await self._got(self._key(name), lambda body: _saved(body, copy))
        finally:
            copy.unlink(missing_ok=True)

    async def below(self, name: str) -> list[Listed]:
        """Return every object below a prefix."""
        prefix = self._key(name).rstrip("/") + "/"

        def listed(client: S3Client) -> list[Listed]:
            pages = client.get_paginator("list_objects_v2")
            return [
                Listed(self._root + entry["Key"], entry["Size"])
                for page in pages.paginate(Bucket=self._bucket, Prefix=prefix)
                for entry in page.get("Contents", [])
            ]

        return await self._calls.call(listed)

    async def set_aside(self, name: str, mark: str) -> str:
        """Copy an object to another name, see that the copy is there, then free its own.

        A `mark` that names the content makes this safe to do again after a kill.
        """
        key = self._key(name)
        aside = marked(key, mark)
        seen, copied = await self._seen(key), await self._seen(aside)
        if seen is None:
            raise StoreError(f"{self._root}{key} no longer exists; list again")
        if copied is not None and copied.bytes != seen.bytes:
            message = f"{self._root}{aside} already exists; {self._root}{key} was left alone"
            raise StoreError(message, permanent=True)
        if copied is None:
            # Otherwise it was copied before, by someone who was killed before the next step.
            at = self._bucket
            await self._calls.call(
                lambda client: client.copy_object(
                    Bucket=at, Key=aside, CopySource={"Bucket": at, "Key": key}
                )
            )
            copied = await self._seen(aside)
        if copied is None or copied.bytes != seen.bytes:
            raise StoreError(f"{self._root}{key} could not be set aside; it was left alone")
        await self.delete(self._root + key)
        return self._root + aside

    async def delete(self, name: str) -> None:
        """Delete an object; one that is not there is deleted."""
        at, key = self._bucket, self._key(name)
        await self._calls.call(lambda client: client.delete_object(Bucket=at, Key=key))

    def sign(
        self, name: str, *, lasting: int, content_type: str = "", disposition: str = ""
    ) -> str | None:
        """Return the signed address of an object. Raises StoreError without credentials."""
        wanted: dict[str, Any] = {"Bucket": self._bucket, "Key": self._key(name)}
        if content_type:
            wanted["ResponseContentType"] = content_type
        if disposition:
            wanted["ResponseContentDisposition"] = disposition
        return self._signing.call_here(
            lambda client: client.generate_presigned_url(
                "get_object", Params=wanted, ExpiresIn=lasting
            )
        )

    def origin(self) -> str | None:
        """Return the origin of signed addresses, where boto3 can say it; makes no requests."""
        from botocore import UNSIGNED

        at = {"Bucket": self._bucket, "Key": "video.mp4"}
        try:
            found = S3Calls(self._bucket, signature=UNSIGNED).call_here(
                lambda client: client.generate_presigned_url("get_object", Params=at)
            )
        except S3Trouble:
            return None
        parts = urlsplit(found)
        return f"{parts.scheme}://{parts.netloc}"

    async def aclose(self) -> None:
        """Let go of connections and threads."""
        await self._calls.aclose()
        await self._signing.aclose()

    @cached_property
    def _signing(self) -> S3Calls:
        # The way to sign that boto3 would choose says nothing of how the answer is to be given.
        return S3Calls(self._bucket, signature="s3v4")

    def _key(self, name: str) -> str:
        if name.startswith(self._root):
            return name.removeprefix(self._root)
        return self._prefix + name

    async def _known(self, beside: str | None = None) -> Abilities:
        """Return what this store can do, tried once: `beside` an object, or where videos go."""
        async with self._probing:
            if self._abilities is None:
                folder = self._prefix if beside is None else beside[: beside.rfind("/") + 1]
                self._abilities = await probe(self._calls, folder)
            return self._abilities

    async def _put_file(self, file: File, metadata: Mapping[str, str]) -> StoredFile:
        upload = await self._upload(file.name, file.source, file.content_type, metadata)
        if upload.measured.sha256 != file.sha256:
            raise StoreError("the file to be stored is not the one that was downloaded")
        return await self._put(upload)

    async def _upload(
        self,
        name: str,
        source: Path | bytes,
        content_type: str,
        metadata: Mapping[str, str] = MappingProxyType({}),
        *,
        attempts: int = ATTEMPTS,
    ) -> _Upload:
        """Return an upload, measured in a thread; raise StoreError where it cannot be sent."""
        abilities, key = await self._known(), self._key(name)
        md5 = abilities.digest == "md5"
        measured = await self._calls.run(lambda: _measured(source, md5=md5))
        headers = {
            "Bucket": self._bucket,
            "Key": key,
            "ContentType": content_type,
            "ContentLength": measured.bytes,
            "Metadata": _ascii({**metadata, "callsheet-sha256": measured.sha256}),
            **digest_header(abilities.digest, measured),
        }
        return _Upload(
            key=key, source=source, measured=measured, headers=headers, attempts=attempts
        )

    async def _put(self, upload: _Upload) -> StoredFile:
        if (await self._known()).conditional:
            return await self._claim(upload)
        # Such a store lets the last writer win. Looking first keeps us off the files of others,
        # and the lock keeps this process from coming in between; nothing more is to be had.
        name = self._names.setdefault(upload.key, asyncio.Lock())
        async with name:
            return await self._same(upload) or await self._claim(upload)

    async def _claim(self, upload: _Upload) -> StoredFile:
        try:
            return await self._write(upload, free=True)
        except S3Trouble as trouble:
            # Taken by a stranger, or by an earlier write of ours whose answer was lost.
            taken = trouble.code == "PreconditionFailed"
            there = await self._same(upload) if taken else None
            if there is None:
                raise
            return there

    async def _same(self, upload: _Upload) -> StoredFile | None:
        """Return the object that has an upload's name; raise StoreError where it is another."""
        seen = await self._seen(upload.key)
        if seen is None:
            return None
        # Another size is another file: no need to read it.
        is_alike = seen.bytes == upload.measured.bytes
        there = await self._stored(upload.key) if is_alike else None
        if there is None or there.sha256 != upload.measured.sha256:
            message = f"{seen.uri} exists already and is another file; it was left alone"
            raise StoreError(message, permanent=True, conflict=True)
        return there

    async def _write(self, upload: _Upload, *, free: bool) -> StoredFile:
        """Write an object and return it, proved; raise StoreError when it is not what was sent.

        With `free`, it is written only where there is none (if the store can tell).
        """
        abilities, headers = await self._known(), dict(upload.headers)
        if free and abilities.conditional:
            headers["IfNoneMatch"] = "*"

        def put(client: S3Client) -> PutObjectOutputTypeDef:
            with open_source(upload.source) as file:
                return client.put_object(Body=file, **headers)

        crashpoint("bucket: before the PUT")
        answer = await self._calls.call(put, attempts=upload.attempts)
        crashpoint("bucket: after the PUT")
        wanted = StoredFile(self._root + upload.key, upload.measured.bytes, upload.measured.sha256)
        if _proves(answer, upload.measured, abilities):
            return wanted
        there = await (self._seen if abilities.checks else self._read_back)(upload.key)
        if there is not None and not there.sha256:
            # It compared the digest before it said yes; what is left to see is that it is there.
            there = replace(there, sha256=wanted.sha256)
        if there != wanted:
            raise StoreError(f"what the store holds at {wanted.uri} is not what was sent")
        return wanted

    async def _stored(self, key: str) -> StoredFile | None:
        """Return what is there with its sha256, reading all of it where the store has none."""
        seen = await self._seen(key)
        return seen if seen is None or seen.sha256 else await self._read_back(key)

    async def _seen(self, key: str) -> StoredFile | None:
        """Return what is there without reading it; no sha256 where the store vouches for none."""
        vouches = self._abilities is not None and self._abilities.vouches
        mode: dict[str, Any] = {"ChecksumMode": "ENABLED"} if vouches else {}
        try:
            head = await self._calls.call(
                lambda client: client.head_object(Bucket=self._bucket, Key=key, **mode)
            )
        except S3Trouble as trouble:
            if trouble.code != "404":
                raise
            return None
        crashpoint("bucket: after the HEAD")
        sha256 = _hex(head.get("ChecksumSHA256")) if vouches else ""
        return StoredFile(self._root + key, head["ContentLength"], sha256)

    async def _read_back(self, key: str) -> StoredFile | None:
        read = await self._got(key, lambda body: measure_blocks(body.iter_chunks(BLOCK)))
        crashpoint("bucket: after reading back")
        return None if read is None else StoredFile(self._root + key, read.bytes, read.sha256)

    async def _got(self, key: str, take: Callable[[StreamingBody], Result]) -> Result | None:
        """Return what `take` makes of the bytes of an object; None where there is none."""

        def get(client: S3Client) -> Result:
            body = client.get_object(Bucket=self._bucket, Key=key)["Body"]
            with body:
                return take(body)

        try:
            return await self._calls.call(get)
        except S3Trouble as trouble:
            if trouble.code != "404":
                raise
            return None

    async def _require_bucket(self) -> None:
        try:
            await self._calls.call(
                lambda client: client.list_objects_v2(Bucket=self._bucket, MaxKeys=1)
            )
        except S3Trouble as trouble:
            # A key that may not list: what it was told of the object has to do.
            if trouble.code == "NoSuchBucket":
                raise


def _lacks(address: str, abilities: Abilities) -> list[str]:
    """Say what a bucket does not do, and what is done instead."""
    lacks = []
    if not abilities.conditional:
        lacks.append(f"{address} lets files be overwritten: Callsheet looks before it writes")
    if not abilities.checks:
        lacks.append(f"{address} does not check uploads: Callsheet reads every file back")
    return lacks


def _measured(source: Path | bytes, *, md5: bool) -> Measure:
    with disk_trouble("the file to be stored", Path() if isinstance(source, bytes) else source):
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if size > _LARGEST:
            message = f"the file is larger than the {say_bytes(_LARGEST)} one upload may have"
            raise StoreError(message, permanent=True)
        return measure(source, md5=md5)


def _proves(answer: PutObjectOutputTypeDef, sent: Measure, abilities: Abilities) -> bool:
    """Return whether a store that checks digests answers with the digest of these bytes."""
    if abilities.digest == "sha256":
        named = _hex(answer.get("ChecksumSHA256")) == sent.sha256
    else:
        named = answer.get("ETag", "").strip('"') == sent.md5
    return abilities.checks and named


def _saved(body: StreamingBody, copy: Path) -> Path:
    with copy.open("wb") as file:
        for block in body.iter_chunks(BLOCK):
            with disk_trouble(_SPOOL, copy.parent):
                file.write(block)
    return copy


def _ascii(metadata: Mapping[str, str]) -> dict[str, str]:
    # Metadata travels in headers: ASCII, no line ends.
    safe = " !#$&'()*+,-./:;<=>?@[]_|~"
    return {key: quote(value, safe=safe)[:_METADATA_LIMIT] for key, value in metadata.items()}


def _hex(checksum: str | None) -> str:
    """Return a sha256 as headers have it in hex; empty for what is none.

    A digest of parts ends in "-<number>" and is not the digest of the file.
    """
    try:
        raw = base64.b64decode(checksum or "", validate=True)
    except binascii.Error:
        return ""
    return raw.hex() if len(raw) == 32 else ""
