"""What SQLite and PostgreSQL do differently, and the SQL that each says in its own way.

Everything else in the ledger asks `dialect_of` and knows neither by name. How each is connected to
is in `database`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Float, String, Table, func, select, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement, GenericFunction

from callsheet.tasks.ledger.database import ledger_file

#: Any number, the same in every process: who holds it may change the schema (PostgreSQL).
_ADVISORY_LOCK = 0x63616C6C
#: Another such number: who holds it may approve rows (PostgreSQL).
_APPROVAL_LOCK = _ADVISORY_LOCK + 1


class Dialect(Protocol):
    """One kind of database."""

    #: Whether one transaction writes at a time, so that no one changes what it has read.
    one_writer: bool
    #: Whether who waits for a change is told of it, instead of asking now and then.
    notifies: bool

    def hold_schema(self, connection: Connection) -> None:
        """Have the schema to this transaction alone."""

    def hold_table(self, connection: Connection, name: str) -> None:
        """Let no one else write to a table until this transaction has ended."""

    def hold_approvals(self, connection: Connection) -> None:
        """Have no one else approve rows, of any campaign, until this transaction has ended."""

    def notify(self, connection: Connection, channel: str) -> None:
        """Tell who waits for it of a change, once this transaction is committed."""

    def number_on(self, connection: Connection, tables: list[Table]) -> None:
        """Have new lines numbered after those that were copied, numbers and all."""

    def damage(self, connection: Connection) -> Iterator[str]:
        """Say what is wrong with the database itself."""

    def give_back(self, connection: Connection) -> None:
        """Give the room that lines took back to the disk; the connection commits by itself."""

    def size(self, engine: Engine) -> int:
        """Return how many bytes a ledger takes, its log included."""


class _Sqlite:
    one_writer = True
    notifies = False

    def hold_schema(self, connection: Connection) -> None:
        """Anyone who writes has the whole file."""

    def hold_table(self, connection: Connection, name: str) -> None:
        """Anyone who writes has the whole file."""

    def hold_approvals(self, connection: Connection) -> None:
        """Anyone who writes has the whole file."""

    def notify(self, connection: Connection, channel: str) -> None:
        """No one can wait for it: anyone who wants to know asks."""

    def number_on(self, connection: Connection, tables: list[Table]) -> None:
        """It numbers after the highest that is there."""

    def damage(self, connection: Connection) -> Iterator[str]:
        for (words,) in connection.execute(text("PRAGMA integrity_check")):
            if words != "ok":
                yield str(words)
        for table, number, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
            yield f"line {number} of {table} refers to a line of {parent} that is not there"

    def give_back(self, connection: Connection) -> None:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("VACUUM")
        # What was written is in the log as yet. Anyone who reads keeps it there: a later write
        # frees it, and is not waited for.
        connection.exec_driver_sql("PRAGMA busy_timeout = 1000")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.exec_driver_sql("BEGIN")

    def size(self, engine: Engine) -> int:
        file = ledger_file(engine.url)
        assert file is not None, "an SQLite ledger is a file"
        log = file.with_name(f"{file.name}-wal")
        return file.stat().st_size + (log.stat().st_size if log.exists() else 0)


class _Postgresql:
    one_writer = False
    notifies = True

    def hold_schema(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ADVISORY_LOCK})

    def hold_table(self, connection: Connection, name: str) -> None:
        connection.execute(text(f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE"))

    def hold_approvals(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _APPROVAL_LOCK})

    def notify(self, connection: Connection, channel: str) -> None:
        connection.execute(text(f"NOTIFY {channel}"))

    def number_on(self, connection: Connection, tables: list[Table]) -> None:
        for table in tables:
            if (column := table.autoincrement_column) is None:
                continue
            named = {"table": table.name, "column": column.name}
            sequence = text("SELECT pg_get_serial_sequence(:table, :column)")
            if (name := connection.execute(sequence, named).scalar()) is not None:
                most = select(func.coalesce(func.max(column), 0) + 1).scalar_subquery()
                connection.execute(select(func.setval(name, most, False)))

    def damage(self, connection: Connection) -> Iterator[str]:
        """It refuses what refers to nothing, and checks its pages as it reads them."""
        return iter(())

    def give_back(self, connection: Connection) -> None:
        connection.exec_driver_sql("VACUUM (ANALYZE)")

    def size(self, engine: Engine) -> int:
        with engine.connect() as connection:
            found = text("SELECT pg_database_size(current_database())")
            return int(connection.execute(found).scalar_one())


_DIALECTS: dict[str, Dialect] = {"sqlite": _Sqlite(), "postgresql": _Postgresql()}


def dialect_of(bind: Connection | Engine | URL) -> Dialect:
    """Return what a database of this kind does."""
    return _DIALECTS[bind.get_backend_name() if isinstance(bind, URL) else bind.dialect.name]


# Functions that the two call by other names, for use within a statement.


class DatabaseMoment(FunctionElement[float]):
    """The database's own time in Unix seconds."""

    type = Float()
    inherit_cache = True


class Folded(GenericFunction[str]):
    """Text without regard to upper and lower case."""

    type = String()
    inherit_cache = True


class AsciiFolded(GenericFunction[str]):
    """Text to compare with ASCII text in lower case, without regard to case."""

    type = String()
    inherit_cache = True


class Like(GenericFunction[bool]):
    """Whether a text matches a LIKE pattern of ASCII, without regard to case."""

    inherit_cache = True


class Member(GenericFunction[str]):
    """A member of a JSON object, as text."""

    type = String()
    inherit_cache = True


class Joined(GenericFunction[str]):
    """Two JSON objects as one; of members that both have those of the second."""

    type = String()
    inherit_cache = True


class Elements(GenericFunction[str]):
    """The elements of a JSON array, as a table of texts with the column `value`."""

    type = String()
    inherit_cache = True


class Within(GenericFunction[bool]):
    """Whether a text has another one in it."""

    inherit_cache = True


@compiles(DatabaseMoment)
def _moment(_: DatabaseMoment, compiler: Any, **__: Any) -> str:
    if _is_sqlite(compiler):
        return "((julianday('now') - 2440587.5) * 86400.0)"
    # Not `now()`, which is when the transaction began.
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


@compiles(Folded)
def _folded(element: Folded, compiler: Any, **how: Any) -> str:
    name = "folded" if _is_sqlite(compiler) else "lower"
    return f"{name}({compiler.process(element.clauses, **how)})"


@compiles(AsciiFolded)
def _ascii_folded(element: AsciiFolded, compiler: Any, **how: Any) -> str:
    text = compiler.process(element.clauses, **how)
    # A third of the time of SQLite's lower().
    return f"({text} COLLATE NOCASE)" if _is_sqlite(compiler) else f"lower({text})"


@compiles(Like)
def _like(element: Like, compiler: Any, **how: Any) -> str:
    text, pattern = (compiler.process(clause, **how) for clause in element.clauses)
    return f"({text} {'LIKE' if _is_sqlite(compiler) else 'ILIKE'} {pattern} ESCAPE '\\')"


@compiles(Member)
def _member(element: Member, compiler: Any, **how: Any) -> str:
    whole, name = (compiler.process(clause, **how) for clause in element.clauses)
    if _is_sqlite(compiler):
        return f"json_extract({whole}, '$.' || {name})"
    return f"({whole}::json ->> {name})"


@compiles(Joined)
def _joined(element: Joined, compiler: Any, **how: Any) -> str:
    first, second = (compiler.process(clause, **how) for clause in element.clauses)
    if _is_sqlite(compiler):
        return f"json_patch({first}, {second})"
    return f"CAST(CAST({first} AS jsonb) || CAST({second} AS jsonb) AS text)"


@compiles(Elements)
def _elements(element: Elements, compiler: Any, **how: Any) -> str:
    whole = compiler.process(element.clauses, **how)
    if _is_sqlite(compiler):
        return f"json_each({whole})"
    return f"json_array_elements_text(CAST({whole} AS json))"


@compiles(Within)
def _within(element: Within, compiler: Any, **how: Any) -> str:
    name = "instr" if _is_sqlite(compiler) else "strpos"
    return f"({name}({compiler.process(element.clauses, **how)}) > 0)"


def _is_sqlite(compiler: Any) -> bool:
    return bool(compiler.dialect.name == "sqlite")
