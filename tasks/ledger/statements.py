"""Prepared statements, and statements that one commit executes once for all its changes.

What SQLAlchemy does to execute a statement costs more than the statement itself. Owns the way
from a statement to its text and its parameters, for both databases. Knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, CursorResult, Delete, Insert, Select, Update
from sqlalchemy.engine import Dialect

from callsheet.tasks.runtime.errors import CallsheetError

Values = Mapping[str, Any]
Statement = Select[Any] | Insert | Update | Delete


class Prepared:
    """A statement with all its parameters named; values are of types that both drivers take.

    Of an INSERT the columns are named that it is given. Lists within it (`in_`) cannot be. One that
    costs something to make is given as what makes it, and made when it is executed first.
    """

    def __init__(
        self,
        statement: Statement | Callable[[], Statement],
        *,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._statement = statement
        self._columns = columns
        self._texts: dict[str, _Text] = {}

    def execute(self, connection: Connection, values: Values) -> CursorResult[Any]:
        """Execute the statement once."""
        text = self._text(connection.dialect)
        return connection.exec_driver_sql(text.sql, text.parameters(values))

    def execute_many(self, connection: Connection, many: Sequence[Values]) -> None:
        """Execute the statement for each of several."""
        text = self._text(connection.dialect)
        connection.exec_driver_sql(text.sql, [text.parameters(values) for values in many])

    def _text(self, dialect: Dialect) -> _Text:
        found = self._texts.get(dialect.name)
        if found is None:
            made = self._statement() if callable(self._statement) else self._statement
            found = self._texts[dialect.name] = _Text(made, dialect, self._columns)
        return found


class _Text:
    """A statement as one kind of driver takes it."""

    def __init__(
        self, statement: Statement, dialect: Dialect, columns: Sequence[str] | None
    ) -> None:
        compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
        self.sql = str(compiled)
        #: What stands in the statement itself.
        own = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self._own: Values = own
        #: The order of the parameters, where they have no names.
        self._order: Sequence[str] | None = compiled.positiontup if compiled.positional else None

    def parameters(self, values: Values) -> Any:
        named = {**self._own, **values} if self._own else values
        return named if self._order is None else tuple([named[name] for name in self._order])


# What the changes of one commit leave to its end: written there once, by one statement for all.
#
# A change that is marked (`gathers`) says `later` what no one needs to know before the commit:
# events, files, moments, sums of accounts. A change that is not marked finds everything written
# that came before it. Knows no table.


T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

#: Under which name a connection keeps what is gathered.
_GATHERING = "callsheet: gathering"


class Overtaken(CallsheetError):
    """What a commit took to be so is so no more, or was not: it is executed with certainty."""


class Gatherable(Protocol):
    """Something that a room of the ledger gathers in a form of its own."""

    def write(self, connection: Connection) -> None:
        """Write it; called once, at the end."""


P = TypeVar("P", bound=Gatherable)


def gathers(change: F) -> F:
    """Mark a change as one that may leave things to the end of its commit."""
    change.gathers = True  # type: ignore[attr-defined]
    return change


def execute(
    connection: Connection,
    changes: Iterable[Callable[[Connection], Any]],
    *,
    certain: bool = True,
) -> list[Any]:
    """Execute changes in one transaction, one after the other; return what each returned.

    With the last, everything is written. What one raises is not caught: the transaction is over.
    Unless it is to be `certain`, what others may change meanwhile is read without keeping them from
    it, and held against what is so then as it is written: that may raise Overtaken.
    """
    gathering = _Gathering(certain=certain)
    results = []
    try:
        for change in changes:
            if _is_marked(change):
                connection.info[_GATHERING] = gathering
            else:
                connection.info.pop(_GATHERING, None)
                gathering.write(connection)
            results.append(change(connection))
        gathering.write(connection)
    finally:
        connection.info.pop(_GATHERING, None)
    return results


def later(connection: Connection, statement: Prepared, values: Sequence[Values]) -> None:
    """Execute a statement for all `values`: at the end of the commit, or now where none gathers.

    The same statement is executed in the order in which it was asked for.
    """
    if not values:
        return
    gathering: _Gathering | None = connection.info.get(_GATHERING)
    if gathering is not None:
        gathering.statements.setdefault(statement, []).extend(values)
    else:
        statement.execute_many(connection, values)


def gathered(connection: Connection, kind: type[P]) -> P | None:
    """Return what is gathered in a form of its own, made when it is first asked for.

    None where nothing is gathered: it is to be written now.
    """
    gathering: _Gathering | None = connection.info.get(_GATHERING)
    if gathering is None:
        return None
    found: P = gathering.parts.setdefault(kind, kind())
    return found


def is_certain(connection: Connection) -> bool:
    """Whether a change has to keep others out from the moment at which it asks."""
    gathering: _Gathering | None = connection.info.get(_GATHERING)
    return gathering is None or gathering.certain


class _Gathering:
    def __init__(self, *, certain: bool) -> None:
        self.certain = certain
        self.statements: dict[Prepared, list[Values]] = {}
        self.parts: dict[type, Any] = {}

    def write(self, connection: Connection) -> None:
        """Write everything and forget it, and with it whatever was known of the database."""
        statements, self.statements = self.statements, {}
        parts, self.parts = self.parts, {}
        for statement, values in statements.items():
            statement.execute_many(connection, values)
        # Others may wait for these: the shorter they are kept waiting, the better.
        for part in parts.values():
            part.write(connection)


def _is_marked(change: Callable[..., Any]) -> bool:
    own = change.func if isinstance(change, partial) else change
    return getattr(own, "gathers", False)
