"""Deliveries: the verified files of a take, the findings about its video, and its pictures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    func,
    or_,
    select,
    update,
)

from callsheet.tasks.ledger.database import (
    insert_of_missing,
    insert_unless_there,
)
from callsheet.tasks.ledger.moves import move, note, note_campaign
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import (
    COPIED,
    campaigns,
    deliveries,
    rows,
    takes,
)
from callsheet.tasks.ledger.statements import Prepared, gathers, later
from callsheet.tasks.ledger.values import CampaignRow, State, Take

PictureKind = Literal["poster", "strip"]

_FOUND = Prepared(
    update(takes)
    .where(takes.c.id == bindparam("the_take"))
    .values(
        checks=bindparam("the_checks"),
        flagged=bindparam("the_flagged"),
        pictures=bindparam("the_pictures"),
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPicture:
    """A JPEG in the store; width and height in pixels, `shown` how many different pictures a strip
    is made of."""

    uri: str
    bytes: int
    width: int
    height: int
    shown: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class VideoFindings:
    """What is known of a video that was looked at: by check "ok" or what is wrong; its pictures."""

    checks: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[PictureKind, StoredPicture] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, str]:
        """The checks that found something, and what it is."""
        return {name: words for name, words in self.checks.items() if words != "ok"}


def keep_findings(connection: Connection, take_id: int, findings: VideoFindings) -> None:
    """Keep what was found of a take's video, instead of what was known before."""
    pictures = {kind: asdict(one) for kind, one in findings.pictures.items()}
    values = {
        "the_take": take_id,
        "the_checks": json.dumps(dict(findings.checks)) if findings.checks else None,
        "the_flagged": len(findings.wrong) if findings.checks else None,
        "the_pictures": json.dumps(pictures) if pictures else None,
    }
    later(connection, _FOUND, [values])


def findings_of(connection: Connection, campaign_id: int) -> Mapping[int, VideoFindings]:
    """Return what is known of a campaign's videos, by take."""
    query = select(takes.c.id, takes.c.checks, takes.c.pictures).where(
        takes.c.campaign_id == campaign_id,
        or_(takes.c.checks.is_not(None), takes.c.pictures.is_not(None)),
    )
    return {one.id: findings_in(one.checks, one.pictures) for one in connection.execute(query)}


def findings_in(checks: str | None, pictures: str | None) -> VideoFindings:
    """Return findings as the ledger keeps them."""
    kept: dict[PictureKind, Any] = json.loads(pictures) if pictures else {}
    return VideoFindings(
        checks=json.loads(checks) if checks else {},
        pictures={kind: StoredPicture(**one) for kind, one in kept.items()},
    )


# Deliveries: the verified files of a take. Each of a kind is recorded once, by whichever process.


_DELIVERED = Prepared(
    update(takes)
    .where(takes.c.id == bindparam("the_take"))
    .values(delivered_at=bindparam("moment"))
)
_KEEP = Prepared(
    lambda: insert_of_missing(deliveries).inline(),
    columns=("take_id", "kind", "uri", "sha256", "bytes", "seconds", "verified_at"),
)

_VIDEO = deliveries.c.kind == "mp4"
#: Which take of a row its video is of: the present one, else the newest that has one.
VIDEO_TAKE = func.coalesce(
    select(deliveries.c.take_id)
    .where(deliveries.c.take_id == rows.c.take_id, _VIDEO)
    .correlate(rows)
    .scalar_subquery(),
    select(takes.c.id)
    .join(deliveries, deliveries.c.take_id == takes.c.id)
    .where(takes.c.row_id == rows.c.id, _VIDEO)
    .order_by(takes.c.number.desc())
    .limit(1)
    .correlate(rows)
    .scalar_subquery(),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """One file in the store, verified there; `seconds` is a video's length."""

    kind: str
    uri: str
    sha256: str
    bytes: int
    seconds: float | None = None


@gathers
def deliver(
    connection: Connection,
    row: CampaignRow,
    take: Take,
    *,
    files: Sequence[Delivered],
    at: float,
    new: State = "delivered",
    reason: str | None = None,
    findings: VideoFindings | None = None,
) -> bool:
    """Record verified files and move the row: `ready -> delivered`, or `held` where some lack.

    With them is kept what was found when the video was looked at.
    """
    if not move(connection, row, new, at=at, reason=reason, take=take):
        return False
    keep_files(connection, take.id, files, at=at)
    if findings is not None:
        keep_findings(connection, take.id, findings)
    if new == "delivered":
        later(connection, _DELIVERED, [{"the_take": take.id, "moment": at}])
    return True


def add_delivery(
    connection: Connection, row: CampaignRow, take: Take, *, file: Delivered, at: float
) -> bool:
    """Record a verified file that a delivered take did not have; return False if it has it."""
    if not insert_unless_there(connection, deliveries, _line(take.id, file, at)):
        return False
    note(connection, row, "repair", f"{file.kind} delivered afterwards", at=at, take=take)
    return True


def keep_files(
    connection: Connection, take_id: int, files: Sequence[Delivered], *, at: float
) -> None:
    """Record those files of a take that are of a kind it does not have yet."""
    later(connection, _KEEP, [_line(take_id, file, at) for file in files])


def deliveries_of(connection: Connection, campaign_id: int) -> Mapping[int, list[Delivered]]:
    """Return the verified files of a campaign, by take."""
    mine = (takes.c.id == deliveries.c.take_id, takes.c.campaign_id == campaign_id)
    return files_by_take(connection, *mine)


def files_by_take(
    connection: Connection, *which: ColumnElement[bool]
) -> Mapping[int, list[Delivered]]:
    """Return verified files, by take, each take's in the order in which they were delivered."""
    query = _FILES.query.add_columns(deliveries.c.take_id).where(*which)
    found: dict[int, list[Delivered]] = {}
    for line in connection.execute(query.order_by(deliveries.c.id)):
        found.setdefault(line.take_id, []).append(_FILES.read(line))
    return found


_FILES = Records(Delivered, deliveries)


def _line(take_id: int, file: Delivered, at: float) -> dict[str, object]:
    return _FILES.line(file, take_id=take_id, verified_at=at)


def is_of_another(connection: Connection, *, take: Take, row_id: int, sha256: str) -> bool:
    """Whether a file of this digest (hex) was delivered for another take of a row."""
    query = (
        select(deliveries.c.id)
        .join(takes, takes.c.id == deliveries.c.take_id)
        .where(takes.c.row_id == row_id, takes.c.id != take.id, deliveries.c.sha256 == sha256)
    )
    return connection.execute(query.limit(1)).first() is not None


@lru_cache(maxsize=256)
def checks_in(text: str | None) -> Mapping[str, str]:
    """Return what was found when a video was looked at, as it is kept: most videos say the same."""
    found: dict[str, str] = json.loads(text) if text else {}
    return MappingProxyType(found)


# The video of one take with its captions, its pictures, and what checks found wrong.


@dataclass(frozen=True, kw_only=True, slots=True)
class TakeVideo:
    """The video of one take: its files by kind, and its findings."""

    files: Mapping[str, Delivered]
    findings: VideoFindings = field(default_factory=VideoFindings)


def find_take_video(
    connection: Connection, *, campaign: str, row: str, take: int
) -> TakeVideo | None:
    """Return what is in the store of a take, by its number in its row; None where nothing is."""
    query = (
        select(takes.c.id, takes.c.checks, takes.c.pictures)
        .join(rows, rows.c.id == takes.c.row_id)
        .join(campaigns, campaigns.c.id == rows.c.campaign_id)
        .where(campaigns.c.name == campaign, rows.c.row == row, takes.c.number == take)
    )
    found = connection.execute(query).first()
    files = files_by_take(connection, deliveries.c.take_id == found.id) if found else {}
    if found is None or not files:
        return None
    return TakeVideo(
        files={file.kind: file for file in files[found.id]},
        findings=findings_in(found.checks, found.pictures),
    )


def verdicts_of(connection: Connection, campaign_id: int) -> dict[str, str]:
    """Return the verdict on each row's video, by row id.

    `keep` or `reject` from a review, else `flagged` or `passed` from the checks, else `unchecked`.
    Rows without a video are left out.
    """
    query = (
        select(rows.c.row, takes.c.review, takes.c.flagged)
        .select_from(rows)
        .join(takes, takes.c.id == VIDEO_TAKE)
        .where(rows.c.campaign_id == campaign_id)
    )
    return {
        row: verdict or ("unchecked" if flagged is None else "flagged" if flagged else "passed")
        for row, verdict, flagged in connection.execute(query)
    }


# Copies of delivered files at other places: wanted, proved to be there, or on hold.


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedCopy:
    """A delivered file that is to be at another place, too: a name there, to be completed."""

    row: str
    take: int
    take_id: int
    file: Delivered
    place: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FileCopy:
    """A copy of a delivered file; `fault` says why it is not there (None: it was proved)."""

    take_id: int
    kind: str
    uri: str
    sha256: str
    bytes: int
    fault: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as `rows --json` does."""
        return {"kind": self.kind, "uri": self.uri, "held": self.fault}


def wanted_copies(connection: Connection, campaign_id: int) -> list[WantedCopy]:
    """Return the copies that the rows of a campaign want of their videos and captions."""
    query = (
        _FILES.query.add_columns(rows.c.row, takes.c.number, takes.c.id, rows.c.copies)
        .select_from(rows)
        .join(takes, takes.c.id == VIDEO_TAKE)
        .join(deliveries, deliveries.c.take_id == takes.c.id)
        .where(rows.c.campaign_id == campaign_id, rows.c.copies.is_not(None))
        .order_by(rows.c.position, deliveries.c.id)
    )
    return [
        WantedCopy(
            row=one.row,
            take=one.number,
            take_id=one.id,
            file=_FILES.read(one),
            place=place,
            name=name,
        )
        for one in connection.execute(query)
        for place, name in json.loads(one.copies)
    ]


def copies_of(
    connection: Connection, campaign_id: int, *, numbers: Collection[int] | None = None
) -> Mapping[int, list[FileCopy]]:
    """Return the copies of a campaign's files, also those on hold, by take; with `numbers` those
    of some rows."""
    query = select(takes.c.id, takes.c.copied).where(takes.c.campaign_id == campaign_id, COPIED)
    if numbers is not None:
        query = query.where(takes.c.row_id.in_(list(numbers)))
    return {take_id: copies_in(text) for take_id, text in connection.execute(query)}


def copies_in(text: str | None) -> list[FileCopy]:
    """Return the copies of a take as the ledger keeps them."""
    return [FileCopy(**one) for one in json.loads(text or "[]")]


def note_copies(
    connection: Connection, campaign_id: int, copies: Sequence[FileCopy], *, at: float
) -> None:
    """Record copies that were proved, and those on hold, instead of what was known before.

    Those on hold that are not among them are not wanted any more.
    """
    # What is read is written anew: no one else does so until this transaction ends.
    this = select(campaigns.c.id).where(campaigns.c.id == campaign_id)
    connection.execute(this.with_for_update(key_share=True)).all()
    known = copies_of(connection, campaign_id)
    new: dict[int, list[FileCopy]] = defaultdict(list)
    for copy in copies:
        new[copy.take_id].append(copy)
    for take_id, several in known.items():
        if take_id in new or any(one.fault for one in several):
            new[take_id][:0] = [one for one in several if one.fault is None]
    for take_id, several in new.items():
        # Of one that was proved before, that stands.
        lines = {(one.kind, one.uri): asdict(one) for one in reversed(several)}
        text = json.dumps([*reversed(lines.values())], ensure_ascii=False) if lines else None
        connection.execute(update(takes).where(takes.c.id == take_id).values(copied=text))
    faults = [copy.fault for copy in copies if copy.fault is not None]
    words = f"{len(copies) - len(faults)} made"
    words += f", {len(faults)} on hold: {faults[0]}" if faults else ""
    note_campaign(connection, campaign_id, "copies", words, at=at)
