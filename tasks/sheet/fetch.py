"""Reads the bytes of a sheet: a file, standard input, a bucket, or the web."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from callsheet.tasks.sheet.table import Fetched, refused, too_large
from callsheet.tasks.sheet.text import MAX_BYTES
from callsheet.tasks.values.locations import object_at

#: Bytes that are read from standard input in one go: what a pipe holds.
PIECE = 64 * 1024
_NOT_THERE = "is not there: check its path"


async def fetch(address: str, *, stdin: BinaryIO | None = None) -> Fetched:
    """Return the bytes at an address; raise SheetError with one sentence when there are none."""
    scheme, mark, _ = address.partition("://")
    if address == "-":
        content = await _read_input(stdin or sys.stdin.buffer)
        return Fetched(content=content, name="stdin")
    if not mark:
        return await asyncio.to_thread(_read_path, address)
    if scheme.lower() in ("https", "http"):
        from callsheet.tasks.sheet.web import fetch_web

        return await fetch_web(address)
    if scheme.lower() == "s3":
        return await asyncio.to_thread(fetch_bucket, address)
    raise refused(address, "is not a path, - (standard input), https:// or s3://")


def check_is_there(address: str) -> None:
    """Raise SheetError for a path where no file is; other addresses are only known by fetching."""
    if address == "-" or "://" in address or Path(address).expanduser().exists():
        return
    raise refused(address, _NOT_THERE)


async def _read_input(source: BinaryIO) -> bytes:
    """Return what is typed or piped in, in a wait that can be cancelled."""
    content = bytearray()
    while len(content) <= MAX_BYTES:
        try:
            await _there(source)
        except (NotImplementedError, OSError, ValueError):
            # The event loop of Windows; or a file, which no one waits for.
            return await asyncio.to_thread(_read, source, "stdin")
        part = os.read(source.fileno(), PIECE)
        if not part:
            return bytes(content)
        content += part
    raise too_large("stdin")


async def _there(source: BinaryIO) -> None:
    """Return once a read of the source does not wait."""
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(source, there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(source)


def _read_path(address: str) -> Fetched:
    path = Path(address).expanduser()
    try:
        with path.open("rb") as source:
            content = _read(source, path.name)
    except FileNotFoundError:
        raise refused(address, _NOT_THERE) from None
    except IsADirectoryError:
        raise refused(address, "is a folder, not a sheet: name the file in it") from None
    except PermissionError:
        raise refused(address, "may not be read by this user") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refused(address, f"cannot be read: {reason}") from None
    return Fetched(content=content, name=path.name, folder=path.parent)


def _read(source: BinaryIO, name: str) -> bytes:
    content = source.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise too_large(name)
    return content


# Sheets in S3. Endpoint, region and credentials are boto3's own business.


_REASONS = {
    "NoSuchKey": "is not there; is the key right?",
    "NoSuchBucket": "is in a bucket that is not there",
    "AccessDenied": "may not be read with these credentials",
    "403": "may not be read with these credentials",
    "404": "is not there",
    "InvalidAccessKeyId": "may not be read: the access key is unknown",
    "SignatureDoesNotMatch": "may not be read: the secret key is wrong",
}


def fetch_bucket(address: str) -> Fetched:
    """Return a sheet from `s3://bucket/key`."""
    # Only sheets in a bucket need boto3, which takes long to load.
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    where = object_at(address)
    if where is None or not where.bucket or not where.key or address.endswith("/"):
        raise refused(address, "is not a sheet; write s3://bucket/path/to/sheet.csv")
    try:
        config = Config(connect_timeout=10, read_timeout=60, retries={"max_attempts": 3})
        answer = boto3.client("s3", config=config).get_object(Bucket=where.bucket, Key=where.key)
        if answer["ContentLength"] > MAX_BYTES:
            raise too_large(address)
        content = answer["Body"].read(MAX_BYTES + 1)
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))
        raise refused(address, _REASONS.get(code, f"was refused by the store: {code}")) from None
    except NoCredentialsError:
        raise refused(address, "cannot be read: no S3 credentials were found") from None
    except (BotoCoreError, ValueError, OSError) as error:
        raise refused(address, f"cannot be reached: {error}") from None
    return Fetched(content=content, name=PurePosixPath(where.key).name)
