"""Videos that may be deleted at the service, and what was deleted there and in the store.

Owns `takes.deleted_at`. A take stays with its charges and its history, whatever was deleted of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, false, or_, select, update
from sqlalchemy import Row as Record

from callsheet.tasks.ledger.deliveries import Delivered, drop_files, videos_of
from callsheet.tasks.ledger.dialect import Within
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import note
from callsheet.tasks.ledger.schema import campaigns, rows, takes
from callsheet.tasks.ledger.service_state import calls_about
from callsheet.tasks.ledger.values import TAKES, CampaignRow, Take, rows_by_number
from callsheet.tasks.runtime.suggest import suggest

#: What the events of it are called.
KIND = "prune"
#: Who deletes what was delivered longer ago than the service is to keep it.
RETENTION = "retention"


@dataclass(frozen=True, kw_only=True, slots=True)
class OldVideo:
    """A take whose video is not needed at the service any more; `files` are those in the store.

    The last take of the video: one that was edited has several, and `files` are those of all, as
    are the addresses of `pictures`.
    `because` says why it may be deleted, `kept` why it stays at the service. What was done: whether
    it was `deleted` there, the addresses of files that are `gone` from the store, and of
    `kept_files` why they stay.
    """

    row: CampaignRow
    take: Take
    files: Sequence[Delivered] = ()
    pictures: Sequence[str] = ()
    takes: Sequence[int] = ()
    because: str = ""
    kept: str | None = None
    deleted: bool = False
    gone: Sequence[str] = ()
    kept_files: Sequence[str] = ()

    @property
    def left(self) -> bool:
        """Whether its row has left the sheet."""
        return self.row.state == "retired"


def old_videos(
    connection: Connection, campaign_id: int, *, before: float | None, retired: bool = True
) -> list[OldVideo]:
    """Return the videos of rows that left the sheet, and those delivered up to `before`.

    In the order of the sheet; `before` in Unix seconds, None for no such videos. Without `retired`
    the rows that left the sheet are like all others. Videos that were deleted before are returned
    as long as the store has their files and their rows have left.
    """
    gone = rows.c.state == "retired" if retired else false()
    there = takes.c.deleted_at.is_(None)
    wanted = and_(gone, or_(there, takes.c.files.is_not(None)))
    if before is not None:
        wanted = or_(wanted, and_(there, takes.c.delivered_at <= before))
    query = (
        TAKES.query.add_columns(takes.c.row_id)
        .join(rows, rows.c.id == takes.c.row_id)
        .where(takes.c.campaign_id == campaign_id, takes.c.video_id.is_not(None), wanted)
        .where(~_edited_since().exists())
        .order_by(rows.c.position, takes.c.row_id, takes.c.number)
    )
    found = connection.execute(query).all()
    of_row: dict[int, CampaignRow] = {}
    for page in pages_of(dict.fromkeys(one.row_id for one in found)):
        of_row |= {row.id: row for row in rows_by_number(connection, page)}
    return [_old_video(connection, one, of_row[one.row_id]) for one in found]


def _old_video(connection: Connection, found: Record[Any], row: CampaignRow) -> OldVideo:
    take = TAKES.read(found)
    mine = videos_of(connection, *_of_video(row.id, str(take.video_id)))
    return OldVideo(
        row=row,
        take=take,
        files=[file for one in mine.values() for file in one.files.values()],
        pictures=[at.uri for one in mine.values() for at in one.pictures.values()],
        takes=list(mine),
        kept=why_needed(connection, take, row.id),
    )


def _edited_since() -> Select[Any]:
    """Select later takes of the same video: while there is one, a take says nothing of it."""
    later = takes.alias("later")
    same = and_(later.c.row_id == takes.c.row_id, later.c.video_id == takes.c.video_id)
    return select(later.c.id).where(same, later.c.number > takes.c.number)


def _of_video(row_id: int, video_id: str) -> tuple[ColumnElement[bool], ...]:
    """Say which are the takes of a video: the one that made it, and its edits."""
    return takes.c.row_id == row_id, takes.c.video_id == video_id


def why_needed(connection: Connection, take: Take, row_id: int) -> str | None:
    """Say what needs the video of a take: another row, or a paid call that has changed it since."""
    video_id = str(take.video_id)
    query = (
        select(rows.c.row, campaigns.c.name)
        .select_from(takes)
        .join(rows, rows.c.id == takes.c.row_id)
        .join(campaigns, campaigns.c.id == rows.c.campaign_id)
        .where(takes.c.video_id == video_id, takes.c.row_id != row_id, takes.c.deleted_at.is_(None))
        .limit(1)
    )
    found = connection.execute(query).first()
    if found is not None:
        return f"it is also the video of row {found.row} of {found.name}"
    for call in calls_about(connection, video_ids=[video_id]):
        if call.target != video_id:
            continue
        if call.is_unsettled:
            return f"a paid call that changes it is not settled: {call}"
        by_hand = call.take_id is None and call.outcome != "refused"
        if by_hand and call.opened_at > (take.delivered_at or 0):
            words = f"a paid {call.operation} call has changed it since it was delivered, and the"
            delete = suggest("video delete", video_id)
            return f"{words} store has no such file: `{delete}` deletes it"
    return None


def intend_deletion(
    connection: Connection, old: OldVideo, *, words: str, undelivered: bool = False, at: float
) -> bool:
    """Record that a video is about to be deleted at the service; return False if it must not be.

    Its row, its delivery and what else needs the video are looked at once more.
    """
    take_id = old.take.id
    edited = _edited_since().exists().label("edited")
    this = select(takes.c.deleted_at, takes.c.delivered_at, rows.c.state, edited)
    query = this.join(rows, rows.c.id == takes.c.row_id).where(takes.c.id == take_id)
    now = connection.execute(query.with_for_update()).one()
    if now.deleted_at is not None or now.state != old.row.state or now.edited:
        return False
    if now.delivered_at is None and not undelivered:
        return False
    if why_needed(connection, old.take, old.row.id) is not None:
        return False
    note(connection, old.row, KIND, words, at=at, take=old.take)
    return True


def record_deletion(
    connection: Connection, old: OldVideo, *, by: str, words: str, at: float
) -> None:
    """Record that the service has a video no more; one that was never delivered is given up."""
    same = _of_video(old.row.id, str(old.take.video_id))
    this = and_(*same, takes.c.deleted_at.is_(None))
    connection.execute(update(takes).where(this).values(deleted_at=at, deleted_by=by[:200]))
    if old.take.delivered_at is None:
        _give_up(connection, old, [old.take.id], at=at)
    note(connection, old.row, KIND, words, at=at, take=old.take)


def mark_deleted(connection: Connection, take: Take, *, at: float, by: str | None) -> None:
    """Record that the service deleted the video of a take, as another ledger knew."""
    known = {"deleted_at": at, "deleted_by": (by or RETENTION)[:200]}
    connection.execute(update(takes).where(takes.c.id == take.id).values(**known))


def record_deleted_files(
    connection: Connection, old: OldVideo, *, kinds: Sequence[str], words: str, at: float
) -> None:
    """Record that the store has files of a take no more; `words`, for its history, name them.

    Without its video the take is given up: should the row come back to the sheet, it is made again.
    """
    drop_files(connection, old.row.id, old.takes, kinds)
    if "mp4" in kinds:
        mine = _of_video(old.row.id, str(old.take.video_id))
        connection.execute(update(takes).where(*mine).values(pictures=None))
        _give_up(connection, old, old.takes, at=at)
    note(connection, old.row, KIND, words, at=at, take=old.take)


def deletion_of(connection: Connection, video_id: str) -> str | None:
    """Return when a video was deleted at the service, and by whom, in words."""
    these = (takes.c.video_id == video_id, takes.c.deleted_at.is_not(None))
    found = TAKES.first(connection, TAKES.query.where(*these).limit(1))
    return found.deletion if found else None


def rows_deleted_since(connection: Connection, campaign_id: int, since: float) -> list[str]:
    """Return the rows whose videos were deleted at the service by retention, in sheet order."""
    query = (
        select(rows.c.row)
        .join(takes, takes.c.row_id == rows.c.id)
        .where(takes.c.campaign_id == campaign_id, takes.c.deleted_at >= since)
        .where(takes.c.deleted_by == RETENTION)
        .order_by(rows.c.position + 0, rows.c.id)
    )
    return list(dict.fromkeys(connection.scalars(query)))


def is_shared_file(connection: Connection, uri: str, old: OldVideo) -> bool:
    """Return whether a delivery of another video is the same file."""
    # As it stands in JSON, with its quotes: a part of another address is none.
    named = Within(takes.c.files, json.dumps(uri, ensure_ascii=False))
    query = select(takes.c.id).where(named, takes.c.id.not_in(old.takes))
    return connection.execute(query.limit(1)).first() is not None


def _give_up(connection: Connection, old: OldVideo, without: Sequence[int], *, at: float) -> None:
    """Have no run take up takes again; the next attempt at their brief has another key."""
    take, row = old.take, old.row
    these = and_(takes.c.id.in_(without), takes.c.abandoned_at.is_(None))
    connection.execute(update(takes).where(these).values(abandoned_at=at))
    same = and_(rows.c.digest == take.digest, rows.c.nth == take.nth)
    renewed = {"nth": take.nth + 1, "quoted": None, "quoted_at": None}
    connection.execute(update(rows).where(rows.c.id == row.id, same).values(**renewed))
