"""Plans repairs: what differs between the ledger, the service and the store.

Reads only, until a plan asks for `--repair`. A repair costs nothing; a video that is lost at both
places takes a retake, which is named with its price and made by no one but a person.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.findings import Finding, Repairs
from callsheet.tasks.aftercare.reconcile import reconcile
from callsheet.tasks.aftercare.repair import repair
from callsheet.tasks.aftercare.verify import REPORTS, verify
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import ask_prices
from callsheet.tasks.campaign.selection import parse_selection
from callsheet.tasks.engine.context import connect, open_service
from callsheet.tasks.engine.free_calls import before_spending
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import ServiceError, StoreError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import VideoService
from callsheet.tasks.store import open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.values.briefs import Brief


async def plan_repairs(
    ledger: Ledger,
    settings: Settings,
    campaign: Campaign | None,
    *,
    service: VideoService | None = None,
    files: bool = False,
    select: str | None = None,
    quick: bool = False,
    briefs: Mapping[str, Sequence[Brief]] | None = None,
    clock: UnixClock = time.time,
) -> Repairs:
    """Return what differs at the `service`, in the store (`files`), or at both.

    All campaigns (None) can only be compared with the service. Raises ServiceError.
    """
    if service is not None and not files:
        return await reconcile(ledger, service, settings, campaign=campaign, briefs=briefs)
    assert campaign is not None
    chosen = parse_selection(select)
    async with Places() as places:
        check = partial(verify, ledger, campaign, settings, places, chosen=chosen)
        if service is None:
            return await check(quick=quick, pictures=settings.pictures)
        stored = await check()
        reports = [one async for one in _changed_reports(campaign, places, settings)]
    compared = (await reconcile(ledger, service, settings, campaign=campaign)).findings
    rows = [(one, one.row) for one in compared if one.row is not None]
    mine = [one for one, row in rows if chosen(row, row.asked(), row.state)]
    lost = _lost([*mine, *stored.findings])
    prices = await ask_prices(service, lost, at_once=settings.polls_at_once, clock=clock)
    return replace(
        stored,
        findings=[*mine, *stored.findings, *reports],
        prices={row.row: prices[row.row].amount for row in lost},
        whole=True,
    )


async def refresh(
    name: str,
    settings: Settings,
    *,
    ledger: Ledger,
    service: VideoService,
    select: str | None,
    clock: UnixClock,
) -> Repairs | None:
    """Compare the chosen rows of a campaign with service and store; None for an unknown one.

    Reads only. Raises SpendRefused for a campaign of the other kind of service, Parked or
    ConfigurationError when the service cannot be asked.
    """
    campaign = await ledger.read(find_campaign, name=name)
    if campaign is None:
        return None
    check_same_money(campaign, sandbox=settings.sandbox)
    plan = partial(plan_repairs, ledger, settings, campaign, service=service, files=True)
    try:
        return await plan(select=select, clock=clock)
    except ServiceError as error:
        raise before_spending(error, clock()) from error


async def refresh_for_plan(
    campaign: str, options: RunOptions, settings: Settings, *, clock: UnixClock = time.time
) -> Repairs | None:
    """Refresh a campaign as the options of its plan ask for it, and repair it; else None.

    Raises what `refresh` raises, and LedgerError for a ledger that cannot be read.
    """
    file = ledger_file(ledger_url(settings.ledger))
    if not (options.refresh or options.repair) or (file is not None and not file.exists()):
        return None
    async with (
        await open_ledger(settings.ledger, create=False) as ledger,
        await open_service(settings, ledger, clock) as service,
    ):
        look = partial(refresh, campaign, settings, ledger=ledger, service=service)
        found = await look(select=options.select, clock=clock)
    if found is None or not options.repair or not found.drift:
        return found
    async with connect(settings) as at:
        return await repair(found, at)


def _lost(found: Sequence[Finding]) -> list[CampaignRow]:
    """Return the rows whose newest video neither the service nor the store has."""
    gone = {one.attempt[1].id for one in found if one.verdict == "gone"}
    # A copy at another place says nothing of the delivery.
    bad = [
        one.attempt for one in found if one.kind == "mp4" and one.file and one.repair == "refetch"
    ]
    newest = {row.row: row for row, take in bad if row.take is not None and row.take.id == take.id}
    return [row for row in newest.values() if row.take is not None and row.take.id in gone]


async def _changed_reports(
    campaign: Campaign, places: Places, settings: Settings
) -> AsyncIterator[Finding]:
    """Yield Callsheet's own files of a campaign that are not as they were written."""
    reported = Reported.read(campaign.reported)
    folder = f"{open_store(settings.store).address.rstrip('/')}/{campaign.name}"
    for name, digest in zip(REPORTS, reported.files if reported else (), strict=False):
        try:
            async with places.of(folder).opened(f"{folder}/{name}", settings.spool) as path:
                content = None if path is None else await asyncio.to_thread(path.read_bytes)
        except StoreError:
            # Each file of a row says that the store cannot be read.
            continue
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            words = f"{name} is missing or was changed"
            sheet = campaign.sheet or "SHEET"
            remedy = suggest("plan", sheet, "--repair", *service_of(campaign))
            yield Finding(verdict="report", words=words, remedy=remedy)
