"""`manifest.json` in the store.

Its form, and what it says of takes that this ledger does not have.

Written by every run and read after a lost ledger, possibly one of an earlier release or one that
someone edited: a member that is odd counts as missing and costs nothing of the others, members
that are not known are left alone, and what is no manifest at all is None.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    StrictStr,
    ValidationError,
    WrapValidator,
)
from pydantic.types import StrictFloat, StrictInt
from sqlalchemy import Connection

from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.audit_log import restored_since
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, has_event
from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.earlier_takes import EarlierTake, PastTake, keep_earlier
from callsheet.tasks.ledger.reviews import BY, NOTE, REASON, VERDICTS, Review
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.values import CampaignRow, rows_of, takes_of
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import SpendRefused, StoreError
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.edits import edit_of
from callsheet.tasks.values.names import object_name

FORMAT = 1
NAME = "manifest.json"

T = TypeVar("T")
#: Credits: whole ones as integers.
Amount = StrictInt | StrictFloat


def _or_missing(value: Any, read: Any) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


#: A member that is None where what stands there is not what it should be.
Lenient = Annotated[T | None, WrapValidator(_or_missing)]


def _as_text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")


class ManifestFile(BaseModel):
    """A delivered file: what it is, where it lies, and the digest and bytes it had there."""

    kind: StrictStr
    uri: StrictStr
    sha256: StrictStr
    bytes: StrictInt


class ManifestEarlier(BaseModel):
    """A take of another ledger: its brief, which attempt (0: not known), when it was sent.

    `line` is what that ledger's manifest said of its row, as JSON.
    """

    digest: StrictStr
    nth: StrictInt
    sent_at: Amount
    video_id: StrictStr | None = None
    line: StrictStr | None = None


class ManifestRow(BaseModel):
    """A row as `rows --json` has it, and what its key is made of.

    `sent_at` is when its request was, or may have been, sent (Unix seconds); with `to_be_sent` it
    was about to be. Where that is another attempt than the row's last one, `next_digest` and
    `next_nth` say which.
    """

    model_config = ConfigDict(extra="allow")

    row: StrictStr
    state: Lenient[StrictStr] = None
    reason: Lenient[StrictStr] = None
    take: Lenient[StrictInt] = None
    key: Lenient[StrictStr] = None
    video_id: Lenient[StrictStr] = None
    quoted: Lenient[Amount] = None
    reserved: Lenient[Amount] = None
    charged: Lenient[Amount] = None
    paid_before: Lenient[Amount] = None
    variance: Lenient[Amount] = None
    video_take: Lenient[StrictInt] = None
    deliveries: Lenient[list[ManifestFile]] = None
    review: Lenient[StrictStr] = None
    review_reason: Lenient[StrictStr] = None
    review_note: Lenient[StrictStr] = None
    reviewed_by: Lenient[StrictStr] = None
    checks: Lenient[dict[str, StrictStr]] = None
    operation: Lenient[StrictStr] = None
    digest: Lenient[StrictStr] = None
    nth: Lenient[StrictInt] = None
    #: The id that its key is made of, where the row was renamed.
    first_id: Lenient[StrictStr] = None
    #: When its video was deleted at the service, and by whom.
    deleted_at: Lenient[Amount] = None
    deleted_by: Lenient[StrictStr] = None
    take_quoted: Lenient[Amount] = None
    sent_at: Lenient[Amount] = None
    to_be_sent: Lenient[bool] = None
    next_digest: Lenient[StrictStr] = None
    next_nth: Lenient[StrictInt] = None
    #: Takes of another ledger that this one did not have.
    earlier: Lenient[list[ManifestEarlier]] = None


class ManifestSheet(BaseModel):
    """The sheet that a campaign was last run from."""

    address: Lenient[StrictStr] = None
    sha256: Lenient[StrictStr] = None


class ManifestEvent(BaseModel):
    """The last line of the campaign's history that a manifest knows of: number, Unix seconds."""

    id: StrictInt
    at: Amount


class ManifestCredits(BaseModel):
    """The campaign's figures, over all its runs, its budget, and what is left of that."""

    quoted: Lenient[Amount] = None
    reserved: Lenient[Amount] = None
    charged: Lenient[Amount] = None
    paid_before: Lenient[Amount] = None
    variance: Lenient[Amount] = None
    budget: Lenient[Amount] = None
    left: Lenient[Amount] = None


class Manifest(BaseModel):
    """All rows of a campaign, as one run left them at `made_at`."""

    model_config = ConfigDict(extra="allow")

    format: Lenient[StrictInt] = None
    campaign: StrictStr
    #: Whether its videos were made by a sandbox of our own.
    sandbox: Lenient[bool] = None
    sheet: Lenient[ManifestSheet] = None
    made_at: Annotated[Lenient[datetime], PlainSerializer(_as_text)] = None
    #: A ledger that has it is the one that wrote the manifest, and no older copy of that.
    last_event: Lenient[ManifestEvent] = None
    credits: Lenient[ManifestCredits] = None
    counts: Lenient[dict[str, StrictInt]] = None
    rows: Sequence[Lenient[ManifestRow]]

    @property
    def by_row(self) -> dict[str, ManifestRow]:
        """The rows that can be read, by their id."""
        return {line.row: line for line in self.rows if line is not None}

    def as_bytes(self) -> bytes:
        """Return the file."""
        return self.model_dump_json(indent=2).encode() + b"\n"


def read_manifest(content: bytes) -> Manifest | None:
    """Return the manifest in a file, or None where there is none in it."""
    try:
        return Manifest.model_validate_json(content)
    except ValidationError:
        return None


# What a manifest in the store says of takes that this ledger does not have.
#
# Owns how a manifest that another ledger wrote is read and remembered before a new one replaces it,
# and how a line of it becomes a take again. Decides nothing and pays for nothing.


async def keep_manifest(at: Context, campaign: Campaign) -> Manifest | str | None:
    """Remember the takes of a manifest that another ledger wrote, before a new one replaces it.

    Returns that manifest, or what could not be read, if so. Raises SpendRefused for videos that a
    sandbox made.
    """

    name = f"{campaign.name}/{NAME}"
    known = await at.ledger.read(find_campaign, name=campaign.name)
    reported = Reported.read(known.reported if known else None)
    try:
        there = await at.store.head(name)
        ours = reported.files[0] if reported is not None else None
        if there is None or there.sha256 == ours:
            # None, or the one that this very ledger wrote at the end of its last run.
            return None
        content = await at.store.read(name)
    except StoreError as error:
        return f"the campaign's manifest in {at.store.address} could not be read ({error})"
    found = read_manifest(content) if content is not None else None
    if found is None or found.campaign != campaign.name:
        return None
    if found.sandbox and not campaign.sandbox:
        raise SpendRefused(
            f"{at.store.address}/{campaign.name} has videos that were made with --sandbox, and "
            "this ledger knows nothing of them; nothing was spent",
            remedy=f"move that folder away, or {again_with('--campaign', 'NAME')}",
        )
    made_at = found.made_at.timestamp() if found.made_at else None
    if await at.ledger.read(_is_own, campaign=campaign, found=found, made_at=made_at):
        return None
    lines = _earlier_takes(found, at.clock() if made_at is None else made_at)
    first = [(line.row, line.first_id) for line in found.by_row.values() if line.first_id]
    await at.ledger.write(
        keep_earlier, campaign_id=campaign.id, found=lines, first=first, at=at.clock()
    )
    return found


def _is_own(
    connection: Connection, campaign: Campaign, found: Manifest, made_at: float | None
) -> bool:
    """Whether this ledger wrote a manifest, and has everything that happened since.

    An older copy of it lacks the last event; one that was restored from a backup may have that,
    and not know what was sent a moment later.
    """
    last = found.last_event
    if last is None or made_at is None or restored_since(connection, made_at):
        return False
    return has_event(connection, campaign.id, id=last.id, at=float(last.at))


def _earlier_takes(found: Manifest, made_at: float) -> Iterator[EarlierTake]:
    """Yield the takes that a manifest tells of, sent or about to be."""
    for line in found.by_row.values():
        for one in line.earlier or ():
            yield EarlierTake(
                row=line.row,
                digest=one.digest,
                nth=one.nth,
                sent_at=float(one.sent_at),
                video_id=one.video_id,
                line=_checked(one.line),
            )
        if line.digest is None:
            continue
        about_to_be = made_at if line.to_be_sent else None
        if line.next_digest is not None:
            yield EarlierTake(
                row=line.row,
                digest=line.next_digest,
                nth=line.next_nth or 0,
                sent_at=about_to_be,
                # Whether it is an edit, which no key finds again.
                line=ManifestRow(row=line.row, operation=line.operation).model_dump_json(),
            )
            about_to_be = None
        sent = about_to_be if line.sent_at is None else float(line.sent_at)
        if sent is not None or line.video_id is not None:
            yield EarlierTake(
                row=line.row,
                digest=line.digest,
                nth=line.nth or 0,
                sent_at=sent,
                video_id=line.video_id,
                line=line.model_dump_json(),
            )
        elif line.charged:
            # What it cost counts, though nothing more is known of what was made, or when.
            told = line.model_dump_json()
            yield EarlierTake(row=line.row, digest="", sent_at=made_at, line=told)


def _checked(line: str | None) -> str | None:
    """Return a line that a manifest repeats of an earlier one, if it can be read."""
    try:
        return ManifestRow.model_validate_json(line or "").model_dump_json()
    except ValidationError:
        return None


async def past_takes(
    at: Context, campaign: Campaign, named: Sequence[str], known: Mapping[str, EarlierTake]
) -> list[tuple[CampaignRow, PastTake | None]]:
    """Return rows with the take that their line of a manifest tells of, if it has a video."""
    rows = await at.ledger.read(rows_of, campaign_id=campaign.id, named=named)
    numbers = [row.id for row in rows if row.take is not None]
    charged: dict[int, Decimal] = defaultdict(Decimal)
    for number, take in await at.ledger.read(takes_of, campaign_id=campaign.id, numbers=numbers):
        # A cost that was only told of is the cost of what is restored now.
        charged[number] += (take.charged or 0) if take.nth else 0

    async def judge(row: CampaignRow) -> tuple[CampaignRow, PastTake | None]:
        return row, await _past_take(at, row, known[row.row], charged[row.id])

    return await map_at_once(judge, rows, at_once=at.settings.polls_at_once)


async def _past_take(
    at: Context, row: CampaignRow, one: EarlierTake, charged: Decimal
) -> PastTake | None:
    """Return the take that a line of a manifest tells of; None when no video of it is known.

    `charged` is what the takes of the row cost that this ledger has.
    """

    if one.line is None:
        return None
    line = ManifestRow.model_validate_json(one.line)
    nth, number, video_id = line.nth, line.take, line.video_id
    if video_id is None or nth is None or number is None:
        return None
    if line.state in ("failed", "cancelled", "rejected"):
        return None
    edited = edit_of(line.operation or "") is not None
    if edited and line.state != "delivered":
        # How its video was before is lost: nothing tells the edited video from that one.
        return None
    # Here the row may be planned as an edit of the video that it had before.
    row = row if edited else row.for_new_video()
    key = row.key(nth)
    keyed = (row.operation == CREATE and not edited) or line.key == key
    noted = one.sent_at if one.sent_at is not None else one.noted_at
    cost = parse_credits(line.charged)
    files = await files_of_line(at, row, line, number)
    if line.deleted_at is not None and not files:
        return None
    return PastTake(
        number=number,
        nth=nth,
        key=key,
        body=row.body(key if keyed else None),
        quoted=parse_credits(line.quoted if line.take_quoted is None else line.take_quoted),
        # With what takes cost of which nothing else is known: budgets count it all.
        charged=cost if cost is None else max(cost - charged, Decimal(0)),
        video_id=video_id,
        sent_at=noted,
        deleted_at=line.deleted_at,
        deleted_by=line.deleted_by,
        source="the store's manifest",
        is_whole=True,
        files=files,
        review=review_of_line(line, noted),
        checks=line.checks if line.video_take == number else None,
    )


def review_of_line(line: ManifestRow, at: float) -> Review | None:
    """Return the verdict on the video of the take that a line tells of."""
    verdict = next((one for one in VERDICTS if one == line.review), None)
    if verdict is None or line.video_take != line.take:
        return None
    reason, note = (line.review_reason or "")[:REASON], (line.review_note or "")[:NOTE]
    by = (line.reviewed_by or "somebody")[:BY]
    # When exactly, the manifest does not tell.
    return Review(verdict=verdict, reason=reason or None, note=note or None, by=by, at=at)


async def files_of_line(
    at: Context, row: CampaignRow, line: ManifestRow, number: int
) -> list[Delivered]:
    """Return the files of a delivered line, if all of them are in the store and intact."""
    # A row that left the sheet was delivered before.
    if line.state not in ("delivered", "retired") or line.video_take != number:
        return []
    if not line.deliveries:
        return []
    found = await asyncio.gather(*(_file(at, row, file, number) for file in line.deliveries))
    return [file for file in found if file is not None] if all(found) else []


async def _file(at: Context, row: CampaignRow, file: ManifestFile, number: int) -> Delivered | None:
    # Its files keep the names that they were given; where the store moved, the row says them.
    name = name_below(at.store.address, file.uri) or object_name(
        row.name, campaign=row.campaign, row=row.row, take=number, kind=file.kind
    )
    try:
        there = await at.store.head(name)
    except StoreError:
        return None
    if there is None or (there.sha256, there.bytes) != (file.sha256, file.bytes):
        return None
    return Delivered(kind=file.kind, uri=there.uri, sha256=there.sha256, bytes=there.bytes)
