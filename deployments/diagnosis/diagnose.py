"""Everything that is found about the place that Callsheet runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from callsheet.deployments.diagnosis.finding import TROUBLE, PlaceFinding, all_of, each_of, wrong_by
from callsheet.deployments.diagnosis.kept_ledger import ledger, lost
from callsheet.deployments.diagnosis.place import files, nights, remarks, room, versions
from callsheet.deployments.diagnosis.prefect import PrefectStarts, prefect, wanted_of
from callsheet.deployments.diagnosis.service import service, webhooks
from callsheet.deployments.diagnosis.video_store import store
from callsheet.deployments.prefect_address import prefect_address
from callsheet.deployments.servers import prefect_of
from callsheet.tasks.settings import Settings, load_settings


async def diagnose(profile: str | None, folder: Path) -> list[PlaceFinding]:
    """Return what is found, part by part; a part that cannot be looked at is told as such.

    Asks the service with free reads, and tries whether the store can be written and read. Nothing
    that was not there before is left behind.
    """
    found = each_of("versions", versions)
    try:
        settings = load_settings(profile=profile, folder=folder)
    except TROUBLE as error:
        found.append(wrong_by("settings", error))
        return found + await asyncio.to_thread(each_of, "prefect", _prefect_alone)
    found += each_of("settings", lambda: remarks(settings))
    found += each_of("nights", lambda: nights(settings, folder))
    found += each_of("files", lambda: files(settings))
    found += each_of("disk", lambda: room(settings))
    found += await asyncio.to_thread(each_of, "ledger", lambda: ledger(settings.ledger))
    found += await all_of("ledger", lost(settings))
    found += await all_of("service", service(settings))
    found += await all_of("webhooks", webhooks(settings))
    found += await all_of("store", store(settings))
    return found + await asyncio.to_thread(each_of, "prefect", lambda: _prefect(settings, folder))


def _prefect_alone() -> Iterator[PlaceFinding]:
    yield from prefect(prefect_address(), PrefectStarts())


def _prefect(settings: Settings, folder: Path) -> Iterator[PlaceFinding]:
    yield from prefect(prefect_of(settings.home), wanted_of(settings, folder))
