"""What the changes of one commit leave to its end: written there once, by one statement for all.

A change that is marked (`gathers`) says `later` what nobody needs to know before the commit:
events, files, moments, sums of accounts. A change that is not marked finds everything written that
came before it. Knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger.prepared import Prepared, Values

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

#: Under which name a connection carries what is gathered.
_GATHERING = "callsheet: gathering"


class Overtaken(CallsheetError):
    """What a commit took to be so is so no more, or was not: it is carried out with certainty."""


class Gatherable(Protocol):
    """Something that a room of the ledger gathers in a form of its own."""

    def write(self, connection: Connection) -> None:
        """Write it; called once, at the end."""


P = TypeVar("P", bound=Gatherable)


def gathers(change: F) -> F:
    """Mark a change as one that may leave things to the end of its commit."""
    change.gathers = True  # type: ignore[attr-defined]
    return change


def carry_out(
    connection: Connection,
    changes: Iterable[Callable[[Connection], Any]],
    *,
    certain: bool = True,
) -> list[Any]:
    """Carry changes out in one transaction, one after the other; return what each returned.

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
