"""Opens a store by its address, and signs addresses for browsers."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from callsheet.tasks.runtime.errors import ConfigurationError, StoreError, shorten
from callsheet.tasks.store.bucket import BucketStore
from callsheet.tasks.store.folder import FolderStore
from callsheet.tasks.store.inventories import (
    BucketInventory,
    BucketSigner,
    FolderInventory,
    origin_of_bucket,
    signed_for,
)
from callsheet.tasks.store.store import Inventory, Signer, Store, name_below
from callsheet.tasks.values.locations import Links, ObjectAddress, object_at


@dataclass(frozen=True, kw_only=True)
class StoreKind:
    """One kind of object store: what its addresses open. Each is given an address of that kind."""

    store: Callable[[ObjectAddress], Store]
    inventory: Callable[[ObjectAddress], Inventory]
    #: What signs addresses in one bucket for browsers.
    signer: Callable[[ObjectAddress], Signer]
    #: The origin that signed addresses have (`https://host`), where that can be said.
    origin: Callable[[ObjectAddress], str | None]
    #: What signs addresses in one bucket at once, for so many seconds; None: nothing does.
    signed: Callable[[ObjectAddress, int], Callable[[str], str]] | None = None


#: The object stores by the scheme of their addresses; everything else is a folder.
KINDS: dict[str, StoreKind] = {
    "s3": StoreKind(
        store=lambda address: BucketStore(address.bucket, address.key),
        inventory=lambda address: BucketInventory(address.bucket),
        signer=lambda address: BucketSigner(address.bucket),
        signed=lambda address, lasting: signed_for(address.bucket, lasting),
        origin=lambda address: origin_of_bucket(address.bucket),
    )
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
    kind = _kind(scheme[1].lower(), address)
    return kind.store(_bucket_in(address, scheme[1].lower()))


def open_inventory(uri: str) -> Inventory:
    """Return the inventory of the place a file is in; makes no requests."""
    where = object_at(uri)
    return FolderInventory() if where is None else _kind(where.scheme, uri).inventory(where)


def place_of(uri: str) -> str:
    """Return what tells one inventory from another: the bucket, or the file system."""
    where = object_at(uri)
    return "/" if where is None else where.root


class Places:
    """The inventories of every store with deliveries, opened when first needed."""

    def __init__(self) -> None:
        self._open: dict[str, Inventory] = {}

    def of(self, uri: str) -> Inventory:
        """Return the inventory that a file is in."""
        place = place_of(uri)
        if place not in self._open:
            self._open[place] = open_inventory(uri)
        return self._open[place]

    async def __aenter__(self) -> Places:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with AsyncExitStack() as stack:
            for inventory in self._open.values():
                stack.push_async_callback(inventory.aclose)


def _kind(scheme: str, address: str) -> StoreKind:
    if scheme in KINDS:
        return KINDS[scheme]
    message = f'"{shorten(address.split("?")[0])}" is not a store'
    raise ConfigurationError(message, remedy=_REMEDY)


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


class SignedAddresses:
    """Signs addresses of files in buckets; asks nothing but what gives out the credentials."""

    def __init__(self) -> None:
        self._signers: dict[str, Signer] = {}

    async def sign(
        self, uri: str, *, content_type: str, disposition: str, lasting: int = LASTING
    ) -> str:
        """Return the signed address of `s3://bucket/key`, to be read at for `lasting` seconds.

        Raises StoreError without credentials.
        """
        where = object_at(uri)
        assert where is not None, "a file in a folder is not signed"
        if where.root not in self._signers:
            self._signers[where.root] = KINDS[where.scheme].signer(where)
        sign = self._signers[where.root].sign
        return await sign(where.key, content_type, disposition, lasting=lasting)

    async def aclose(self) -> None:
        """Let go of threads."""
        for signer in self._signers.values():
            await signer.aclose()


def linking(store: str, links: Links | None) -> Callable[[str], str | None]:
    """Return what makes the link to a file in the store at `store`; None of a file elsewhere.

    Raises ConfigurationError where there is nothing to sign.
    """
    if links is None:
        return lambda uri: None
    where, base = object_at(store), links.base
    if base is not None:
        return lambda uri: f"{base}/{quote(name)}" if (name := name_below(store, uri)) else None
    signed = KINDS[where.scheme].signed if where and where.scheme in KINDS else None
    if where is None or signed is None:
        raise ConfigurationError(
            "links = presigned needs a store in a bucket; nothing was spent",
            remedy="set links to `public https://...`, or store to `s3://bucket/prefix`",
        )
    sign = signed(where, links.lasting)

    def link(uri: str) -> str | None:
        there = object_at(uri)
        return sign(there.key) if there is not None and there.root == where.root else None

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


def origin_of_store(address: str) -> str | None:
    """Return the origin from which videos of a store are read (`https://host`); None of a folder.

    Makes no requests. Where no one can say it, None too: then no page shows videos from there.
    """
    where = object_at(address)
    return None if where is None or where.scheme not in KINDS else KINDS[where.scheme].origin(where)


def disposition_of(name: str, *, download: bool) -> str:
    """Return how a browser is to take a file: shown, or saved under its name."""
    kind = "attachment" if download else "inline"
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
