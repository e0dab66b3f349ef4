"""Plans repairs of what differs between the ledger, the service and the store, and does them.

A repair costs nothing; a video that is lost at both places takes a retake, which is named with its
price and made by no one but a person. A file is downloaded from the service and stored under its
old name only if it is the delivered one, with the same sha256; otherwise nothing is replaced and a
person decides. A damaged file is first renamed, never overwritten or deleted, because it may be
wanted. Every change of the ledger is guarded: a row that has changed since it was read is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.aftercare.findings import Finding, Repair, Repairs
from callsheet.tasks.aftercare.reconcile import reconcile
from callsheet.tasks.aftercare.verify import verify
from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.outputs import copy_file
from callsheet.tasks.campaign.quotes import ask_prices
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.run_record import recorded
from callsheet.tasks.engine.context import Context, connect, open_service
from callsheet.tasks.engine.deliver import fetch_file, file_name, judged, store_files
from callsheet.tasks.engine.free_calls import before_spending
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns, find_campaign
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.ledger.decisions import adopt_video
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    PictureKind,
    StoredPicture,
    VideoFindings,
    add_delivery,
    find_take_video,
    keep_findings,
)
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.moves import move, note
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import numbers_shown
from callsheet.tasks.ledger.service_state import resolve_call
from callsheet.tasks.ledger.takes import correct_charge
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import (
    BadRequest,
    CallsheetError,
    Conflict,
    NotFound,
    ServiceError,
    StoreError,
    StoreUnusable,
    VideoError,
)
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.service import VideoService
from callsheet.tasks.store import open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.store.inspection import ENDINGS, Inspection, keep_pictures
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.briefs import Brief

#: Digits of the sha256 in the new name of a damaged file.
MARK = 12
NO_FILE = "the service no longer has this file of the video"
#: What each repair needs: a file of a take, or only the ledger. Pictures come after their videos.
OF_FILES: tuple[Repair, ...] = ("refetch", "copy")
OF_LEDGER: tuple[Repair, ...] = ("fetch", "book", "adopt", "settle")


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
    """Return what differs at the `service`, in the store (`files`), or at both; read only.

    All campaigns (None) can only be compared with the service. Raises ServiceError; for both,
    Parked or ConfigurationError instead, and SpendRefused for a campaign of another service.
    """
    if service is not None and not files:
        return await reconcile(ledger, service, settings, campaign=campaign, briefs=briefs)
    assert campaign is not None
    which = RowFilter.parse(select)
    check = partial(verify, ledger, settings, campaign, which=which)
    if service is None:
        return await check(quick=quick)
    check_same_money(campaign, sandbox=settings.sandbox)
    stored = await check(reports=True)
    try:
        compared = await reconcile(ledger, service, settings, campaign=campaign)
        shown = await ledger.read(numbers_shown, campaign_id=campaign.id, which=which)
        chosen = frozenset(shown)
        found = [one for one in compared.findings if one.row and one.row.id in chosen]
        lost = _lost([*found, *stored.findings])
        prices = await ask_prices(service, lost, at_once=settings.polls_at_once, clock=clock)
    except ServiceError as error:
        raise before_spending(error, clock()) from error
    found += stored.findings
    retakes = {row.row: prices[row.row].amount for row in lost}
    return replace(stored, findings=found, retakes=retakes, whole=True)


def _lost(found: Sequence[Finding]) -> list[CampaignRow]:
    """Return the rows whose newest video neither the service nor the store has."""
    gone = {one.attempt[1].id for one in found if one.verdict == "gone"}
    lost: dict[str, CampaignRow] = {}
    for one in found:
        # A copy at another place says nothing of the delivery.
        if one.kind == "mp4" and one.file is not None and one.repair == "refetch":
            row, take = one.attempt
            if take.id in gone and row.take is not None and row.take.id == take.id:
                lost[row.row] = row
    return list(lost.values())


async def refresh_for_plan(
    campaign: str, options: RunOptions, settings: Settings, *, clock: UnixClock = time.time
) -> Repairs | None:
    """Compare a campaign as the options of its plan ask for it, and repair it; else None.

    Raises what `plan_repairs` raises, and LedgerError for a ledger that cannot be read.
    """
    file = ledger_file(ledger_url(settings.ledger))
    if not (options.refresh or options.repair) or (file is not None and not file.exists()):
        return None
    async with (
        await open_ledger(settings.ledger, create=False) as ledger,
        await open_service(settings, ledger, clock) as service,
    ):
        known = await ledger.read(find_campaign, name=campaign)
        if known is None:
            return None
        plan = partial(plan_repairs, ledger, settings, known, service=service, files=True)
        found = await plan(select=options.select, clock=clock)
    if not options.repair or not found.findings:
        return found
    async with connect(settings) as at:
        return await repair(found, at)


async def repair(found: Repairs, at: Context) -> Repairs:
    """Carry out what is free to repair: files, several at a time, then the ledger and its report.

    Says of each finding what was done, or why it was left. Raises what `correct_ledger` raises.
    """
    async with recorded("repair", at.settings) as record:
        record.begin(at.ledger, at.settings, found.campaign.name if found.campaign else "")
        return await _repaired_all(found, at)


async def _repaired_all(found: Repairs, at: Context) -> Repairs:
    async with Places() as places:

        async def fixed(one: Finding) -> Finding:
            return await _fix(one, at, places) if one.repair in OF_FILES else one

        async def pictured(one: Finding) -> Finding:
            return await _make_pictures(one, at, places) if one.repair == "picture" else one

        for step in (fixed, pictured):
            findings = await map_at_once(step, found.findings, at_once=at.settings.at_once)
            found = replace(found, findings=findings)
    found = await correct_ledger(at.ledger, found, sandbox=at.settings.sandbox, clock=at.clock)
    if not found.whole:
        return found
    assert found.campaign is not None
    await write_report(at, found.campaign)
    wrote = [
        replace(one, done="written again") if one.verdict == "report" else one
        for one in found.findings
    ]
    return replace(found, findings=wrote)


async def correct_ledger(
    ledger: Ledger, found: Repairs, *, sandbox: bool, clock: UnixClock
) -> Repairs:
    """Make the changes of the ledger alone; say of each whether it was made.

    Before any change, raise Parked if a run is active on one of the campaigns, and SpendRefused if
    the service is a `sandbox` and the videos are real, or the reverse: a video that another service
    does not know is not gone.
    """
    concerned = {one.owner[0] for one in found.findings if one.repair in OF_LEDGER}
    findings: list[Finding] = []
    async with AsyncExitStack() as held:
        for campaign in await ledger.read(all_campaigns):
            if campaign.name in concerned:
                check_same_money(campaign, sandbox=sandbox)
                await held.enter_async_context(leased(ledger, campaign, clock=clock))
        for one in found.findings:
            mine = one.repair in OF_LEDGER
            made = mine and await ledger.write(_change, one=one, at=clock())
            findings.append(replace(one, done="the ledger was corrected") if made else one)
    return replace(found, findings=findings)


def _change(connection: Connection, one: Finding, at: float) -> bool:
    video_id = str(one.video_id)
    if one.repair == "settle":
        assert one.call_id is not None
        return resolve_call(connection, call_id=one.call_id, video_id=video_id, at=at)
    row, take = one.attempt
    if one.repair == "book":
        assert one.charged is not None
        return correct_charge(connection, row, take, charged=one.charged, at=at)
    if one.repair == "adopt":
        words = f"reconciled: it made {video_id}"
        return adopt_video(connection, row, take, video_id=video_id, at=at, words=words)
    words = f"reconciled: the service has {video_id}"
    return move(connection, row, "rendering", at=at, words=words, take=take)


async def _fix(one: Finding, at: Context, places: Places) -> Finding:
    bring_back = _copy_again if one.repair == "copy" else _bring_back
    try:
        return replace(one, done=await bring_back(one, at, places))
    except NotFound:
        words = one.attempt[1].deletion or "the service no longer has this video"
        return replace(one, left=f"{words}: it cannot be fetched again")
    except (Conflict, BadRequest):
        return replace(one, left=NO_FILE)
    except CallsheetError as error:
        # The service or the store may be in trouble: try again later.
        passing = isinstance(error, ServiceError | StoreError | StoreUnusable)
        permanent = isinstance(error, StoreError) and error.permanent
        verdict = one.verdict if permanent or not passing else "unknown"
        return replace(one, verdict=verdict, left=str(error))


async def _copy_again(one: Finding, at: Context, places: Places) -> str:
    """Make a copy at another place once more; raise StoreError if there is another file."""
    assert one.copy_of is not None
    assert one.file is not None
    place, _, name = one.file.uri.rpartition("/")
    store = open_store(place)
    try:
        await copy_file(one.copy_of, name, store, places, at.settings.spool)
    finally:
        await store.aclose()
    return "copied again"


async def _bring_back(one: Finding, at: Context, places: Places) -> str:
    """Download a file, verify that it is the delivered one, store it; return what was done."""
    row, take = one.attempt
    if take.video_id is None:
        raise VideoError("the ledger does not know which video it is of")
    name, of_take = await _name(one, at), replace(row, take=take)
    async with AsyncExitStack() as spooled:
        found = await fetch_file(of_take, one.kind, at, spooled)
        if found is None:
            raise VideoError(NO_FILE)
        sha256 = found.file.sha256
        if one.file is not None and sha256 != one.file.sha256:
            raise VideoError(
                f"the service now has another file (sha256 {sha256[:MARK]}..., delivered was "
                f"{one.file.sha256[:MARK]}...): look at both, then decide; nothing was put in place"
            )
        words = "fetched again"
        if one.file is not None and one.verdict in ("changed", "unplayable"):
            words += f"; the damaged file is now {await _set_aside(one, one.file, places)}"
        found = replace(found, file=replace(found.file, name=name))
        (stored,) = await store_files(of_take, [found], at)
    if one.file is None:
        # Captions that were asked for later are a delivery; its history says so.
        await at.ledger.write(add_delivery, row=row, take=take, file=stored, at=at.clock())
        return words
    said = f"{one.kind} {one.verdict}: {words}"
    await at.ledger.write(note, row=row, kind="repair", words=said, at=at.clock(), take=take)
    return words


async def _name(one: Finding, at: Context) -> str:
    """Return the name of a file in this store; raise StoreError if it is in another."""
    row, take = one.attempt
    if one.file is None:
        return await file_name(row, take.number, one.kind, at)
    name = name_below(at.store.address, one.file.uri)
    if name is None:
        message = f"it was delivered to another store than {at.store.address}"
        raise StoreError(f"{message}: set CALLSHEET_STORE to that one", permanent=True)
    return name


async def _set_aside(one: Finding, file: Delivered, places: Places) -> str:
    inventory = places.of(file.uri)
    # A quick check has no digest; the name must distinguish contents.
    mark = (one.found or f"{await inventory.size(file.uri)}-bytes")[:MARK]
    return await inventory.set_aside(file.uri, f"damaged-{mark}")


async def _make_pictures(one: Finding, at: Context, places: Places) -> Finding:
    """Make the pictures of a video from the store, and fill in what the ledger lacks about it."""
    assert one.file is not None
    row, take = one.attempt
    name = name_below(at.store.address, one.file.uri)
    named = {"campaign": row.campaign, "row": row.row}
    known = await at.ledger.read(find_take_video, take=take.number, **named)
    if name is None or known is None:
        # It was delivered to another store, which is not written to.
        return one
    before = known.findings
    try:
        async with places.of(one.file.uri).opened(one.file.uri, at.settings.spool) as path:
            if path is None:
                return one
            seen = await at.inspector.inspect(path, at.settings.pictures)
        kept = await _kept(before, name, seen, at)
    except (VideoError, StoreError):
        return one
    checks = {**before.checks, **judged(seen, take, at)}
    pictures = {**before.pictures, **kept}
    findings = VideoFindings(checks=checks, pictures=pictures, ai_mark=seen.ai_mark)
    await at.ledger.write(keep_findings, take_id=take.id, findings=findings)
    return replace(one, done="made" if kept else None)


async def _kept(
    before: VideoFindings, name: str, seen: Inspection, at: Context
) -> dict[PictureKind, StoredPicture]:
    """Store pictures next to a video; a damaged picture is replaced."""
    made: dict[PictureKind, Jpeg | None] = {"poster": seen.poster, "strip": seen.strip}
    for kind, jpeg in made.items():
        if jpeg is None or (old := before.pictures.get(kind)) is None:
            continue
        known = name_below(at.store.address, old.uri)
        if known == f"{name.removesuffix('.mp4')}{ENDINGS[kind]}":
            await at.store.replace(known, jpeg.data, content_type="image/jpeg")
    kept = await keep_pictures(at.store, name, seen)
    return {kind: StoredPicture(**asdict(picture)) for kind, picture in kept.items()}
