"""The inventory of a folder and that of a bucket: files looked at, never written."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.runtime.files import sync_folder
from callsheet.tasks.store.bucket import ObjectHead, S3Objects
from callsheet.tasks.store.disk import disk_trouble, make_private
from callsheet.tasks.store.s3_client import Abilities, S3Calls, S3Trouble, make_client, probe, said
from callsheet.tasks.store.store import Listed, marked
from callsheet.tasks.values.locations import ObjectAddress

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_DISK = "the disk of the store"
_SPOOL = "the spool disk"
_BLOCK = 1024 * 1024
#: What is taken for granted of a store that could not be tried: nothing.
_UNTRIED = Abilities(digest=None, checks=False, conditional=False)


class FolderInventory:
    """Files by their paths."""

    async def size(self, uri: str) -> int | None:
        """Return how many bytes a file has; None where there is none."""
        return await asyncio.to_thread(_size, Path(uri))

    async def vouched(self, uri: str) -> str | None:
        """Return None: a folder keeps no digests."""
        return None

    @asynccontextmanager
    async def opened(self, uri: str, spool: Path) -> AsyncIterator[Path | None]:
        """Yield the file where it is; anyone who reads it copies nothing."""
        path = Path(uri)
        yield path if await asyncio.to_thread(_size, path) is not None else None

    async def below(self, uri: str) -> list[Listed]:
        """Return every file below a folder; none where there is no folder."""
        return await asyncio.to_thread(_below, Path(uri))

    async def set_aside(self, uri: str, mark: str) -> str:
        """Give a file another name in its folder; raise StoreError where that name is taken."""
        return await asyncio.to_thread(_set_aside, Path(uri), mark)

    async def delete(self, uri: str) -> None:
        """Delete a file; one that is not there is deleted."""
        await asyncio.to_thread(_delete, Path(uri))

    async def aclose(self) -> None:
        """Nothing is held open."""


class BucketInventory:
    """Objects by their addresses, each `s3://bucket/key` of this one bucket."""

    def __init__(self, bucket: str, *, calls: S3Calls | None = None) -> None:
        self._root = f"{ObjectAddress('s3', bucket, '')}/"
        self._calls = calls or S3Calls(bucket)
        self._trying = asyncio.Lock()
        self._abilities: Abilities | None = None
        #: What was found when the bucket itself was looked for, once: that it is gone, or nothing.
        self._was_looked_for = False
        self._gone: S3Trouble | None = None

    async def size(self, uri: str) -> int | None:
        """Return how many bytes an object has; None where there is none.

        Raises StoreError where the bucket is gone: a HEAD of an object says the same of both.
        """
        seen = await said(self._head(uri, _UNTRIED))
        if seen is None:
            await said(self._look_for_bucket())
        return None if seen is None else seen.bytes

    async def vouched(self, uri: str) -> str | None:
        """Return the sha256 that the store has checked, where this one was seen to check any."""
        abilities = await self._tried(uri)
        if not abilities.checks or abilities.digest != "sha256":
            return None
        seen = await said(self._head(uri, abilities))
        return None if seen is None else seen.sha256

    @asynccontextmanager
    async def opened(self, uri: str, spool: Path) -> AsyncIterator[Path | None]:
        """Yield a copy of an object in `spool`, removed afterwards."""
        copy = spool / f"look-{secrets.token_hex(8)}"
        try:
            found = await said(self._fetch(uri, copy))
            yield copy if found else None
        finally:
            copy.unlink(missing_ok=True)

    async def below(self, uri: str) -> list[Listed]:
        """Return every object below a prefix."""
        prefix = self._key(uri).rstrip("/") + "/"

        def listed(client: S3Client) -> list[Listed]:
            pages = client.get_paginator("list_objects_v2")
            return [
                Listed(self._root + entry["Key"], entry["Size"])
                for page in pages.paginate(Bucket=self._calls.bucket, Prefix=prefix)
                for entry in page.get("Contents", [])
            ]

        return await said(self._calls.call(listed))

    async def set_aside(self, uri: str, mark: str) -> str:
        """Copy an object to another name, see that the copy is there, then free its own.

        A `mark` that names the content makes this safe to do again after a kill.
        """
        return await said(self._set_aside(self._key(uri), mark))

    async def delete(self, uri: str) -> None:
        """Delete an object; one that is not there is deleted."""
        key, bucket = self._key(uri), self._calls.bucket
        await said(self._calls.call(lambda client: client.delete_object(Bucket=bucket, Key=key)))

    async def aclose(self) -> None:
        """Let go of connections and threads."""
        await self._calls.aclose()

    async def _tried(self, uri: str) -> Abilities:
        async with self._trying:
            if self._abilities is None:
                try:
                    folder = "".join(self._key(uri).rpartition("/")[:2])
                    self._abilities = await probe(self._calls, folder)
                except S3Trouble as trouble:
                    if not trouble.permanent:
                        raise StoreError(str(trouble)) from None
                    # A key that may only read: then everything is read.
                    self._abilities = _UNTRIED
            return self._abilities

    async def _look_for_bucket(self) -> None:
        async with self._trying:
            if not self._was_looked_for:
                bucket = self._calls.bucket
                try:
                    await self._calls.call(
                        lambda client: client.list_objects_v2(Bucket=bucket, MaxKeys=1)
                    )
                except S3Trouble as trouble:
                    # A key that may not list: what it was told of the object has to do.
                    self._gone = trouble if trouble.code == "NoSuchBucket" else None
                self._was_looked_for = True
        if self._gone is not None:
            raise self._gone

    async def _head(self, uri: str, abilities: Abilities) -> ObjectHead | None:
        return await S3Objects(self._calls, abilities).head(self._key(uri))

    async def _fetch(self, uri: str, copy: Path) -> bool:
        with disk_trouble(_SPOOL, copy.parent):
            make_private(copy.parent)

        def read(client: S3Client) -> None:
            body = client.get_object(Bucket=self._calls.bucket, Key=self._key(uri))["Body"]
            with body, copy.open("wb") as file:
                for block in body.iter_chunks(_BLOCK):
                    with disk_trouble(_SPOOL, copy.parent):
                        file.write(block)

        try:
            await self._calls.call(read)
        except S3Trouble as trouble:
            if trouble.code != "404":
                raise
            return False
        return True

    async def _set_aside(self, key: str, mark: str) -> str:
        aside, at = marked(key, mark), self._calls.bucket
        objects = S3Objects(self._calls, _UNTRIED)
        seen = await objects.head(key)
        if seen is None:
            raise StoreError(f"{self._root}{key} no longer exists; list again")
        copied = await objects.head(aside)
        if copied is not None and copied.bytes != seen.bytes:
            message = f"{self._root}{aside} already exists; {self._root}{key} was left alone"
            raise StoreError(message, permanent=True)
        if copied is None:
            # Otherwise it was copied before, by someone who was killed before the next step.
            await self._calls.call(
                lambda client: client.copy_object(
                    Bucket=at, Key=aside, CopySource={"Bucket": at, "Key": key}
                )
            )
            copied = await objects.head(aside)
        if copied is None or copied.bytes != seen.bytes:
            raise StoreError(f"{self._root}{key} could not be set aside; it was left alone")
        await self._calls.call(lambda client: client.delete_object(Bucket=at, Key=key))
        return self._root + aside

    def _key(self, uri: str) -> str:
        return uri.removeprefix(self._root)


def _size(path: Path) -> int | None:
    with disk_trouble(_DISK, path.parent):
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_size if path.is_file() else None


def _below(folder: Path) -> list[Listed]:
    with disk_trouble(_DISK, folder):
        found = [path for path in folder.rglob("*") if path.is_file()]
        return [Listed(str(path), path.stat().st_size) for path in sorted(found)]


def _set_aside(path: Path, mark: str) -> str:
    aside = path.with_name(marked(path.name, mark))
    with disk_trouble(_DISK, path.parent):
        if os.path.lexists(aside):
            raise StoreError(f"{aside} already exists; {path} was left alone", permanent=True)
        os.rename(path, aside)
        sync_folder(path.parent)
    return str(aside)


def _delete(path: Path) -> None:
    with disk_trouble(_DISK, path.parent):
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            sync_folder(path.parent)


# Addresses at which a browser reads an object.


class BucketSigner:
    """Signs addresses of objects of one bucket."""

    def __init__(self, bucket: str) -> None:
        # The old way to sign says nothing of how the answer is to be given.
        self._calls = S3Calls(bucket, threads=2, signature="s3v4")

    async def sign(self, key: str, content_type: str, disposition: str, *, lasting: int) -> str:
        """Return the signed address of an object. Raises StoreError without credentials."""
        wanted: dict[str, Any] = {
            "Bucket": self._calls.bucket,
            "Key": key,
            "ResponseContentType": content_type,
            "ResponseContentDisposition": disposition,
        }
        return await said(
            self._calls.call(
                lambda client: client.generate_presigned_url(
                    "get_object", Params=wanted, ExpiresIn=lasting
                )
            )
        )

    async def aclose(self) -> None:
        """Let go of threads."""
        await self._calls.aclose()


def signed_for(bucket: str, lasting: int) -> Callable[[str], str]:
    """Return what signs addresses of objects of a bucket by their keys, for `lasting` seconds.

    It raises StoreError without credentials.
    """
    from botocore.exceptions import BotoCoreError

    client = make_client(1, signature="s3v4")

    def sign(key: str) -> str:
        wanted = {"Bucket": bucket, "Key": key}
        try:
            return client.generate_presigned_url("get_object", Params=wanted, ExpiresIn=lasting)
        except BotoCoreError as error:
            raise StoreError(f"links cannot be signed: {error}", permanent=True) from None

    return sign


def origin_of_bucket(bucket: str) -> str | None:
    """Return the origin of signed addresses, where boto3 can say it; makes no requests."""
    from botocore import UNSIGNED
    from botocore.exceptions import BotoCoreError

    try:
        found = make_client(1, signature=UNSIGNED).generate_presigned_url(
            "get_object", Params={"Bucket": bucket, "Key": "video.mp4"}
        )
    except (BotoCoreError, ValueError):
        return None
    parts = urlsplit(found)
    return f"{parts.scheme}://{parts.netloc}"
