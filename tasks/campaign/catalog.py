"""What the service offers, asked for when it is due, kept in the ledger, and compared with a sheet.

A service that does not tell it never keeps a row from being made: what it told before holds, and
what no one knows is not compared.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Collection
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from callsheet.tasks.campaign.comparison import Compared, compare, names_offers
from callsheet.tasks.runtime.errors import (
    LedgerError,
    NotSent,
    ServerTrouble,
    ServiceError,
    ShapeError,
)
from callsheet.tasks.runtime.redact import redacted
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.sheet.table import Findings
from callsheet.tasks.values.briefs import Json
from callsheet.tasks.values.catalog import PARTS, Catalogue

if TYPE_CHECKING:
    # `check` compares offline, and pays for neither where nothing is known.
    from callsheet.tasks.ledger.ledger import Ledger
    from callsheet.tasks.runtime.known_settings import Settings
    from callsheet.tasks.runtime.process import UnixClock
    from callsheet.tasks.service import VideoService

T = TypeVar("T")
#: What the service told, and why it did not tell its tools.
Answer = tuple[Catalogue | None, ServiceError | None]
#: How long what the service told is taken for the present state, in seconds.
DAY = 86_400.0
#: How long asking for it may take, in seconds: no one waits for a list.
LONGEST = 15.0
NOTHING_KNOWN = (
    "names tools, and the list of the service's tools is not here yet: `callsheet tools` gets it"
)


async def compared(
    sheet: Sheet,
    rows: Collection[str],
    settings: Settings,
    *,
    ledger: Ledger | None,
    service: VideoService,
    clock: UnixClock,
) -> Sheet:
    """Return the sheet with what is found in `rows` that the service does not offer.

    The service is asked what it offers where that is not known or a day old, and before something
    is said to be unknown. Raises SheetError for a tool or a field that it does not list.
    """
    if not _named(sheet, rows):
        return sheet
    comparison, known, trouble = await compared_by(
        partial(compare, sheet, rows),
        lambda comparison: comparison.unknown,
        tell=partial(ask_again, service, settings, ledger, clock=clock),
        known=await known_catalogue(ledger, settings.base_url),
        now=clock(),
    )
    return _told(sheet, comparison, settings, _trouble(known, trouble))


async def compared_by(
    compare: Callable[[Catalogue | None], T],
    lacks: Callable[[T], bool],
    *,
    tell: Callable[[Catalogue | None], Awaitable[Answer]],
    known: Catalogue | None,
    now: float,
) -> tuple[T, Catalogue | None, ServiceError | None]:
    """Compare with what the service offers: with what it told again, before something is lacking.

    `lacks` says so of a comparison; `tell` asks the service, unless what is `known` is young and
    has all. Returns the comparison, what it was made with, and why the service did not tell.
    """
    young = known is not None and is_young(known, now)
    trouble = None
    if not young:
        known, trouble = await tell(known)
    found = compare(known)
    if young and lacks(found):
        known, trouble = await tell(known)
        found = compare(known)
    return found, known, trouble


async def compared_offline(sheet: Sheet, settings: Settings) -> Sheet:
    """Return the sheet with what is found in it that the service did not offer when it last told.

    Asks the ledger alone; rows that are paid for already are left out. Raises SheetError for a tool
    or a field that was not listed.
    """
    rows = {brief.row for brief in sheet.briefs if brief.enabled}
    if not _named(sheet, rows):
        return sheet
    known, words = _in_file(settings), NOTHING_KNOWN
    comparison = compare(sheet, rows, known)
    if known is None or comparison.found:
        known, comparison, words = await _in_ledger(sheet, rows, settings)
    if known is not None and known.tools is not None:
        words = f"is compared with the service's list of tools of {day_told(known)}"
    return _told(sheet, comparison, settings, words)


async def known_catalogue(ledger: Ledger | None, base_url: str | None) -> Catalogue | None:
    """Return what the service, or without an address any service, told last."""
    if ledger is None:
        return None
    from callsheet.tasks.ledger.service_state import catalogue_of

    return await ledger.read(catalogue_of, base_url=base_url)


async def ask_again(
    service: VideoService,
    settings: Settings,
    ledger: Ledger | None,
    known: Catalogue | None,
    *,
    clock: UnixClock,
    longest: float = LONGEST,
) -> tuple[Catalogue | None, ServiceError | None]:
    """Ask for the catalogue and keep it; return it, and why its tools were not told.

    A part that is not told stays as it was `known`; no one waits for longer than `longest` seconds.
    """
    told, error = await _ask(service, longest)
    base_url, _ = settings.service()
    found = Catalogue(base_url=base_url, told_at=clock(), body=told)
    if error is None and found.tools is None:
        del told["tools"]
        error = ShapeError("the list of tools is empty or cannot be read", operation="tools")
    if not told:
        return known, error
    if known is not None:
        still = found.told_at if error is None else known.told_at
        found = replace(found, told_at=still, body={**known.body, **told})
    if ledger is not None:
        from callsheet.tasks.ledger.service_state import keep_catalogue

        await ledger.write(keep_catalogue, told=found)
    return found, error


def is_young(catalogue: Catalogue, now: float) -> bool:
    """Whether it is taken for the present state, `now` being Unix seconds."""
    return now - catalogue.told_at <= DAY


def day_told(catalogue: Catalogue) -> str:
    """Return the day on which it was told, in words."""
    day = datetime.fromtimestamp(catalogue.told_at, UTC)
    return f"{day:%B} {day.day}, {day.year}"


async def _ask(
    service: VideoService, longest: float
) -> tuple[dict[str, list[Json]], ServiceError | None]:
    """Ask for the tools, then for the other parts at once, if the service can be reached at all.

    Returns what was told, and why the tools were not.
    """
    told: dict[str, list[Json]] = {}
    errors: dict[str, ServiceError] = {}

    async def ask(part: str) -> None:
        try:
            # Addresses of pictures may be signed, and the ledger keeps no secret.
            told[part] = redacted(await getattr(service, part)())
        except ServiceError as error:
            errors[part] = error

    try:
        async with asyncio.timeout(longest):
            await ask("tools")
            if not isinstance(errors.get("tools"), NotSent):
                await asyncio.gather(*(ask(part) for part in PARTS if part != "tools"))
    except TimeoutError:
        words = f"the service did not list its tools within {longest:g} s"
        errors.setdefault("tools", ServerTrouble(words, operation="tools"))
    return told, None if "tools" in told else errors["tools"]


def _named(sheet: Sheet, rows: Collection[str]) -> bool:
    return bool(rows) and any(brief.row in rows and names_offers(brief) for brief in sheet.briefs)


def _in_file(settings: Settings) -> Catalogue | None:
    """Return what a ledger that is a SQLite file knows, or None: then the ledger is to be asked.

    To import all of the ledger takes a third of the time of a sheet of 10,000 rows: only a sheet
    that something is found in pays for that.
    """
    if not settings.ledger.startswith("sqlite:///"):
        return None
    path = Path(settings.ledger.removeprefix("sqlite:///"))
    query = "SELECT base_url, told_at, body FROM catalogues WHERE ? IN (base_url, '') "
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            order = "ORDER BY told_at DESC LIMIT 1"
            found = file.execute(query + order, (settings.base_url or "",)).fetchone()
    except sqlite3.Error:
        return None
    if found is None:
        return None
    base_url, told_at, body = found
    return Catalogue(base_url=base_url, told_at=told_at, body=json.loads(body))


async def _in_ledger(
    sheet: Sheet, rows: Collection[str], settings: Settings
) -> tuple[Catalogue | None, Compared, str]:
    """Return what the ledger knows, the rows that a run would pay for compared with it, and else
    why nothing is known."""
    usual = settings.home / "ledger.db"
    if settings.ledger == f"sqlite:///{usual}" and not usual.exists():
        return None, Compared(), NOTHING_KNOWN
    from callsheet.tasks.ledger.ledger import open_ledger

    try:
        async with await open_ledger(settings.ledger, create=False) as ledger:
            known = await known_catalogue(ledger, settings.base_url)
            comparison = compare(sheet, rows, known)
            if comparison.found:
                comparison = compare(sheet, await _unpaid(ledger, sheet), known)
    except LedgerError as error:
        words = f"names tools that could not be compared with the service's: {error}"
        return None, Compared(), words
    return known, comparison, NOTHING_KNOWN


async def _unpaid(ledger: Ledger, sheet: Sheet) -> set[str]:
    """Return the rows that a run would pay for."""
    from callsheet.tasks.campaign.match import name_campaign
    from callsheet.tasks.campaign.options import RunOptions
    from callsheet.tasks.campaign.plan import plan_sheet

    options = RunOptions(sheet=sheet.address)
    plan = await plan_sheet(ledger, await name_campaign(ledger, sheet, options), options)
    return {line.row for line in plan.spending}


def _trouble(known: Catalogue | None, error: ServiceError | None) -> str | None:
    """Return what is to be said of a service that did not tell its tools when it was asked."""
    if error is None:
        return None
    trouble = str(error).rstrip(".")
    if known is None or known.tools is None:
        return f"names tools that could not be compared with the service's: {trouble}"
    day = day_told(known)
    return (
        f"is compared with the service's list of tools of {day}; the service did not answer now: "
        f"{trouble}"
    )


def _told(sheet: Sheet, comparison: Compared, settings: Settings, words: str | None) -> Sheet:
    findings = Findings(sheet.name)
    if words:
        findings.note(words)
    comparison.tell(findings, refuse=settings.unlisted == "refuse")
    findings.raise_if_any()
    return replace(
        sheet,
        advice=tuple(dict.fromkeys((*sheet.advice, *findings.advice))),
        notes=tuple(dict.fromkeys((*sheet.notes, *findings.notes))),
    )
