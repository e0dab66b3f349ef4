"""What finished videos are handed on as: copies at other places.

Made at the end of a run, each once. What is in the way of a copy is left alone: the copy is on
hold, and the video is delivered all the same.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import cast

from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    FileCopy,
    WantedCopy,
    copies_of,
    note_copies,
    wanted_copies,
)
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.store import File, FileKind, Store, open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.disk import disk_trouble, make_private
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.locations import is_object
from callsheet.tasks.values.names import object_name


@dataclass(frozen=True)
class CopiesMade:
    """What became of the copies of a campaign: those that were made now, and those on hold."""

    made: int = 0
    held: Sequence[FileCopy] = ()

    @property
    def words(self) -> str:
        """Why copies are on hold, the first of them by name."""
        number = len(self.held)
        said = count(number, "copy is", "copies are")
        return (
            f"{said} on hold: {self.held[0].fault}{', ...' if number > 1 else ''}; "
            "the videos are delivered; move what is in the way or change `copies`, then run again"
        )


async def make_copies(at: Context, campaign: Campaign) -> CopiesMade:
    """Make the copies that are wanted and not proved yet; contacts no place where there are none.

    The ledger records each copy with its sha256, or why it is on hold.
    """
    wanted = await at.ledger.read(wanted_copies, campaign_id=campaign.id)
    known = await at.ledger.read(copies_of, campaign_id=campaign.id)
    held = [copy for several in known.values() for copy in several if copy.fault is not None]
    proved = {(c.take_id, c.uri) for several in known.values() for c in several if not c.fault}
    async with AsyncExitStack() as stack:
        places = await stack.enter_async_context(Places())
        stores = {place: open_store(place) for place in {one.place for one in wanted}}
        for store in stores.values():
            stack.push_async_callback(store.aclose)
        named = [(one, _name(one, campaign.name)) for one in wanted]
        missing = [
            (one, name)
            for one, name in named
            if (one.take_id, f"{stores[one.place].address}/{name}") not in proved
        ]
        # A place that cannot be written to is tried once, and not for every file.
        needed = {one.place for one, _ in missing}
        trouble = {place: await _trouble_of(stores[place]) for place in needed}

        async def make(named: tuple[WantedCopy, str]) -> FileCopy:
            one, name = named
            copy = _copy_of(one, f"{stores[one.place].address}/{name}")
            if fault := trouble[one.place]:
                return replace(copy, fault=fault)
            return await _made(one, name, copy, stores[one.place], places, at.settings.spool)

        copies = await map_at_once(make, missing, at_once=at.settings.at_once)
    if {*copies} != {*held}:
        # It leaves an event, so that the report is written: its status sheet tells of copies.
        await at.ledger.write(note_copies, campaign_id=campaign.id, copies=copies, at=at.clock())
    made = sum(copy.fault is None for copy in copies)
    return CopiesMade(made, [copy for copy in copies if copy.fault is not None])


def _name(one: WantedCopy, campaign: str) -> str:
    stem, kind = PurePath(one.file.uri).stem, one.file.kind
    return object_name(
        one.name, campaign=campaign, row=one.row, take=one.take, kind=kind, file=stem
    )


def _copy_of(one: WantedCopy, uri: str) -> FileCopy:
    file, take_id = one.file, one.take_id
    return FileCopy(take_id=take_id, kind=file.kind, uri=uri, sha256=file.sha256, bytes=file.bytes)


async def _trouble_of(store: Store) -> str | None:
    try:
        await store.check()
    except (StoreError, StoreUnusable) as error:
        return str(error)
    return None


async def _made(
    one: WantedCopy, name: str, copy: FileCopy, store: Store, places: Places, spool: Path
) -> FileCopy:
    try:
        await copy_file(one.file, name, store, places, spool)
    except (StoreError, StoreUnusable) as error:
        return replace(copy, fault=str(error))
    return copy


async def copy_file(file: Delivered, name: str, store: Store, places: Places, spool: Path) -> None:
    """Copy a delivered file to a name in another store, and prove that it is there.

    Raises StoreError: also for another file of that name, which is left alone.
    """
    async with _opened(file, places, spool) as source:
        kind = cast("FileKind", file.kind)
        there = File(kind=kind, name=name, source=source, sha256=file.sha256)
        await store.put(there, metadata={})


@asynccontextmanager
async def _opened(file: Delivered, places: Places, spool: Path) -> AsyncIterator[Path]:
    """Yield a file of the store as one of our own, which a store may take over."""
    async with places.of(file.uri).opened(file.uri, spool) as path:
        if path is None:
            raise StoreError(f"{file.uri} is not in the store")
        if is_object(file.uri):
            yield path
            return
        own = spool / f"copy-{secrets.token_hex(8)}"
        try:
            with disk_trouble("the spool disk", spool):
                make_private(spool)
                await asyncio.to_thread(shutil.copyfile, path, own)
            yield own
        finally:
            own.unlink(missing_ok=True)
