"""Statements that are executed for every row: made into text once, and not looked up at each use.

What SQLAlchemy does to execute a statement costs more than the statement itself. Owns the way from
a statement to its text and its parameters, for both databases. Knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult, Delete, Insert, Select, Update
from sqlalchemy.engine import Dialect

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
