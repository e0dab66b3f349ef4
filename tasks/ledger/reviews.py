"""Reviews.

One verdict for each take, and delivery of videos that a person keeps despite a failed check.

Each function is one change for `Ledger.write`, with its event in the same transaction. The first
verdict stands: of two people who decide at once the second is told who was first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Connection, bindparam, delete, exists, insert, select, update

from callsheet.tasks.ledger.database import insert_missing, insert_unless_there
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move, storable
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import deliveries, events, reviews, rows, takes
from callsheet.tasks.ledger.values import CampaignRow, rows_by_number
from callsheet.tasks.runtime.errors import BadInput, CallsheetError
from callsheet.tasks.runtime.redact import control_fault

Verdict = Literal["keep", "reject"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
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

    def __init__(self, row: str, take: int, standing: Review | None) -> None:
        self.standing = standing
        if standing is None:
            words = f"take {take} of {row} is not reviewed any more"
        else:
            words = f"take {take} of {row} was {standing.words}"
        super().__init__(f"{words}; nothing was changed")


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
) -> Review | None:
    """Decide on the video of a take, by its number in the ledger; return the verdict that stands.

    `instead_of` names the standing verdict, which this one replaces; with it, None as the verdict
    takes that back. The same verdict again stays that of who was first: a reason or note that it
    lacked is added, one that it has is changed only by that person or where the verdict is named,
    and None leaves what there is.

    Raises ReviewStands where another verdict stands, BadInput where there is no video or no sense.
    """
    video = _video(connection, take_id)
    said = None if verdict is None else _said(verdict, reason, note, by=by, at=at)
    if said is not None and instead_of is None and _is_first(connection, video, said):
        _tell(connection, [(video, None)], said, by=by, at=at)
        _deliver(connection, [take_id], said, at)
        return said
    # Anyone who has its row taken again waits for this, or this for them.
    connection.execute(_ROW.where(rows.c.id == video.row_id))
    before = review_of(connection, take_id, locked=True)
    if before is None and verdict is None:
        return None
    now = said
    if before is not None and before.verdict == verdict and instead_of in (None, verdict):
        now = _amended(before, reason, note, may=instead_of is not None or by == before.by)
    elif before is None or before.verdict != instead_of:
        raise ReviewStands(video.row, video.take, before)
    if now == before:
        return before
    this = reviews.c.take_id == take_id
    if now is None:
        connection.execute(delete(reviews).where(this))
    else:
        connection.execute(update(reviews).where(this).values(REVIEWS.line(now)))
    _tell(connection, [(video, before.verdict)], now, by=by, at=at)
    _deliver(connection, [take_id], now, at)
    return now


def _deliver(
    connection: Connection, take_ids: Sequence[int], said: Review | None, at: float
) -> None:
    """What a check held back is delivered once someone keeps it."""
    if said is not None and said.verdict == "keep":
        deliver_kept(connection, take_ids, at=at)


def _is_first(connection: Connection, video: _VideoFile, said: Review) -> bool:
    return insert_unless_there(connection, reviews, REVIEWS.line(said, **video.keys()))


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
) -> Reviewed:
    """Decide on the videos of many takes; what someone has decided on already stays as it is."""
    said = _said(verdict, reason, note, by=by, at=at)
    made = same = stood = 0
    for page in pages_of(take_ids):
        videos = list(_videos(connection, page))
        before = _verdicts(connection, page)
        new = [video for video in videos if video.id not in before]
        insert_missing(connection, reviews, [REVIEWS.line(said, **f.keys()) for f in new])
        # Someone who decided in between was first: what stands now is theirs.
        mine = _mine(connection, [video.id for video in new], said)
        _tell(connection, [(f, None) for f in new if f.id in mine], said, by=by, at=at)
        _deliver(connection, sorted(mine), said, at)
        made += len(mine)
        same += sum(standing == verdict for standing in before.values())
        stood += len(videos) - len(mine) - sum(v == verdict for v in before.values())
    return Reviewed(made, same, stood)


def restore_review(
    connection: Connection, row: CampaignRow, take_id: int, said: Review, *, at: float
) -> None:
    """Put back what an earlier, lost ledger knew to have been said of a take."""
    keys = {"take_id": take_id, "campaign_id": row.campaign_id, "row_id": row.id}
    connection.execute(insert(reviews).values(REVIEWS.line(said, **keys)))
    words = f"{said.words} (known from the store's manifest)"
    event = {**keys, "at": at, "kind": "review", "new": said.verdict, "words": storable(words)}
    connection.execute(insert(events).values(**event))


def review_of(connection: Connection, take_id: int, *, locked: bool = False) -> Review | None:
    """Return what was said of a take; `locked`: no one else changes it before the commit."""
    query = REVIEWS.query.where(reviews.c.take_id == take_id)
    return REVIEWS.first(connection, query.with_for_update() if locked else query)


def kept_rows(connection: Connection, campaign_id: int) -> frozenset[int]:
    """Return the rows, by their numbers in the ledger, whose present take someone keeps."""
    query = (
        select(rows.c.id)
        .join(reviews, reviews.c.row_id == rows.c.id)
        .where(
            reviews.c.campaign_id == campaign_id,
            reviews.c.verdict == "keep",
            reviews.c.take_id == rows.c.take_id,
        )
    )
    return frozenset(connection.scalars(query))


def last_reviews(connection: Connection, campaign_id: int) -> Mapping[int, Review]:
    """Return what was said last of each row's takes, by the number of the row."""
    query = REVIEWS.query.add_columns(reviews.c.row_id)
    query = query.where(reviews.c.campaign_id == campaign_id).order_by(reviews.c.take_id)
    return {line.row_id: REVIEWS.read(line) for line in connection.execute(query)}


REVIEWS = Records(Review, reviews)


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


_VIDEOS = (
    select(takes.c.id, rows.c.campaign_id, rows.c.id.label("row_id"), rows.c.row, takes.c.number)
    .join(rows, rows.c.id == takes.c.row_id)
    .where(takes.c.id.in_(bindparam("these", expanding=True)))
)
_ROW = select(rows.c.id).with_for_update()
_HAS_VIDEO = exists().where(deliveries.c.take_id == takes.c.id, deliveries.c.kind == "mp4")


def _video(connection: Connection, take_id: int) -> _VideoFile:
    found = next(_videos(connection, [take_id]), None)
    if found is not None:
        return found
    known = connection.execute(_VIDEOS, {"these": [take_id]}).first()
    if known is None:
        raise BadInput("there is no such take")
    raise BadInput(
        f"take {known.number} of {known.row} has no video yet",
        remedy="a video is decided on once it is delivered",
    )


def _videos(connection: Connection, take_ids: Sequence[int]) -> Iterator[_VideoFile]:
    for line in connection.execute(_VIDEOS.where(_HAS_VIDEO), {"these": list(take_ids)}):
        yield _VideoFile(*line)


def _verdicts(connection: Connection, take_ids: Sequence[int]) -> dict[int, str]:
    query = select(reviews.c.take_id, reviews.c.verdict).where(reviews.c.take_id.in_(take_ids))
    return dict(connection.execute(query).tuples().all())


def _mine(connection: Connection, take_ids: Sequence[int], said: Review) -> set[int]:
    """Return those takes whose standing review is this one."""
    query = select(reviews.c.take_id).where(
        reviews.c.take_id.in_(take_ids),
        reviews.c.verdict == said.verdict,
        reviews.c.by == said.by,
        reviews.c.at == said.at,
    )
    return set(connection.scalars(query))


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


def _tell(
    connection: Connection,
    changed: Sequence[tuple[_VideoFile, Verdict | None]],
    said: Review | None,
    *,
    by: str,
    at: float,
) -> None:
    """Append an event for each: the verdict of before, the new one, who and why."""
    if not changed:
        return
    words = f"by {by}"
    if said is not None and said.because:
        words += f": {said.because}"
    common = {"at": at, "kind": "review", "new": said.verdict if said else None}
    lines = [
        {**video.keys(), **common, "old": old, "words": storable(words)} for video, old in changed
    ]
    connection.execute(insert(events), lines)


# Videos that a check held back, and that someone keeps as they are: then they are delivered.


def deliver_kept(connection: Connection, take_ids: Sequence[int], *, at: float) -> None:
    """Move rows `held -> delivered` whose present take is one of these, is whole in the store, and
    was held for nothing but what a check found."""
    for page in pages_of(take_ids):
        query = (
            select(rows.c.id, rows.c.take_id)
            .join(takes, takes.c.id == rows.c.take_id)
            .where(takes.c.id.in_(page), rows.c.state == "held", takes.c.flagged > 0)
        )
        held = {one.id: one.take_id for one in connection.execute(query)}
        if not held:
            continue
        there: dict[int, set[str]] = {}
        files = select(deliveries.c.take_id, deliveries.c.kind)
        for take, kind in connection.execute(files.where(deliveries.c.take_id.in_(held.values()))):
            there.setdefault(take, set()).add(kind)
        for row in rows_by_number(connection, sorted(held)):
            if row.take is None or not {"mp4", *row.captions} <= there.get(held[row.id], set()):
                continue
            words = "a person keeps it"
            if move(connection, row, "delivered", at=at, words=words, take=row.take):
                this = update(takes).where(takes.c.id == row.take.id)
                connection.execute(this.values(delivered_at=at))
