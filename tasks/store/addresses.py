"""Opens a store by its address, and signs addresses for browsers."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from callsheet.tasks.runtime.errors import ConfigurationError, StoreError, shorten
from callsheet.tasks.store.bucket import BucketStore
from callsheet.tasks.store.folder import FolderStore
from callsheet.tasks.store.store import Store, name_below
from callsheet.tasks.values.locations import Links, ObjectAddress, object_at

#: What opens an object store, by the scheme of its addresses; everything else is a folder.
KINDS: dict[str, Callable[[ObjectAddress], Store]] = {
    "s3": lambda address: BucketStore(address.bucket, address.key)
}
_REMEDY = f"give a folder, or {' or '.join(f'{scheme}://bucket/prefix' for scheme in KINDS)}"
#: One letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def open_store(address: str) -> Store:
    """Return the store at `s3://bucket/prefix` or in a folder; makes no requests."""
    scheme = _SCHEME.match(address)
    if not address.strip():
        raise ConfigurationError("the store has no address", remedy=_REMEDY)
    if scheme is None:
        return _folder(Path(address))
    if scheme[1].lower() == "file":
        return _folder(_file_path(address))
    kind = scheme[1].lower()
    if kind not in KINDS:
        message = f'"{shorten(address.split("?")[0])}" is not a store'
        raise ConfigurationError(message, remedy=_REMEDY)
    return KINDS[kind](_bucket_in(address, kind))


def place_of(uri: str) -> str:
    """Return the address of all there is where a file is: its bucket, or the file system."""
    where = object_at(uri)
    return Path(uri).absolute().anchor if where is None else where.root


class Places:
    """Every store with deliveries, as the addresses of its files tell; opened when first needed."""

    def __init__(self) -> None:
        self._open: dict[str, Store] = {}

    def of(self, uri: str) -> Store:
        """Return a store that has a file, by its address."""
        place = place_of(uri)
        if place not in self._open:
            self._open[place] = open_store(place)
        return self._open[place]

    async def __aenter__(self) -> Places:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with AsyncExitStack() as stack:
            for store in self._open.values():
                stack.push_async_callback(store.aclose)


def _folder(path: Path) -> Store:
    return FolderStore(Path.cwd() / path.expanduser())


def _bucket_in(address: str, scheme: str) -> ObjectAddress:
    parts = urlsplit(address)
    odd = parts.username or parts.password or parts.query or parts.fragment
    if odd or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}", parts.netloc):
        message = f"the store's address is not of the form {scheme}://bucket/prefix"
        remedy = "credentials, region and endpoint come from the AWS_ variables or ~/.aws"
        raise ConfigurationError(message, remedy=remedy)
    prefix = "/".join(part for part in parts.path.split("/") if part)
    return ObjectAddress(scheme, parts.netloc, prefix)


def _file_path(address: str) -> Path:
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost"):
        raise ConfigurationError(f'"{shorten(address)}" is on another machine', remedy=_REMEDY)
    return Path(unquote(parts.path))


# Addresses at which a browser reads a file of a bucket: signed, for a while, for one file.


#: How long an address can be read at, in seconds: a video that is watched is read piece by piece.
LASTING = 900


def linking(store: str, links: Links | None) -> Callable[[str], str | None]:
    """Return what makes the link to a file in the store at `store`; None of a file elsewhere.

    Raises ConfigurationError where there is nothing to sign.
    """
    if links is None:
        return lambda uri: None
    where, base = object_at(store), links.base
    if base is not None:
        return lambda uri: f"{base}/{quote(name)}" if (name := name_below(store, uri)) else None
    if where is None:
        raise ConfigurationError(
            "links = presigned needs a store in a bucket; nothing was spent",
            remedy="set links to `public https://...`, or store to `s3://bucket/prefix`",
        )
    opened, lasting = open_store(where.root), links.lasting

    def link(uri: str) -> str | None:
        return opened.sign(uri, lasting=lasting) if place_of(uri) == where.root else None

    return link


def signing_key(store: str, links: Links | None) -> str | None:
    """Return the id of the key that signs links to a store now; None where none are signed.

    Links end with the key that signed them. Empty where there is no key.
    """
    if links is None or links.base is not None:
        return None
    try:
        address = linking(store, links)(f"{store.rstrip('/')}/manifest.json") or ""
    except StoreError:
        return ""
    credential = parse_qs(urlsplit(address).query).get("X-Amz-Credential", [""])
    return credential[0].partition("/")[0]


def disposition_of(name: str, *, download: bool) -> str:
    """Return how a browser is to take a file: shown, or saved under its name."""
    kind = "attachment" if download else "inline"
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
