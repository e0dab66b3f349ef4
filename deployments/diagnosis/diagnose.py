"""Everything that is found about the place that Callsheet runs in."""

from __future__ import annotations

import asyncio
from pathlib import Path

from deployments.diagnosis.finding import PlaceFinding, ok, wrong_by
from deployments.diagnosis.kept_ledger import ledger
from deployments.diagnosis.place import files, packages, remarks, room, versions
from deployments.diagnosis.prefect import prefect
from deployments.diagnosis.service import service, webhooks
from deployments.prefect_address import prefect_address
from deployments.servers import prefect_of
from tasks.errors import CallsheetError
from tasks.settings import Settings, load_settings
from tasks.store import open_store


async def diagnose(profile: str | None, folder: Path) -> list[PlaceFinding]:
    """Return what is found, part by part; a part that cannot be looked at is told as such.

    Asks the service with free reads, and tries whether the store can be written and read. Nothing
    that was not there before is left behind.
    """
    found = [*versions(), *packages(folder)]
    server = prefect_address()
    try:
        settings = load_settings(profile=profile, folder=folder)
        found += [*remarks(settings), *files(settings), *room(settings)]
    except CallsheetError as error:
        found.append(wrong_by("settings", error))
    else:
        found += await asyncio.to_thread(lambda: [*ledger(settings.ledger)])
        found += [one async for one in service(settings)]
        found += [one async for one in webhooks(settings)]
        found.append(await _store(settings))
        server = prefect_of(settings.home)
    return [*found, *await asyncio.to_thread(lambda: [*prefect(server)])]


async def _store(settings: Settings) -> PlaceFinding:
    address = settings.store
    if "://" not in address and not Path(address).exists():
        # To try it would make it; the disk's room is told beside it.
        return ok("store", f"{Path(address).absolute()} is made by the first run")
    try:
        store = open_store(address)
        try:
            await store.check()
        finally:
            await store.aclose()
    except CallsheetError as error:
        return wrong_by("store", error)
    return ok("store", f"films can be written to {address} and read back")
