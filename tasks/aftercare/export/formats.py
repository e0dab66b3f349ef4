"""The formats of an export: CSV and XLSX safe to open, JSON lines and Parquet exact.

Lines are written as they are read, but for Parquet, whose columns are written whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

from tasks.credits import as_number
from tasks.spreadsheet import write_csv, write_xlsx

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["csv", "xlsx", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Formats that are no text: they go to a file, not to a screen.
BINARY = frozenset({"xlsx", "parquet"})
Lines = Iterable[Mapping[str, Any]]
Write = Callable[[IO[bytes], Sequence[str], Lines], int]

_AMOUNTS = {
    "max_credits", "quoted", "reserved", "charged", "paid_before", "variance", "retakes_charged",
    "charged_per_film",
}  # fmt: skip
_COUNTS = {
    "line", "priority", "take", "film_take", "nth", "bytes", "rows", "takes", "retakes", "paid",
    "delivered",
}  # fmt: skip
_MEASURES = {"seconds", "keep_rate", "render_minutes", "film_minutes"}
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
