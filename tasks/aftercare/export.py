"""Write what the ledger knows of a campaign, for spreadsheets and for programs.

Nothing written holds a secret: of what was asked of the service no address or text of people is
told, and free text goes through the same filter as every log line. CSV and XLSX are safe to open,
JSON lines and Parquet exact; lines are written as they are read, but for Parquet, whose columns
are written whole.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

from sqlalchemy import Connection

from callsheet.tasks.aftercare.costs import ANALYSIS, CHARGEBACK, analysis, chargeback
from callsheet.tasks.credits import as_number
from callsheet.tasks.errors import BadInput
from callsheet.tasks.extras import check_extra
from callsheet.tasks.ledger import Campaign
from callsheet.tasks.ledger.extracts import (
    event_lines,
    made_lines,
    row_lines,
    spent_lines,
    take_lines,
)
from callsheet.tasks.redact import redact
from callsheet.tasks.spreadsheet import write_csv, write_xlsx

if TYPE_CHECKING:
    import pyarrow as pa

What = Literal["rows", "takes", "events", "chargeback", "analysis"]

#: The columns of each export, after `campaign`, which begins every line.
COLUMNS: dict[What, tuple[str, ...]] = {
    "rows": (
        "row", "line", "state", "reason", "since", "title", "operation", "captions", "enabled",
        "priority", "tags", "cost_center", "notes", "max_credits", "quoted", "quoted_at", "take",
        "key", "video_id", "reserved", "charged", "paid_before", "variance", "video_take", "video",
        "sha256", "bytes", "seconds", "srt", "vtt", "digest", "review", "review_reason",
        "review_note", "reviewed_by", "reviewed_at", "checks",
    ),
    "takes": (
        "row", "take", "present", "key", "video_id", "cost_center", "quoted", "reserved",
        "charged", "intended_at", "accepted_at", "refused_at", "ready_at", "delivered_at",
        "abandoned_at", "video", "sha256", "bytes", "seconds", "srt", "vtt", "nth", "digest",
        "review", "review_reason", "review_note", "reviewed_by", "reviewed_at", "checks",
    ),
    "events": ("at", "row", "take", "kind", "old", "new", "words"),
    "chargeback": CHARGEBACK,
    "analysis": ANALYSIS,
}  # fmt: skip
_LINES: dict[What, Callable[[Connection, int], Lines]] = {
    "rows": row_lines,
    "takes": take_lines,
    "events": event_lines,
    "chargeback": lambda connection, campaign: chargeback(spent_lines(connection, campaign)),
    "analysis": lambda connection, campaign: analysis(made_lines(connection, campaign)),
}
_MOMENTS = ("at", "since")
#: What people and services wrote.
_FREE = ("reason", "words", "title", "notes", "review_note", "checks")


def export(
    connection: Connection, campaign: Campaign, out: IO[bytes], *, what: What, format: Format
) -> int:
    """Write every line to `out` as it is read; return how many there were.

    Raises ConfigurationError where the libraries for it are not installed.
    """
    if what == "analysis":
        check_extra("analysis", "pandas", use="the analysis of costs")
    if format == "parquet":
        check_extra("analysis", "pyarrow", use="a Parquet file")
    columns = ("campaign", *COLUMNS[what])
    lines = _told(campaign.name, columns, _LINES[what](connection, campaign.id))
    return WRITE[format](out, columns, lines)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name once it is whole; raise BadInput where it cannot.

    What is there and no file (a device, a pipe) is written to as it is, never replaced.
    """
    unfinished: str | None = None
    if path.is_dir():
        raise BadInput(f"{path} is a folder", remedy="name a file in it")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}", remedy="make it, or name another")
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as out:
                yield out
            return
        handle, unfinished = tempfile.mkstemp(prefix=".callsheet-export-", dir=path.parent)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        # A file that others read, unlike one of ours: the user's own mask decides.
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
        unfinished = None
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}",
            remedy="make room there, or name a file in a folder that you may write to",
        ) from error
    finally:
        if unfinished is not None:
            with suppress(OSError):
                os.unlink(unfinished)


def _told(campaign: str, columns: Iterable[str], lines: Lines) -> Iterator[dict[str, Any]]:
    """Yield lines with the columns in order, moments as such, and no secret."""
    for line in lines:
        named = {"campaign": campaign, **line}
        yield {name: _value(name, named[name]) for name in columns}


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _FREE:
        return redact(value)
    if name in _MOMENTS or name.endswith("_at"):
        return datetime.fromtimestamp(value, UTC)
    return value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


Format = Literal["csv", "xlsx", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Formats that are no text: they go to a file, not to a screen.
BINARY = frozenset({"xlsx", "parquet"})
Lines = Iterable[Mapping[str, Any]]
Write = Callable[[IO[bytes], Sequence[str], Lines], int]

_AMOUNTS = {
    "max_credits", "quoted", "reserved", "charged", "paid_before", "variance", "retakes_charged",
    "charged_per_video", "charged_per_kept",
}  # fmt: skip
_COUNTS = {
    "line", "priority", "take", "video_take", "nth", "bytes", "rows", "takes", "retakes", "paid",
    "delivered", "kept", "rejected",
}  # fmt: skip
_MEASURES = {"seconds", "keep_rate", "render_minutes", "video_minutes"}
_TRUTHS = {"enabled", "present"}
_LISTS = {"captions", "tags"}


def format_of(path: str | None) -> Format:
    """Return the format that a file's name asks for: CSV, unless its suffix says another."""
    suffix = PurePath(path or "").suffix.lower().removeprefix(".")
    named: dict[str, Format] = {**{name: name for name in FORMATS}, "ndjson": "jsonl"}
    return named.get(suffix, "csv")


def _csv(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    with _text(out) as text:
        return write_csv(text, columns, lines)


def _jsonl(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    count = 0
    with _text(out) as text:
        for line in lines:
            text.write(json.dumps(line, ensure_ascii=False, default=_exact) + "\n")
            count += 1
    return count


def _parquet(out: IO[bytes], columns: Sequence[str], lines: Lines) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, _type(name)) for name in columns])
    table = pa.Table.from_pylist(list(lines), schema=schema)
    parquet.write_table(table, out)
    return int(table.num_rows)


WRITE: dict[Format, Write] = {
    "csv": _csv, "xlsx": write_xlsx, "parquet": _parquet, "jsonl": _jsonl,
}  # fmt: skip


@contextmanager
def _text(out: IO[bytes]) -> Iterator[IO[str]]:
    """Write text into bytes that belong to somebody else: they are let go, not closed."""
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
    if name in _MEASURES:
        return pa.float64()
    if name in _TRUTHS:
        return pa.bool_()
    if name in _LISTS:
        return pa.list_(pa.string())
    moment = name in ("at", "since") or name.endswith("_at")
    return pa.timestamp("us", "UTC") if moment else pa.string()


def _exact(value: object) -> object:
    """Return what JSON has no word for: amounts as numbers, moments in ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat()
    assert isinstance(value, Decimal)
    return as_number(value)
