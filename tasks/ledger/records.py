"""Records: how lines of tables become values, and values become lines again.

A record is a dataclass or a NamedTuple whose fields are called like columns. What a field is said
to be tells how its column is read and written: an amount in credits is kept in millionths, a
mapping or a tuple as JSON, anything else as it is. Knows no table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, FromClause, Select, select

from callsheet.tasks.values.amounts import from_micro, to_micro

R = TypeVar("R")


class Records(Generic[R]):
    """A kind of record and the columns that it is made of: those of `table`, and `others`.

    What is joined or computed is among the others, by the name of its field; so is a record within
    the record, which is None where its first column is null. A field that has no column keeps its
    default. `joined` is what the columns are selected from, where that is more than the table;
    `words` names fields that are kept as words with such a separator between them, `reads` what
    reads fields that are kept in a form of their own.
    """

    def __init__(
        self,
        kind: Callable[..., R],
        table: FromClause,
        /,
        *,
        joined: FromClause | None = None,
        words: Mapping[str, str] | None = None,
        reads: Mapping[str, Callable[[Any], Any]] | None = None,
        **others: ColumnElement[Any] | Records[Any],
    ) -> None:
        self._kind = kind
        found = {name: others.get(name, table.c.get(name)) for name in kind.__annotations__}
        parts = {name: one for name, one in found.items() if isinstance(one, Records)}
        columns: dict[str, ColumnElement[Any]] = {
            name: one
            for name, one in found.items()
            if one is not None and not isinstance(one, Records)
        }
        self._names = tuple(columns)
        reads = reads or {}
        self._codecs = _codecs(kind, columns.keys() - reads.keys(), words or {})
        self._reads = [(name, codec[0]) for name, codec in self._codecs.items()]
        self._reads += reads.items()
        #: What a field's column is called, where it is one of the table's.
        self._own = {n: str(one.key) for n, one in columns.items() if table.c.contains_column(one)}
        self._is_renamed = any(name != column for name, column in self._own.items())
        self.columns: list[ColumnElement[Any]] = list(columns.values())
        self._parts: list[tuple[str, Records[Any], int, int]] = []
        for name, part in parts.items():
            begin = len(self.columns)
            self.columns += part.columns
            self._parts.append((name, part, begin, len(self.columns)))
        #: Selects every record; for conditions, an order and a limit to be added.
        self.query: Select[Any] = select(*self.columns)
        if joined is not None:
            self.query = self.query.select_from(joined)

    def read(self, line: Sequence[Any]) -> R:
        """Return the record in a line that begins with `columns`."""
        # Not by the names of the line: that costs ten times as much.
        values = dict(zip(self._names, line, strict=False))
        for name, decode in self._reads:
            values[name] = decode(values[name])
        for name, part, begin, end in self._parts:
            values[name] = None if line[begin] is None else part.read(line[begin:end])
        return self._kind(**values)

    def all(self, connection: Connection, query: Select[Any]) -> list[R]:
        """Return the records that a query made of `query` finds."""
        return [self.read(line) for line in connection.execute(query)]

    def first(self, connection: Connection, query: Select[Any]) -> R | None:
        """Return the first record that a query made of `query` finds."""
        line = connection.execute(query).first()
        return None if line is None else self.read(line)

    def line(self, record: R | None = None, /, **values: Any) -> dict[str, Any]:
        """Return a record, or some `values` of one, as the columns of its table take them."""
        if record is not None:
            values = {name: getattr(record, name) for name in self._own} | values
        for name, (_, encode) in self._codecs.items():
            if values.get(name) is not None:
                values[name] = encode(values[name])
        if self._is_renamed:
            return {self._own.get(name, name): value for name, value in values.items()}
        return values


#: How a column is read, and how it is written where it is not null.
_Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _codecs(
    kind: Callable[..., Any], names: Iterable[str], words: Mapping[str, str]
) -> dict[str, _Codec]:
    """Return how those fields are read and written that are not as their columns have them."""
    # A NamedTuple has wrapped its hints.
    hints = {
        name: getattr(one, "__forward_arg__", one) for name, one in kind.__annotations__.items()
    }
    found = {name: _codec(str(hints[name]), words.get(name)) for name in names}
    return {name: codec for name, codec in found.items() if codec is not None}


def _codec(said: str, separator: str | None) -> _Codec | None:
    """Return how a field is read and written that is `said` to be this; None: as it is."""
    kind = said.partition(" ")[0].partition("[")[0]
    may_lack = said.endswith("| None")
    if separator is not None:
        made: Callable[[Any], Any] = frozenset if kind == "frozenset" else tuple
        split = None if separator == " " else separator
        return lambda text: made(text.split(split)), separator.join
    if kind == "Decimal":
        return from_micro, to_micro
    if kind in ("Mapping", "dict", "tuple"):
        make = tuple if kind == "tuple" else dict

        def read(text: str | None) -> Any:
            if text is None and may_lack:
                return None
            # Most rows have no tags.
            return make(json.loads(text)) if text and text != "[]" else make()

        return read, lambda found: json.dumps(found, ensure_ascii=False)
    return None
