"""How an address becomes a store or an inventory; contacts nobody."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from callsheet.tasks.errors import ConfigurationError, shorten
from callsheet.tasks.store.bucket import BucketStore
from callsheet.tasks.store.folder import FolderStore
from callsheet.tasks.store.inventories import BucketInventory, FolderInventory
from callsheet.tasks.store.second_process import SecondProcess
from callsheet.tasks.store.store import Inventory, Store

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
