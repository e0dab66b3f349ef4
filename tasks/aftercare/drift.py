"""What changed outside since delivery: videos at the service, and files in the store.

The checks are those of `reconcile` and `verify`, and so are the repairs. A repair costs nothing; a
video that is lost at both places takes a retake, which is named with its price and made by no one
but a person.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Literal

from callsheet.tasks.aftercare.differences import Comparison, Difference
from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.reconcile import apply_changes, reconcile
from callsheet.tasks.aftercare.repair import repair, repair_pictures
from callsheet.tasks.aftercare.verify import REPORTS, Audit, AuditedFile, Places, verify
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import ask_prices
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.selection import parse_selection
from callsheet.tasks.engine.context import Context, connect, open_service, organisation_of
from callsheet.tasks.engine.free_calls import before_spending
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import ServiceError, StoreError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import VideoService
from callsheet.tasks.store import open_store
from callsheet.tasks.values.amounts import as_number, in_credits

FREE = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One thing that changed outside; `row` is None for the files of a campaign itself.

    `remedy` is what you can type, `cost` what that costs in credits (None: not known), `repaired`
    what a repair did.
    """

    row: str | None
    where: Literal["service", "store"]
    what: str
    remedy: str | None = None
    cost: Decimal | None = FREE
    repaired: str | None = None

    def __str__(self) -> str:
        done = self.repaired or (f"`{self.remedy}`" if self.remedy else "nothing to do")
        price = "" if self.cost == FREE or self.repaired else f" ({in_credits(self.cost)})"
        return f"{self.row or 'campaign'}, {self.where}: {self.what}: {done}{price}"

    def as_json(self) -> dict[str, Any]:
        """Return it as one of the `drift` of `plan --json`."""
        return {
            "row": self.row,
            "where": self.where,
            "what": self.what,
            "remedy": self.remedy,
            "cost": as_number(self.cost),
            "repaired": self.repaired,
        }


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """The results of both checks for the chosen rows of a campaign.

    `reports` are Callsheet's own files there that are missing or changed; `prices` are those of
    retakes of lost rows, by row.
    """

    campaign: Campaign
    audit: Audit
    comparison: Comparison
    reports: Sequence[str]
    prices: Mapping[str, Decimal | None]
    rewritten: bool = False

    @property
    def drift(self) -> list[Drift]:
        """Everything that changed, at the service first."""
        return [*self._at_service(), *self._in_store(), *self._of_campaign()]

    @property
    def needs_action(self) -> bool:
        """Whether something changed that is not repaired and can be."""
        return any(one.remedy and not one.repaired for one in self.drift)

    def _at_service(self) -> Iterator[Drift]:
        for one in self.comparison.differences:
            # What is lost at both places is one line, of the store.
            if not (one.kind == "gone" and one.row in self.prices):
                done = "the ledger was corrected" if one.applied else None
                remedy = None if one.kind == "gone" and _was_delivered(one) else one.remedy
                yield Drift(
                    row=one.row, where="service", what=one.words, remedy=remedy, repaired=done
                )

    def _in_store(self) -> Iterator[Drift]:
        rows: dict[str, list[AuditedFile]] = defaultdict(list)
        for one in self.audit.files:
            if one.verdict != "intact":
                rows[one.row.row].append(one)
        for row, files in rows.items():
            what = "; ".join(_say(one, lost=row in self.prices) for one in files)
            drift = Drift(row=row, where="store", what=what)
            if all(one.repaired for one in files):
                yield replace(drift, repaired="; ".join(dict.fromkeys(map(_repaired, files))))
            elif row in self.prices:
                what += "; the service no longer has the video"
                yield replace(drift, what=what, remedy=self._retake(row), cost=self.prices[row])
            elif any(one.left for one in files):
                yield replace(drift, remedy=suggest("explain", self.campaign.name, row), cost=None)
            else:
                service = service_of(self.campaign)
                remedy = suggest("verify", self.campaign.name, "--repair", *service)
                yield replace(drift, remedy=remedy)

    def _of_campaign(self) -> Iterator[Drift]:
        for name in self.reports:
            done = "written again" if self.rewritten else None
            what = f"{name} is missing or was changed"
            sheet = self.campaign.sheet or "SHEET"
            remedy = suggest("plan", sheet, "--repair", *service_of(self.campaign))
            yield Drift(row=None, where="store", what=what, remedy=remedy, repaired=done)

    def _retake(self, row: str) -> str:
        of, service = (self.campaign.name, row), service_of(self.campaign)
        return suggest("retake", *of, "--because", "the video is lost", "--run", *service)


def _was_delivered(one: Difference) -> bool:
    return "was delivered" in one.words


def _say(one: AuditedFile, *, lost: bool) -> str:
    name = PurePosixPath(one.file.uri).name if one.file else one.kind
    said = f"{name} is {one.verdict}" + (
        f" ({one.words})" if one.words and one.verdict != "missing" else ""
    )
    return f"{said}: {one.left}" if one.left and not lost else said


def _repaired(one: AuditedFile) -> str:
    return one.repaired or ""


async def refresh(
    name: str,
    settings: Settings,
    *,
    ledger: Ledger,
    service: VideoService,
    select: str | None,
    clock: UnixClock,
) -> Refreshed | None:
    """Compare the chosen rows of a campaign with service and store; None for an unknown one.

    Reads only. Raises SpendRefused for a campaign of the other kind of service, Parked or
    ConfigurationError when the service cannot be asked.
    """
    campaign = await ledger.read(find_campaign, name=name)
    if campaign is None:
        return None
    check_same_money(campaign, sandbox=settings.sandbox)
    chosen = parse_selection(select)
    found = await ledger.read(rows_of, campaign_id=campaign.id)
    rows = {row.row: row for row in found if chosen(row, row.asked(), row.state)}
    store = open_store(settings.store).address
    check = partial(verify, chosen=chosen, store=store, spool=settings.spool)
    ask = partial(reconcile, campaign=campaign, failed=settings.failed_words)
    at_once = settings.polls_at_once
    async with Places() as places:
        audit = await check(ledger, campaign, places, at_once=settings.at_once)
        reports = [name async for name in _changed_reports(campaign, places, store, settings)]
    try:
        compared = await ask(ledger, service, organisation_of(settings), at_once=at_once)
        comparison = _about(compared, rows)
        lost = _lost(audit, comparison, rows)
        prices = await ask_prices(service, lost, at_once=at_once, clock=clock)
    except ServiceError as error:
        raise before_spending(error, clock()) from error
    return Refreshed(
        campaign=campaign,
        audit=audit,
        comparison=comparison,
        reports=reports,
        prices={row.row: prices[row.row].amount for row in lost},
    )


async def refresh_for_plan(
    campaign: str, options: RunOptions, settings: Settings, *, clock: UnixClock = time.time
) -> Refreshed | None:
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
        return await repair_drift(found, at)


async def repair_drift(found: Refreshed, at: Context) -> Refreshed:
    """Fix what is free to fix: files in the store, figures and states in the ledger, the report."""
    async with Places() as places:
        audit = await repair_pictures(await repair(found.audit, at, places), at, places)
    comparison = await apply_changes(
        at.ledger, found.comparison, sandbox=at.settings.sandbox, clock=at.clock
    )
    await write_report(at, found.campaign)
    return replace(found, audit=audit, comparison=comparison, rewritten=True)


def _about(comparison: Comparison, rows: Collection[str]) -> Comparison:
    """Return the differences of these rows; videos of no row are for `reconcile`."""
    kept = [one for one in comparison.differences if one.row in rows and one.kind != "unrecorded"]
    return replace(comparison, differences=kept)


def _lost(
    audit: Audit, comparison: Comparison, rows: Mapping[str, CampaignRow]
) -> list[CampaignRow]:
    """Return the rows whose newest video neither the service nor the store has."""
    gone = {(one.row, one.take) for one in comparison.differences if one.kind == "gone"}
    bad = {
        (one.row.row, one.take.number)
        for one in audit.files
        if one.kind == "mp4" and one.verdict in ("missing", "changed", "unplayable")
    }
    newest = ((row, row.take.number) for row in rows.values() if row.take is not None)
    return [row for row, number in newest if (row.row, number) in gone & bad]


async def _changed_reports(
    campaign: Campaign, places: Places, store: str, settings: Settings
) -> Any:
    """Yield Callsheet's own files of a campaign that are not as they were written."""
    reported = Reported.read(campaign.reported)
    if reported is None:
        return
    for name, digest in zip(REPORTS, reported.files, strict=True):
        uri = f"{store.rstrip('/')}/{campaign.name}/{name}"
        try:
            async with places.of(uri).opened(uri, settings.spool) as path:
                content = None if path is None else await asyncio.to_thread(path.read_bytes)
        except StoreError:
            # Each file of a row says that the store cannot be read.
            continue
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            yield name
