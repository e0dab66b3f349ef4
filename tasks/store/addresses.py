"""Opens a store by its address, and signs addresses for browsers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from callsheet.tasks.runtime.errors import ConfigurationError, shorten
from callsheet.tasks.store.bucket import BucketStore
from callsheet.tasks.store.folder import FolderStore
from callsheet.tasks.store.inventories import BucketInventory, FolderInventory
from callsheet.tasks.store.s3_client import S3Calls, make_client, said
from callsheet.tasks.store.second_process import SecondProcess
from callsheet.tasks.store.store import Inventory, Store

# How an address becomes a store or an inventory; contacts nobody.


#: One letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_REMEDY = "give a folder, or s3://bucket/prefix"


def open_store(address: str, second: SecondProcess | None = None) -> Store:
    """Return the store at `s3://bucket/prefix` or in a folder; contacts nobody.

    What is written to a folder may be written by the `second` process.
    """
    scheme = _SCHEME.match(address)
    if not address.strip():
        raise ConfigurationError("the store has no address", remedy=_REMEDY)
    if scheme is None:
        return _folder(Path(address), second)
    if scheme[1].lower() == "s3":
        return _bucket(address)
    if scheme[1].lower() == "file":
        return _folder(_file_path(address), second)
    message = f'"{shorten(address.split("?")[0])}" is not a store'
    raise ConfigurationError(message, remedy=_REMEDY)


def open_inventory(uri: str) -> Inventory:
    """Return the inventory of the place a file is in; contacts nobody."""
    if uri.startswith("s3://"):
        return BucketInventory(uri.removeprefix("s3://").partition("/")[0])
    return FolderInventory()


def place_of(uri: str) -> str:
    """Return what tells one inventory from another: the bucket, or the file system."""
    return "/".join(uri.split("/")[:3]) if uri.startswith("s3://") else "/"


def _folder(path: Path, second: SecondProcess | None) -> Store:
    return FolderStore(Path.cwd() / path.expanduser(), second)


def _bucket(address: str) -> Store:
    parts = urlsplit(address)
    odd = parts.username or parts.password or parts.query or parts.fragment
    if odd or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}", parts.netloc):
        message = "the store's address is not of the form s3://bucket/prefix"
        remedy = "credentials, region and endpoint come from the AWS_ variables or ~/.aws"
        raise ConfigurationError(message, remedy=remedy)
    prefix = "/".join(part for part in parts.path.split("/") if part)
    return BucketStore(parts.netloc, prefix)


def _file_path(address: str) -> Path:
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost"):
        raise ConfigurationError(f'"{shorten(address)}" is on another machine', remedy=_REMEDY)
    return Path(unquote(parts.path))


# Addresses at which a browser reads a file of a bucket: signed, for a while, for one file.


#: How long an address can be read at, in seconds: a video that is watched is read piece by piece.
LASTING = 900


class SignedAddresses:
    """Signs addresses of files in buckets; asks nobody but whoever gives out the credentials."""

    def __init__(self) -> None:
        self._buckets: dict[str, S3Calls] = {}

    async def sign(
        self, uri: str, *, content_type: str, disposition: str, lasting: int = LASTING
    ) -> str:
        """Return the signed address of `s3://bucket/key`, to be read at for `lasting` seconds.

        Raises StoreError without credentials.
        """
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        if bucket not in self._buckets:
            # The old way to sign says nothing of how the answer is to be given.
            self._buckets[bucket] = S3Calls(bucket, threads=2, signature="s3v4")
        wanted: dict[str, Any] = {
            "Bucket": bucket,
            "Key": key,
            "ResponseContentType": content_type,
            "ResponseContentDisposition": disposition,
        }
        return await said(
            self._buckets[bucket].call(
                lambda client: client.generate_presigned_url(
                    "get_object", Params=wanted, ExpiresIn=lasting
                )
            )
        )

    async def aclose(self) -> None:
        """Let go of threads."""
        for calls in self._buckets.values():
            await calls.aclose()


def origin_of_store(address: str) -> str | None:
    """Return the origin from which videos of a store are read (`https://host`); None of a folder.

    Contacts nobody. Where boto3 cannot say it, None too: then no page shows videos from there.
    """
    if not address.startswith("s3://"):
        return None
    from botocore import UNSIGNED
    from botocore.exceptions import BotoCoreError

    try:
        found = make_client(1, signature=UNSIGNED).generate_presigned_url(
            "get_object", Params={"Bucket": place_of(address)[len("s3://") :], "Key": "video.mp4"}
        )
    except (BotoCoreError, ValueError):
        return None
    parts = urlsplit(found)
    return f"{parts.scheme}://{parts.netloc}"


def disposition_of(name: str, *, download: bool) -> str:
    """Return how a browser is to take a file: shown, or saved under its name."""
    kind = "attachment" if download else "inline"
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
