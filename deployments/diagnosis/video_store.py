"""What is found of the store: can videos be written to it and read back, and what does it lack?"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

from callsheet.deployments.diagnosis.finding import PlaceFinding, note, ok, wrong
from callsheet.tasks.settings import Settings
from callsheet.tasks.store import open_store
from callsheet.tasks.store.open import open_inventory

_NO_HASTE = (
    "it works; a store that knows If-None-Match and checks digests spares a look or a read for "
    "each video, and lets several machines write to one prefix"
)


async def store(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Write, read and remove one small file; a folder that is not there is not made for that."""
    address = settings.store
    if "://" not in address and not (folder := Path(address).expanduser().absolute()).exists():
        yield _to_be_made(folder)
        return
    opened = open_store(address)
    try:
        lacks = await opened.check()
    finally:
        await opened.aclose()
    yield ok("store", f"videos can be written to {address} and read back")
    for words in lacks:
        yield note("store", words, _NO_HASTE)


async def manifests(settings: Settings) -> list[str]:
    """Return the campaigns that the store has a manifest of; raises StoreError where nobody can."""
    inventory = open_inventory(settings.store)
    try:
        place = settings.store.rstrip("/")
        if "://" not in place:
            place = str(Path(place).expanduser().absolute())
        found = await inventory.below(place)
    finally:
        await inventory.aclose()
    return sorted(one.uri.split("/")[-2] for one in found if one.uri.endswith("/manifest.json"))


def _to_be_made(folder: Path) -> PlaceFinding:
    there = next(one for one in folder.parents if one.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return ok("store", f"{folder} is made by the first run")
    words = f"videos cannot be written to {folder}: nothing can be made in {there}"
    return wrong("store", words, "name another folder, or make this one writable")
