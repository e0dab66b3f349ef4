"""Exports rows, takes, events and costs, without secrets.

The lines of cost centers add up to the account of the campaign. Those of tags do not: a row with
several tags counts under each of them.
"""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sqlalchemy import Connection

from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_history import (
    event_lines,
    row_lines,
    take_lines,
)
from callsheet.tasks.ledger.row_views import Provenance, stream
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import check_extra
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.spreadsheets import shown_lines, write_csv, write_xlsx
from callsheet.tasks.store import open_store
from callsheet.tasks.store.addresses import linking
from callsheet.tasks.values.amounts import as_number

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns of `chargeback`.
CHARGEBACK = (
    "by", "name", "month", "rows", "takes", "charged", "reserved", "retakes", "retakes_charged",
    "note",
)  # fmt: skip
#: The note of every line of a tag.
ONCE_PER_TAG = "a row with several tags counts under each of them"


@dataclass
class TakeSum:
    """What several takes cost together; a row has one video, however many takes were delivered."""

    rows: set[Any] = field(default_factory=set)
    videos: set[Any] = field(default_factory=set)
    takes: int = 0
    charged: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    retakes: int = 0
    retakes_charged: Decimal = Decimal(0)

    def add(self, line: Mapping[str, Any]) -> None:
        """Count one take."""
        charged = line["charged"] or Decimal(0)
        self.rows.add(line["row"])
        if line.get("delivered_at") is not None:
            self.videos.add(line["row"])
        self.takes += 1
        self.charged += charged
        self.reserved += line["reserved"]
        if line["take"] > 1:
            self.retakes += 1
            self.retakes_charged += charged


def chargeback(spent: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a line for every cost center and month, every tag and month, and a total.

    A take belongs to the month (UTC) and the cost center of its intent; takes without a cost center
    have a line with an empty name. Every take after the first of a row is a retake; its cost is
    part of `charged`.
    """
    found: dict[tuple[str, str, str], TakeSum] = defaultdict(TakeSum)
    total = TakeSum()
    for line in spent:
        month = f"{datetime.fromtimestamp(line['intended_at'], UTC):%Y-%m}"
        tags = dict.fromkeys(("tag", tag) for tag in line["tags"])
        for by, name in (("cost_center", line["cost_center"] or ""), *tags):
            found[by, name, month].add(line)
        total.add(line)
    for (by, name, month), several in sorted(found.items()):
        yield _charged(by, name or None, month, several, ONCE_PER_TAG if by == "tag" else None)
    yield _charged("campaign", None, None, total, "the sum of the cost centers")


def _charged(
    by: str, name: str | None, month: str | None, found: TakeSum, note: str | None
) -> dict[str, Any]:
    sums = {name: value for name, value in vars(found).items() if name in CHARGEBACK}
    line = {"by": by, "name": name, "month": month, "note": note}
    return {**line, **sums, "rows": len(found.rows)}


# What is needed to put videos into an advertising platform: a line for each that may be shown.


#: What a link is tagged with, each from the sheet's column `x_` and its name.
UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term")


def traffic_lines(
    connection: Connection, campaign_id: int, link: Callable[[str], str | None]
) -> Iterator[dict[str, Any]]:
    """Yield every delivered video that neither the team nor the client rejects, in sheet order.

    The ad's name, where a click leads and its tags are what the sheet's `x_` columns say;
    `landing_url` has the tags in the address. `link` makes the link to a file.
    """
    for row in stream(connection, campaign_id, RowFilter.of(state="delivered")):
        video = row.files.get("mp4")
        if video is None or "reject" in (row.verdict, row.client_verdict):
            continue
        said = {name.strip().lower(): text.strip() for name, text in row.texts.items()}
        tags = {name: said.get(f"x_{name}") or None for name in UTM}
        click, poster = said.get("x_click_url") or None, row.pictures.get("poster")
        yield {
            "ad_name": said.get("x_ad_name") or row.title,
            "row": row.row,
            "file": video.uri,
            "ratio": row.ratio,
            "language": row.language,
            "seconds": row.seconds,
            "link": link(video.uri),
            "click_url": click,
            **tags,
            "landing_url": click and _tagged(click, tags),
            "poster": poster and poster.uri,
            **row.provenance._asdict(),
        }


def link_maker(what: What, settings: Settings) -> Link:
    """Return what makes the links of an export; only `traffic` has some.

    Raise ConfigurationError where the settings ask for links that cannot be made.
    """
    if what != "traffic":
        return lambda uri: None
    return linking(open_store(settings.store).address, settings.links)


def _tagged(address: str, tags: Mapping[str, str | None]) -> str:
    """Return an address with tags in its query, before a fragment; those that it has stay.

    What is no address is returned as it is.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    own = dict(parse_qsl(parts.query, keep_blank_values=True))
    new = [(name, tag) for name, tag in tags.items() if tag and name not in own]
    # What is in the address stays letter by letter, and `{macros}` of ad platforms stay readable.
    query = "&".join(filter(None, (parts.query, urlencode(new, safe="{}"))))
    return urlunsplit(parts._replace(query=query))


# Writes campaign data of the ledger for spreadsheets and programs.
#
# An export has no secrets: it leaves out addresses and texts of requests, and redacts free text as
# in every log line. CSV and XLSX are safe to open, JSON lines and Parquet are exact. Lines are
# written as they are read, except for Parquet, which is written by column.


What = Literal["rows", "takes", "events", "chargeback", "traffic"]

#: What says how a video was made.
PROVENANCE = Provenance._fields
#: The columns of each export after `campaign`, the first one.
COLUMNS: dict[What, tuple[str, ...]] = {
    "rows": (
        "row", "line", "state", "reason", "since", "title", "operation", "captions", "enabled",
        "priority", "tags", "cost_center", "notes", "max_credits", "quoted", "quoted_at", "take",
        "key", "video_id", "reserved", "charged", "paid_before", "variance", "video_take", "video",
        "sha256", "bytes", "seconds", "srt", "vtt", "digest", "review", "review_reason",
        "review_note", "reviewed_by", "reviewed_at", "client_review", "client_reason",
        "client_note", "client_by", "client_at", "checks", *PROVENANCE,
    ),
    "takes": (
        "row", "take", "present", "key", "video_id", "cost_center", "quoted", "reserved",
        "charged", "intended_at", "accepted_at", "refused_at", "ready_at", "delivered_at",
        "abandoned_at", "video", "sha256", "bytes", "seconds", "srt", "vtt", "nth", "digest",
        "review", "review_reason", "review_note", "reviewed_by", "reviewed_at", "client_review",
        "client_reason", "client_note", "client_by", "client_at", "checks", *PROVENANCE,
    ),
    "events": ("at", "row", "take", "kind", "old", "new", "words"),
    "chargeback": CHARGEBACK,
    "traffic": (
        "ad_name", "row", "file", "ratio", "language", "seconds", "link", "click_url", *UTM,
        "landing_url", "poster", *PROVENANCE,
    ),
}  # fmt: skip
#: Makes the link to a file of the store; None where there is none.
Link = Callable[[str], str | None]
_LINES: dict[What, Callable[[Connection, int, Link], Lines]] = {
    "rows": lambda connection, campaign, _: row_lines(connection, campaign),
    "takes": lambda connection, campaign, _: take_lines(connection, campaign),
    "events": lambda connection, campaign, _: event_lines(connection, campaign),
    "chargeback": lambda connection, campaign, _: chargeback(take_lines(connection, campaign)),
    "traffic": traffic_lines,
}
_MOMENTS = ("at", "since")
#: Free text of people and services.
_FREE = ("reason", "words", "title", "notes", "review_note", "client_note", "checks")


def export(
    connection: Connection,
    campaign: Campaign,
    out: IO[bytes],
    *,
    what: What,
    format: Format,
    link: Link = lambda uri: None,
    shown: Callable[[Any], Any] = lambda value: value,
) -> int:
    """Write every line to `out` as it is read; return how many there were.

    `link` is as `link_maker` returns it, `shown` what a value is for those who get the file. Raise
    ConfigurationError if the libraries for the format are not installed.
    """
    columns = ("campaign", *COLUMNS[what])
    told = _told(campaign.name, columns, _LINES[what](connection, campaign.id, link), shown)
    # Whoever reads `out` may leave before the end.
    with closing(told) as lines:
        return WRITE[format](out, columns, lines)


def _told(
    campaign: str, columns: Iterable[str], lines: Lines, shown: Callable[[Any], Any]
) -> Generator[dict[str, Any], None, None]:
    """Yield lines with ordered columns, times as datetimes, and redacted text."""
    for line in lines:
        named = {"campaign": campaign, **line}
        yield {name: shown(_value(name, named[name])) for name in columns}


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _FREE:
        return redact(value)
    if name in _MOMENTS or name.endswith("_at"):
        return datetime.fromtimestamp(value, UTC)
    return value


Format = Literal["csv", "xlsx", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Binary formats: they go to a file, not to a terminal.
BINARY = frozenset({"xlsx", "parquet"})
Lines = Iterable[Mapping[str, Any]]
Write = Callable[[IO[bytes], Sequence[str], Lines], int]

_AMOUNTS = {
    "max_credits", "quoted", "reserved", "charged", "paid_before", "variance", "retakes_charged",
    "money",
}  # fmt: skip
_COUNTS = {
    "line", "priority", "take", "video_take", "nth", "bytes", "rows", "takes", "retakes",
    "videos",
}  # fmt: skip
_TRUTHS = {"enabled", "present", "ai_generated"}
_LISTS = {"captions", "tags"}


def format_of(path: str | None) -> Format:
    """Return the format of a file name by its suffix; the default is CSV."""
    suffix = PurePath(path or "").suffix.lower().removeprefix(".")
    named: dict[str, Format] = {**{name: name for name in FORMATS}, "ndjson": "jsonl"}
    return named.get(suffix, "csv")


def _csv(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    with _text(out) as text:
        return write_csv(text, columns, shown_lines(lines))


def _xlsx(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    return write_xlsx(out, columns, shown_lines(lines))


def _jsonl(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    count = 0
    with _text(out) as text:
        for line in lines:
            text.write(json.dumps(line, ensure_ascii=False, default=_exact) + "\n")
            count += 1
    return count


def _parquet(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    check_extra("parquet", "pyarrow", use="a Parquet file")
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, _type(name)) for name in columns])
    table = pa.Table.from_pylist(list(lines), schema=schema)
    parquet.write_table(table, out)
    return int(table.num_rows)


WRITE: dict[Format, Write] = {
    "csv": _csv, "xlsx": _xlsx, "parquet": _parquet, "jsonl": _jsonl,
}  # fmt: skip


@contextmanager
def _text(out: IO[bytes]) -> Iterator[IO[str]]:
    """Write text into a caller's byte stream without closing it."""
    text = io.TextIOWrapper(cast("io.BufferedWriter", out), encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()


def _type(name: str) -> pa.DataType:
    import pyarrow as pa

    if name in _AMOUNTS:
        return pa.decimal128(24, 6)
    if name in _COUNTS:
        return pa.int64()
    if name == "seconds":
        return pa.float64()
    if name in _TRUTHS:
        return pa.bool_()
    if name in _LISTS:
        return pa.list_(pa.string())
    # A column of the sheet's own has text, whatever its name ends in.
    own = name.startswith("x_")
    moment = not own and (name in _MOMENTS or name.endswith("_at"))
    return pa.timestamp("us", "UTC") if moment else pa.string()


def _exact(value: object) -> object:
    """Return values for JSON: amounts as numbers, times in ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat()
    assert isinstance(value, Decimal)
    return as_number(value)
