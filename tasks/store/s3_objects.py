"""Single objects of a bucket: measured, written with their digest, looked at, read back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote

from callsheet.tasks.crash import crashpoint
from callsheet.tasks.errors import StoreError
from callsheet.tasks.plural import say_bytes
from callsheet.tasks.store.disk import disk_trouble
from callsheet.tasks.store.measure import Measure, measure, measure_blocks, open_source
from callsheet.tasks.store.s3_client import S3Calls, S3Trouble
from callsheet.tasks.store.s3_probe import Abilities, digest_header
from callsheet.tasks.store.store import StoredFile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import PutObjectOutputTypeDef

_BLOCK = 1024 * 1024
#: The most that one PUT may carry. Videos of minutes are far below it.
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
        return f"s3://{self._calls.bucket}/{key}"

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
