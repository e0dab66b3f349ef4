"""Reviews.

One verdict of the team for each take and one of the client, and delivery of videos that a person
of the team keeps despite a failed check. The client's moves no row.

Each function is one change for `Ledger.write`, with its event in the same transaction. The first
verdict of a side stands: of two people who decide at once the second is told who was first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import ColumnElement, Connection, and_, func, insert, select, update

from callsheet.tasks.ledger.deliveries import HAS_VIDEO, files_in
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move, storable
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import CLIENT_REVIEWED, REVIEWED, events, rows, takes
from callsheet.tasks.ledger.values import CampaignRow, rows_by_number
from callsheet.tasks.runtime.errors import BadInput, CallsheetError
from callsheet.tasks.runtime.redact import control_fault

Verdict = Literal["keep", "reject"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: Whose verdict it is: they stand beside each other.
Side = Literal["team", "client"]
#: What is often wrong, for people to choose from; any other few words are taken too.
REASONS: Mapping[str, str] = {
    "wording": "what is said or written",
    "picture": "what is to be seen, or how",
    "voice": "who says it, or how",
    "captions": "what is written below it",
    "length": "too long or too short",
    "brand": "logo, product, colours",
    "other": "something else",
}
#: Characters of a reason and of a note at most.
REASON, NOTE = 40, 2000
#: Verdicts from which on the part that is kept says something of the next videos.
TELLING = 10
#: Characters of who said it at most.
BY = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """What someone said of the video of a take; `at` in Unix seconds."""

    verdict: Verdict
    reason: str | None
    note: str | None
    by: str
    at: float

    @property
    def words(self) -> str:
        """Who decided what, and why, in one line."""
        done = "kept" if self.verdict == "keep" else "rejected"
        return f"{done} by {self.by}" + (f": {self.because}" if self.because else "")

    @property
    def because(self) -> str:
        """Reason and note in one line, as far as there are any."""
        return ": ".join(filter(None, (self.reason, self.note)))


class ReviewStands(CallsheetError):
    """Someone else has decided on this video already; it stays so unless that is named."""

    exit_status = 4
    spent = Decimal(0)

    def __init__(self, row: str, take: int, standing: Review | None) -> None:
        self.take, self.standing = take, standing
        if standing is None:
            words = f"take {take} of {row} is not reviewed any more"
        else:
            words = f"take {take} of {row} was {standing.words}"
        remedy = "name the verdict that stands in `instead_of` to replace it"
        super().__init__(f"{words}; nothing was changed", remedy=remedy)


def review(
    connection: Connection,
    take_id: int,
    verdict: Verdict | None,
    *,
    reason: str | None = None,
    note: str | None = None,
    by: str,
    at: float,
    instead_of: Verdict | None = None,
    side: Side = "team",
) -> Review | None:
    """Decide on the video of a take, by its number in the ledger; return the verdict that stands.

    `instead_of` names the standing verdict, which this one replaces; with it, None as the verdict
    takes that back. The same verdict again stays that of who was first: a reason or note that it
    lacked is added, one that it has is changed only by that person or where the verdict is named,
    and None leaves what there is.

    Raises ReviewStands where another verdict stands, BadInput where there is no video or no sense.
    """
    video = _video(connection, take_id)
    # Anyone else who decides on it, or has its row taken again, waits for this, or this for them.
    _hold(connection, [video])
    before = review_of(connection, take_id, side)
    now = None if verdict is None else _said(verdict, reason, note, by=by, at=at)
    if before is None and now is None:
        return None
    standing = before.verdict if before else None
    if before is not None and standing == verdict and instead_of in (None, verdict):
        now = _amended(before, reason, note, may=instead_of is not None or by == before.by)
    elif standing != instead_of:
        raise ReviewStands(video.row, video.take, before)
    if now != before:
        _keep(connection, [video], now, old=standing, by=by, at=at, side=side)
    return now


def _amended(before: Review, reason: str | None, note: str | None, *, may: bool) -> Review:
    """Return a verdict with other words next to it: those that are given, where that may be."""
    given = {"reason": reason, "note": note}
    words = {name: text for name, text in given.items() if text is not None}
    words = {name: text for name, text in words.items() if may or not getattr(before, name)}
    now = {"reason": before.reason, "note": before.note, **words}
    return _said(before.verdict, now["reason"], now["note"], by=before.by, at=before.at)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What became of many: how many were decided on now, how many stood so already, and how many
    stand otherwise, which they still do."""

    made: int
    same: int
    stood: int


def review_all(
    connection: Connection,
    take_ids: Sequence[int],
    verdict: Verdict,
    *,
    reason: str | None = None,
    note: str | None = None,
    by: str,
    at: float,
    side: Side = "team",
) -> Reviewed:
    """Decide on the videos of many takes; what someone has decided on already stays as it is."""
    said = _said(verdict, reason, note, by=by, at=at)
    made = same = stood = 0
    for page in pages_of(take_ids):
        videos = _videos(connection, page)
        _hold(connection, videos)
        before = _verdicts(connection, page, side)
        new = [video for video in videos if video.id not in before]
        _keep(connection, new, said, old=None, by=by, at=at, side=side)
        agreed = sum(before.get(video.id) == verdict for video in videos)
        made += len(new)
        same += agreed
        stood += len(videos) - len(new) - agreed
    return Reviewed(made, same, stood)


def restore_reviews(
    connection: Connection,
    row: CampaignRow,
    take_id: int,
    said: Mapping[Side, Review],
    *,
    at: float,
) -> None:
    """Put back what an earlier, lost ledger knew to have been said of a take, by either side."""
    keys = {"take_id": take_id, "campaign_id": row.campaign_id, "row_id": row.id, "at": at}
    for side, review in said.items():
        of = _OF[side]
        these = update(takes).where(takes.c.id == take_id)
        connection.execute(these.values(of.records.line(review)))
        words = storable(f"{review.words} (known from the store's manifest)")
        event = {**keys, "kind": of.event, "new": review.verdict, "words": words}
        connection.execute(insert(events).values(**event))


def review_of(connection: Connection, take_id: int, side: Side = "team") -> Review | None:
    """Return what was said of a take."""
    of = _OF[side]
    query = of.records.query.where(takes.c.id == take_id, of.is_there)
    return of.records.first(connection, query)


def kept_rows(connection: Connection, campaign_id: int) -> frozenset[int]:
    """Return the rows, by their numbers in the ledger, whose present take someone keeps."""
    present = and_(rows.c.id == takes.c.row_id, rows.c.take_id == takes.c.id)
    query = select(takes.c.row_id).join(rows, present)
    mine = (takes.c.campaign_id == campaign_id, REVIEWED, takes.c.review == "keep")
    return frozenset(connection.scalars(query.where(*mine)))


def keep_rate(connection: Connection, campaign_id: int) -> Decimal | None:
    """Return the part of a campaign's takes that the team kept, of those that it decided on.

    None before ten verdicts, of which nothing can be said, and where none is kept.
    """
    mine = (takes.c.campaign_id == campaign_id, REVIEWED)
    query = select(takes.c.review, func.count()).where(*mine).group_by(takes.c.review)
    said: dict[str, int] = dict(connection.execute(query).tuples().all())
    kept, decided = said.get("keep", 0), sum(said.values())
    return (
        (Decimal(kept) / decided).quantize(Decimal("0.01")) if kept and decided >= TELLING else None
    )


def last_reviews(
    connection: Connection, campaign_id: int, side: Side = "team"
) -> Mapping[int, Review]:
    """Return what was said last of each row's takes, by the number of the row."""
    of = _OF[side]
    query = of.records.query.add_columns(takes.c.row_id)
    query = query.where(takes.c.campaign_id == campaign_id, of.is_there).order_by(takes.c.id)
    return {line.row_id: of.records.read(line) for line in connection.execute(query)}


REVIEWS = Records(
    Review,
    takes,
    verdict=takes.c.review,
    reason=takes.c.review_reason,
    note=takes.c.review_note,
    by=takes.c.reviewed_by,
    at=takes.c.reviewed_at,
)
CLIENT_REVIEWS = Records(
    Review,
    takes,
    verdict=takes.c.client_review,
    reason=takes.c.client_reason,
    note=takes.c.client_note,
    by=takes.c.client_by,
    at=takes.c.client_at,
)


class _Reviews(NamedTuple):
    """Where the verdicts of a side are: `is_there` is what their index is about."""

    records: Records[Review]
    is_there: ColumnElement[bool]
    event: str

    @property
    def verdict(self) -> ColumnElement[Any]:
        return self.records.columns[0]

    def values(self, said: Review | None) -> Mapping[str, Any]:
        """Return what a take says of it, nothing for None."""
        if said is None:
            return dict.fromkeys(column.name for column in self.records.columns)
        return self.records.line(said)


_OF: Mapping[Side, _Reviews] = {
    "team": _Reviews(REVIEWS, REVIEWED, "review"),
    "client": _Reviews(CLIENT_REVIEWS, CLIENT_REVIEWED, "client"),
}


@dataclass(frozen=True, slots=True)
class _VideoFile:
    """A take that has a video: its numbers in the ledger, the id of its row, its own number."""

    id: int
    campaign_id: int
    row_id: int
    row: str
    take: int

    def keys(self) -> dict[str, int]:
        return {"take_id": self.id, "campaign_id": self.campaign_id, "row_id": self.row_id}


_VIDEOS = Records(
    _VideoFile,
    takes,
    joined=takes.join(rows, rows.c.id == takes.c.row_id),
    row=rows.c.row,
    take=takes.c.number,
)


def _video(connection: Connection, take_id: int) -> _VideoFile:
    if videos := _videos(connection, [take_id]):
        return videos[0]
    known = _VIDEOS.first(connection, _VIDEOS.query.where(takes.c.id == take_id))
    if known is None:
        raise BadInput("there is no such take")
    raise BadInput(
        f"take {known.take} of {known.row} has no video yet",
        remedy="a video is decided on once it is delivered",
    )


def _videos(connection: Connection, take_ids: Sequence[int]) -> list[_VideoFile]:
    return _VIDEOS.all(connection, _VIDEOS.query.where(takes.c.id.in_(take_ids), HAS_VIDEO))


def _hold(connection: Connection, videos: Sequence[_VideoFile]) -> None:
    """Have no one else change the rows of videos until this transaction ends."""
    mine = rows.c.id.in_([video.row_id for video in videos])
    query = select(rows.c.id).where(mine).order_by(rows.c.id)
    connection.execute(query.with_for_update(key_share=True)).all()


def _verdicts(connection: Connection, take_ids: Sequence[int], side: Side) -> dict[int, str | None]:
    of = _OF[side]
    query = select(takes.c.id, of.verdict).where(takes.c.id.in_(take_ids), of.is_there)
    return dict(connection.execute(query).tuples().all())


def _keep(
    connection: Connection,
    videos: Sequence[_VideoFile],
    said: Review | None,
    *,
    old: Verdict | None,
    by: str,
    at: float,
    side: Side,
) -> None:
    """Write a verdict on videos that all had the same before, and an event for each: who and why.

    What a check held back is delivered once someone of the team keeps it.
    """
    if not videos:
        return
    ids, of = [video.id for video in videos], _OF[side]
    connection.execute(update(takes).where(takes.c.id.in_(ids)).values(of.values(said)))
    because = f": {said.because}" if said is not None and said.because else ""
    new = said.verdict if said else None
    common = {"at": at, "kind": of.event, "old": old, "new": new}
    words = storable(f"by {by}{because}")
    connection.execute(insert(events), [{**v.keys(), **common, "words": words} for v in videos])
    if side == "team" and said is not None and said.verdict == "keep":
        deliver_kept(connection, ids, at=at)


def _said(verdict: Verdict, reason: str | None, note: str | None, *, by: str, at: float) -> Review:
    """Return a review as every database takes it; raise BadInput for words that are too many."""
    if verdict not in VERDICTS:
        raise BadInput(f'"{verdict}" is no verdict', remedy="keep or reject")
    reason, note = ((storable((words or "").strip()) or None) for words in (reason, note))
    for name, words, most in (("reason", reason, REASON), ("note", note, NOTE)):
        if words is not None and len(words) > most:
            raise BadInput(f"the {name} is {len(words)} characters long, at most {most} are kept")
        if words is not None and (fault := control_fault(words)):
            raise BadInput(
                f"the {name} {fault}, so it was not saved",
                remedy="remove that character, or type the text again",
            )
    return Review(verdict=verdict, reason=reason, note=note, by=by, at=at)


# Videos that a check held back, and that someone keeps as they are: then they are delivered.


def deliver_kept(connection: Connection, take_ids: Sequence[int], *, at: float) -> None:
    """Move rows `held -> delivered` whose present take is one of these, is whole in the store, and
    was held for nothing but what a check found."""
    for page in pages_of(take_ids):
        query = (
            select(rows.c.id, takes.c.files)
            .join(takes, takes.c.id == rows.c.take_id)
            .where(takes.c.id.in_(page), rows.c.state == "held", takes.c.flagged > 0)
        )
        held = {one.id: files_in(one.files) for one in connection.execute(query)}
        for row in rows_by_number(connection, sorted(held)):
            if row.take is None or not {"mp4", *row.captions} <= held[row.id].keys():
                continue
            words = "a person keeps it"
            if move(connection, row, "delivered", at=at, words=words, take=row.take):
                this = update(takes).where(takes.c.id == row.take.id)
                connection.execute(this.values(delivered_at=at))
