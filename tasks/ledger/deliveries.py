"""Deliveries: the verified files of a take, the findings about its video, and its pictures.

All of it is in columns of the take. What is JSON among them is read and written anew under the lock
of the take's row.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    bindparam,
    func,
    literal_column,
    select,
    update,
)

from callsheet.tasks.ledger.dialect import Joined, Member
from callsheet.tasks.ledger.moves import move, note, note_campaign
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import COPIED, campaigns, rows, takes
from callsheet.tasks.ledger.statements import Prepared, gathers, later
from callsheet.tasks.ledger.values import THIS_TAKE, CampaignRow, State, Take
from callsheet.tasks.values.briefs import AiMark

PictureKind = Literal["poster", "strip"]

_FOUND = Prepared(
    THIS_TAKE.values(
        checks=bindparam("the_checks"),
        flagged=bindparam("the_flagged"),
        pictures=bindparam("the_pictures"),
        ai_mark=bindparam("the_mark"),
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
    """What is known of a video that was looked at: by check "ok" or what is wrong; its pictures;
    whether its file has a C2PA manifest (None: no one looked)."""

    checks: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[PictureKind, StoredPicture] = field(default_factory=dict)
    ai_mark: AiMark | None = None

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
        "the_mark": findings.ai_mark,
    }
    later(connection, _FOUND, [values])


@lru_cache(maxsize=256)
def checks_in(text: str | None) -> Mapping[str, str]:
    """Return what was found when a video was looked at, as it is kept: most videos say the same."""
    found: dict[str, str] = json.loads(text) if text else {}
    return MappingProxyType(found)


def pictures_in(text: str | None) -> Mapping[PictureKind, StoredPicture]:
    """Return the pictures of a video as the ledger keeps them."""
    kept: dict[PictureKind, Any] = json.loads(text) if text else {}
    return {kind: StoredPicture(**one) for kind, one in kept.items()}


# Deliveries: the verified files of a take. Each of a kind is recorded once, by whichever process.


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """One file in the store, verified there; `seconds` is a video's length."""

    kind: str
    uri: str
    sha256: str
    bytes: int
    seconds: float | None = None


#: Whether a take has a video in the store.
HAS_VIDEO = Member(takes.c.files, literal_column("'mp4'")).is_not(None)
#: The files of a take by kind (mp4, srt, vtt), in the order in which they were delivered.
Files = Mapping[str, Delivered]

_DELIVERED = Prepared(THIS_TAKE.values(delivered_at=bindparam("moment")))
_THERE = func.coalesce(takes.c.files, "{}")
# Behind what is there, which stays: another process may have delivered a part of it.
_KEEP = Prepared(
    THIS_TAKE.values(files=Joined(Joined(_THERE, bindparam("the_files", type_=Text)), _THERE))
)


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

    With them is kept what was found when the video was looked at. A video that is among them is the
    row's from now on.
    """
    has_video = any(file.kind == "mp4" for file in files)
    if not move(connection, row, new, at=at, reason=reason, take=take, has_video=has_video):
        return False
    keep_files(connection, take.id, files)
    if new == "delivered":
        later(connection, _DELIVERED, [{"the_take": take.id, "moment": at}])
    if findings is not None:
        keep_findings(connection, take.id, findings)
    return True


def add_delivery(
    connection: Connection, row: CampaignRow, take: Take, *, file: Delivered, at: float
) -> bool:
    """Record a verified file that a delivered take did not have; return False if it has it."""
    connection.execute(select(rows.c.id).where(rows.c.id == row.id).with_for_update()).all()
    there = connection.scalar(select(takes.c.files).where(takes.c.id == take.id))
    if file.kind in files_in(there):
        return False
    keep_files(connection, take.id, [file])
    if file.kind == "mp4":
        present = (rows.c.id == row.id, rows.c.take_id == take.id)
        connection.execute(update(rows).where(*present).values(video_take_id=take.id))
    note(connection, row, "repair", f"{file.kind} delivered afterwards", at=at, take=take)
    return True


def keep_files(connection: Connection, take_id: int, files: Iterable[Delivered]) -> None:
    """Record those files of a take that are of a kind it does not have yet; its row is locked."""
    if text := files_as_text({file.kind: file for file in files}):
        later(connection, _KEEP, [{"the_take": take_id, "the_files": text}])


def drop_files(
    connection: Connection, row_id: int, take_ids: Collection[int], kinds: Collection[str]
) -> None:
    """Record that the store has files of some takes of a row no more.

    Without its video the row has that of the newest take which still has one.
    """
    connection.execute(select(rows.c.id).where(rows.c.id == row_id).with_for_update()).all()
    mine = select(takes.c.id, takes.c.files).where(takes.c.row_id == row_id)
    left: list[int] = []
    for take_id, text in connection.execute(mine.order_by(takes.c.number)).all():
        files = files_in(text)
        if take_id in take_ids:
            files = {kind: file for kind, file in files.items() if kind not in kinds}
            this = update(takes).where(takes.c.id == take_id)
            connection.execute(this.values(files=files_as_text(files)))
        if "mp4" in files:
            left.append(take_id)
    lost = (rows.c.id == row_id, rows.c.video_take_id.not_in(left))
    newest = left[-1] if left else None
    connection.execute(update(rows).where(*lost).values(video_take_id=newest))


def files_in(text: str | None) -> Files:
    """Return the files of a take as the ledger keeps them."""
    kept: dict[str, Any] = json.loads(text) if text else {}
    return {kind: Delivered(kind=kind, **one) for kind, one in kept.items()}


def files_as_text(files: Files) -> str | None:
    """Return files as the ledger keeps them."""
    kept = {kind: asdict(file) for kind, file in files.items()}
    for one in kept.values():
        del one["kind"]
    return json.dumps(kept, ensure_ascii=False) if kept else None


def is_of_earlier(connection: Connection, *, take: Take, row_id: int, sha256: str) -> bool:
    """Whether a file of this digest (hex) was delivered for an earlier take of a row."""
    earlier = (takes.c.row_id == row_id, takes.c.number < take.number)
    found = connection.scalars(select(takes.c.files).where(*earlier))
    return any(file.sha256 == sha256 for text in found for file in files_in(text).values())


# The video of one take with its captions, its pictures, and what checks found wrong.


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


def copies_in(text: str | None) -> list[FileCopy]:
    """Return the copies of a take as the ledger keeps them."""
    return [FileCopy(**one) for one in json.loads(text)] if text else []


@dataclass(frozen=True, kw_only=True, slots=True)
class TakeVideo:
    """What there is of the video of a take, by its numbers in the ledger and in its row.

    Without files it was never delivered, or these were deleted. `flagged` is how many checks found
    something wrong, `copied` are copies at other places, also those on hold.
    """

    id: int
    number: int
    delivered_at: float | None
    files: Files
    checks: Mapping[str, str]
    flagged: int
    pictures: Mapping[PictureKind, StoredPicture]
    ai_mark: AiMark | None
    copied: Sequence[FileCopy]

    @property
    def findings(self) -> VideoFindings:
        """What was found when it was looked at."""
        return VideoFindings(checks=self.checks, pictures=self.pictures, ai_mark=self.ai_mark)


VIDEOS = Records(
    TakeVideo,
    takes,
    reads={
        "files": files_in, "checks": checks_in, "pictures": pictures_in, "copied": copies_in,
    },
    flagged=func.coalesce(takes.c.flagged, 0),
)  # fmt: skip


def videos_of(connection: Connection, *which: ColumnElement[bool]) -> dict[int, TakeVideo]:
    """Return what there is of the videos of takes, by the numbers of these in the ledger."""
    return {one.id: one for one in VIDEOS.all(connection, VIDEOS.query.where(*which))}


def find_take_video(
    connection: Connection, *, campaign: str, row: str, take: int
) -> TakeVideo | None:
    """Return what is in the store of a take, by its number in its row; None where nothing is."""
    query = (
        VIDEOS.query.join(rows, rows.c.id == takes.c.row_id)
        .join(campaigns, campaigns.c.id == rows.c.campaign_id)
        .where(campaigns.c.name == campaign, rows.c.row == row, takes.c.number == take)
    )
    found = VIDEOS.first(connection, query)
    return found if found is not None and found.files else None


def verdicts_of(connection: Connection, campaign_id: int) -> dict[str, str]:
    """Return the verdict on each row's video, by row id.

    `keep` or `reject` from a review, else `flagged` or `passed` from the checks, else `unchecked`.
    Rows without a video are left out.
    """
    query = (
        select(rows.c.row, takes.c.review, takes.c.flagged)
        .join(takes, takes.c.id == rows.c.video_take_id)
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


def wanted_copies(connection: Connection, campaign_id: int) -> list[WantedCopy]:
    """Return the copies that the rows of a campaign want of their videos and captions."""
    query = (
        select(rows.c.row, takes.c.number, takes.c.id, takes.c.files, rows.c.copies)
        .join(takes, takes.c.id == rows.c.video_take_id)
        .where(rows.c.campaign_id == campaign_id, rows.c.copies.is_not(None))
        .order_by(rows.c.position)
    )
    return [
        WantedCopy(row=row, take=take, take_id=take_id, file=file, place=place, name=name)
        for row, take, take_id, files, copies in connection.execute(query)
        for file in files_in(files).values()
        for place, name in json.loads(copies)
    ]


def copies_of(connection: Connection, campaign_id: int) -> Mapping[int, list[FileCopy]]:
    """Return the copies of a campaign's files, also those on hold, by take."""
    query = select(takes.c.id, takes.c.copied).where(takes.c.campaign_id == campaign_id, COPIED)
    return {take_id: copies_in(text) for take_id, text in connection.execute(query)}


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
