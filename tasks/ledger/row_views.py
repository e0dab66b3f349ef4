"""Rows as people and programs see them: on pages, in `rows --json`, manifests and exports.

One query has all that is said of a row, and a campaign of 100,000 of them streams through it. Reads
only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Select, case, func, select

from callsheet.tasks.ledger.deliveries import (
    VIDEOS,
    Files,
    PictureKind,
    StoredPicture,
    TakeVideo,
    checks_in,
    copies_in,
    files_in,
    pictures_in,
)
from callsheet.tasks.ledger.figures import FIGURES, NAMES, PAGE, Figures
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.reviews import CLIENT_REVIEWS, REVIEWS, Review, Verdict
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_selection import rows_matching
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.values import TAKES, CampaignRow, State, Take
from callsheet.tasks.runtime.redact import one_line
from callsheet.tasks.values.amounts import as_number, from_micro
from callsheet.tasks.values.briefs import AiMark


class ShownRow(NamedTuple):
    """A row with its figures, its present take, and its video, of whichever take that is.

    Fields are columns, and moments are Unix seconds. A name that ends in `_text` or `_micro` is of
    one as the database keeps it (JSON, words, or millionths): what it says is a property without
    that ending, worked out when it is asked for, since most of 100,000 rows that stream by are
    never asked. `take` (0: there is none) and what follows it are of the present take; `sent_at` is
    when its request was, or may have been, sent. `video_take` and what follows it are of the take
    whose video it is. `asked_title` is what the sheet calls the video, `variant_of` the row that a
    matrix made it from.
    """

    id: int
    row: str
    line: int
    state: State
    since: float
    reason: str | None
    operation: str
    asked_title: str | None
    tool: str | None
    language: str | None
    ratio: str | None
    variant_of: str | None
    digest: str
    nth: int
    first_id: str | None
    captions_text: str
    enabled: bool
    priority: int
    max_credits_micro: int | None
    tags_text: str
    cost_center: str | None
    notes: str | None
    quoted_at: float | None
    cells_text: str
    quoted_micro: int | None
    reserved_micro: int
    charged_micro: int | None
    paid_before_micro: int
    variance_micro: int
    take: int
    key: str | None
    body: bytes | None
    video_id: str | None
    take_digest: str | None
    take_nth: int | None
    take_quoted_micro: int | None
    sent_at: float | None
    refused_at: float | None
    abandoned_at: float | None
    deleted_at: float | None
    deleted_by: str | None
    copied_text: str | None
    video_take_id: int | None
    video_take: int | None
    delivered_at: float | None
    files_text: str | None
    checks_text: str | None
    flagged: int
    pictures_text: str | None
    ai_mark: AiMark | None
    video_body: bytes | None
    verdict: Verdict | None
    review_reason: str | None
    review_note: str | None
    reviewed_by: str | None
    reviewed_at: float | None
    client_verdict: Verdict | None
    client_reason: str | None
    client_note: str | None
    client_by: str | None
    client_at: float | None

    @property
    def title(self) -> str:
        """A few words for people."""
        return one_line(self.asked_title or self.row)

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        return tuple(orjson.loads(self.tags_text))

    @property
    def texts(self) -> dict[str, str]:
        """The sheet's own texts, by header."""
        return dict(orjson.loads(self.cells_text))

    @property
    def quoted(self) -> Decimal | None:
        """What its next or present take is to cost, in credits."""
        return from_micro(self.quoted_micro)

    @property
    def charged(self) -> Decimal | None:
        """What all its takes have cost, in credits."""
        return from_micro(self.charged_micro)

    @property
    def figures(self) -> Figures:
        """What its takes cost together, in credits."""
        return Figures(**{name: from_micro(getattr(self, f"{name}_micro")) for name in NAMES})

    @property
    def files(self) -> Files:
        """The files of its video that are in the store."""
        return files_in(self.files_text)

    @property
    def seconds(self) -> float | None:
        """How long its video is."""
        return self.files["mp4"].seconds if self.video_take else None

    @property
    def checks(self) -> Mapping[str, str]:
        """What was found when its video was looked at: name to "ok" or what is wrong."""
        return checks_in(self.checks_text)

    @property
    def pictures(self) -> Mapping[PictureKind, StoredPicture]:
        """The pictures of its video."""
        return pictures_in(self.pictures_text)

    @property
    def provenance(self) -> Provenance:
        """What there is to disclose of how its video was made."""
        return provenance_of(
            (self.video_body or self.body) if self.video_take else None, self.ai_mark
        )

    @property
    def review(self) -> Review | None:
        """What someone of the team said of its video."""
        said = (self.review_reason, self.review_note, self.reviewed_by, self.reviewed_at)
        return _review(self.verdict, *said)

    @property
    def client(self) -> Review | None:
        """What the client said of its video."""
        said = (self.client_reason, self.client_note, self.client_by, self.client_at)
        return _review(self.client_verdict, *said)

    @property
    def document(self) -> dict[str, Any]:
        """The row as JSON: a line of `rows --json` and of the manifest."""
        kept = orjson.loads(self.files_text) if self.files_text else {}
        said = {
            "row": self.row,
            "state": self.state,
            "reason": self.reason,
            "take": self.take,
            "key": sent_key(self.key, self.body),
            "video_id": self.video_id,
            "quoted": number_of(self.quoted_micro),
            "reserved": number_of(self.reserved_micro),
            "charged": number_of(self.charged_micro),
            "paid_before": number_of(self.paid_before_micro),
            "variance": number_of(self.variance_micro),
            "video_take": self.video_take,
            "deliveries": [
                {"kind": kind, "uri": one["uri"], "sha256": one["sha256"], "bytes": one["bytes"]}
                for kind, one in kept.items()
            ],
            "review": self.verdict,
            "review_reason": self.review_reason,
            "review_note": self.review_note,
            "reviewed_by": self.reviewed_by,
            "checks": dict(self.checks),
            **self.provenance._asdict(),
        }
        if self.client_verdict:
            said["client_review"] = self.client_verdict
            for name in ("client_reason", "client_note", "client_by"):
                said[name] = getattr(self, name)
        if self.copied_text:
            said["copies"] = [copy.as_json() for copy in copies_in(self.copied_text)]
        return said


def _review(
    verdict: Verdict | None, reason: str | None, note: str | None, by: str | None, at: float | None
) -> Review | None:
    if verdict is None:
        return None
    return Review(verdict=verdict, reason=reason, note=note, by=by or "", at=at or 0.0)


class Provenance(NamedTuple):
    """How a video was made: with AI, whether its file has a C2PA manifest that says how (None: no
    one looked), and the model and tool that were asked for (None: the service chose). All None
    without a video."""

    ai_generated: Literal[True] | None = None
    ai_mark: AiMark | None = None
    ai_model: str | None = None
    ai_tool: str | None = None


def provenance_of(request: bytes | None, mark: AiMark | None) -> Provenance:
    """Return how the video was made that a request asked for; None: there is no video."""
    if request is None:
        return Provenance()
    # A script may be long, and most have neither.
    named = any(name in bytes(request) for name in (b'"video_model"', b'"tool"'))
    asked = orjson.loads(request) if named else {}
    return Provenance(True, mark, asked.get("video_model"), asked.get("tool"))


def sent_key(key: str | None, body: bytes | None) -> str | None:
    """Return the key of a take, where its request was sent with it."""
    return key if key is not None and f'"{key}"'.encode() in bytes(body or b"") else None


@lru_cache(maxsize=4096)
def number_of(micro: int | None) -> int | float | None:
    """Return an amount in millionths as JSON has it: most rows cost one of a few prices."""
    return as_number(from_micro(micro))


_VIDEO = takes.alias("video")
#: The fields that are not columns of `rows` under their own name.
_OTHERS: dict[str, ColumnElement[Any]] = {
    "asked_title": rows.c.title,
    **{name: takes.c[name] for name in (
        "key", "body", "video_id", "refused_at", "abandoned_at", "deleted_at", "deleted_by",
    )},
    "take": func.coalesce(takes.c.number, 0),
    "take_digest": takes.c.digest,
    "take_nth": takes.c.nth,
    "take_quoted": takes.c.quoted,
    "sent_at": takes.c.intended_at,
    "copied": takes.c.copied,
    **{name: _VIDEO.c[name] for name in (
        "delivered_at", "files", "checks", "pictures", "ai_mark", "review_reason", "review_note",
        "reviewed_by", "reviewed_at", "client_reason", "client_note", "client_by", "client_at",
    )},
    "video_take": _VIDEO.c.number,
    # Of most rows it is the body of their take.
    "video_body": case((rows.c.video_take_id != rows.c.take_id, _VIDEO.c.body)),
    "flagged": func.coalesce(_VIDEO.c.flagged, 0),
    "verdict": _VIDEO.c.review,
    "client_verdict": _VIDEO.c.client_review,
}  # fmt: skip


def _query(wanted: Sequence[ColumnElement[bool]]) -> Select[Any]:
    # Of these rows alone: a database may add up all takes of the campaign first.
    figures = FIGURES.where(*wanted).subquery()
    columns = {**rows.c, **_OTHERS, **{name: figures.c[name] for name in NAMES}}
    named = (name.removesuffix("_text").removesuffix("_micro") for name in ShownRow._fields)
    return (
        select(*(columns[name] for name in named))
        .select_from(rows)
        .join(figures, figures.c.id == rows.c.id)
        .outerjoin(takes, takes.c.id == rows.c.take_id)
        .outerjoin(_VIDEO, _VIDEO.c.id == rows.c.video_take_id)
        .where(*wanted)
    )


def stream(
    connection: Connection,
    campaign_id: int,
    which: RowFilter | None = None,
    *,
    numbers: Sequence[int] | None = None,
) -> Generator[ShownRow, None, None]:
    """Yield the rows of a campaign in sheet order: all, those that match, or some by `numbers`."""
    which = which or RowFilter()
    wanted = [rows.c.campaign_id == campaign_id]
    if not which.is_empty:
        wanted.append(rows.c.id.in_(rows_matching(connection, campaign_id, which).correlate(None)))
    if numbers is not None:
        wanted.append(rows.c.id.in_(numbers))
    # As it stands, SQLite would find some by walking through all in the order of the sheet.
    every = numbers is None and which.is_empty
    order = rows.c.position if every else rows.c.position + 0
    query = _query(wanted).order_by(order, rows.c.id)
    with connection.execute(query, execution_options={"yield_per": PAGE}) as found:
        yield from map(ShownRow._make, found)


def rows_by_id(
    connection: Connection, campaign_id: int, numbers: Sequence[int]
) -> dict[int, ShownRow]:
    """Return some rows of a campaign by their numbers in the ledger."""
    found = stream(connection, campaign_id, numbers=numbers) if numbers else ()
    return {view.id: view for view in found}


def row_documents(
    connection: Connection, campaign_id: int, *, numbers: Sequence[int] | None = None
) -> Callable[[CampaignRow], dict[str, Any]]:
    """Return what says of a row of the campaign how it stands: a line of `rows --json`.

    With `numbers` only of the rows of these numbers in the ledger.
    """
    views = stream(connection, campaign_id, numbers=numbers)
    found = {view.id: view.document for view in views}

    def document(row: CampaignRow) -> dict[str, Any]:
        # One that has moved since it was read is as it was then.
        return {**found[row.id], "row": row.row, "state": row.state, "reason": row.reason}

    return document


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTake:
    """A take with its video and what was said of that."""

    take: Take
    video: TakeVideo
    review: Review | None
    client: Review | None

    @property
    def provenance(self) -> Provenance:
        """What there is to disclose of how its video was made."""
        return provenance_of(
            self.take.body if "mp4" in self.video.files else None, self.video.ai_mark
        )


def shown_takes(connection: Connection, *which: ColumnElement[bool]) -> list[ShownTake]:
    """Return takes with all that is known of them, of each row the newest first."""
    query = _TAKES.query.where(*which).order_by(takes.c.row_id, takes.c.number.desc())
    return _TAKES.all(connection, query)


_TAKES = Records(ShownTake, takes, take=TAKES, video=VIDEOS, review=REVIEWS, client=CLIENT_REVIEWS)
