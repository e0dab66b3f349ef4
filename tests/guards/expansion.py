"""What a migration does that a program of the schema before cannot go on with.

It is executed on a ledger of that schema, and the tables before and after are compared, besides
the lines that it writes. Strict rather than clever: what cannot be told here counts as harmful.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, event, inspect, text

from callsheet.tasks.ledger.database import order_of

#: So large that to make an index of them keeps whoever writes waiting for too long.
LARGE = {"rows", "takes", "events", "deliveries"}
#: Nobody removes a line of these: others may refer to them.
KEPT = {"campaigns", "rows", "takes"}


@dataclass(frozen=True)
class Harm:
    """What older programs cannot go on with; `dropped` is what is gone, as `table.name`."""

    words: str
    dropped: str | None = None


def harms(connection: Connection, upgrade: Callable[[], None]) -> list[Harm]:
    """Carry out a migration's `upgrade` and return what it does to programs of before."""
    statements: list[str] = []

    def hear(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(" ".join(statement.split()))

    before = _tables(connection)
    event.listen(connection, "before_cursor_execute", hear)
    try:
        with Operations.context(MigrationContext.configure(connection)):
            upgrade()
    finally:
        event.remove(connection, "before_cursor_execute", hear)
    after = _tables(connection)
    found = list(_dropped(before, after))
    for name in before.keys() & after.keys():
        found += _of_columns(name, before[name], after[name])
        found += _of_rules(name, before[name], after[name])
    found += _of_references(before, after)
    found += _of_lines(before, statements)
    return found


def wrong(
    revision: str,
    works_with: str | None,
    *,
    oldest: str,
    found: Collection[Harm],
    left: Collection[str] = (),
) -> list[str]:
    """Return what is wrong with what a migration says that it works with.

    `oldest` is the oldest schema that the ledger before it works with; `left` what migrations up
    to `works_with` say that nobody uses any more.
    """
    if works_with is None:
        return ["it does not say which schema's programs work on what it makes"]
    if not order_of(oldest) <= order_of(works_with) <= order_of(revision):
        return [f"it cannot work with {works_with}: the schema before works with {oldest}"]
    if works_with == revision:
        return []
    may_drop = set() if works_with == oldest else set(left)
    return [harm.words for harm in found if harm.dropped is None or harm.dropped not in may_drop]


@dataclass(frozen=True)
class _Table:
    """A table as the database tells of it."""

    columns: dict[str, Any]
    indexes: dict[str, Any]
    uniques: frozenset[tuple[str, ...]]
    checks: frozenset[str]
    references: frozenset[tuple[tuple[str, ...], str, str]]
    triggers: frozenset[str]

    def fills(self, name: str) -> bool:
        """Whether something is in a column that whoever writes says nothing of."""
        column = self.columns[name]
        return not column["nullable"] or column["default"] is not None


def _tables(connection: Connection) -> dict[str, _Table]:
    inspector = inspect(connection)
    triggers = connection.execute(
        text("SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'")
    ).all()
    return {
        name: _Table(
            columns={one["name"]: one for one in inspector.get_columns(name)},
            indexes={str(one["name"]): one for one in inspector.get_indexes(name)},
            uniques=frozenset(
                tuple(one["column_names"]) for one in inspector.get_unique_constraints(name)
            ),
            checks=frozenset(str(one["sqltext"]) for one in inspector.get_check_constraints(name)),
            references=frozenset(
                (
                    tuple(one["constrained_columns"]),
                    one["referred_table"],
                    str(one.get("options", {}).get("ondelete", "")),
                )
                for one in inspector.get_foreign_keys(name)
            ),
            triggers=frozenset(trigger for table, trigger in triggers if table == name),
        )
        for name in inspector.get_table_names()
    }


def _dropped(before: dict[str, _Table], after: dict[str, _Table]) -> Iterator[Harm]:
    for name, table in before.items():
        if name not in after:
            yield Harm(f"table {name} is gone", dropped=name)
            continue
        for what in ("columns", "indexes"):
            for one in getattr(table, what).keys() - getattr(after[name], what).keys():
                yield Harm(f"{name}.{one} is gone", dropped=f"{name}.{one}")
        for columns in table.uniques - after[name].uniques:
            yield Harm(f"{name} may have the same {columns} twice")


def _of_columns(name: str, before: _Table, after: _Table) -> Iterator[Harm]:
    for column, now in after.columns.items():
        then = before.columns.get(column)
        if then is None:
            if not now["nullable"] and now["default"] is None:
                yield Harm(f"{name}.{column} has to be written, and older programs do not")
            continue
        if str(then["type"]) != str(now["type"]):
            yield Harm(f"{name}.{column} has another type")
        if then["nullable"] != now["nullable"]:
            yield Harm(f"{name}.{column} may be empty, or may no longer be")
        if then["default"] != now["default"]:
            yield Harm(f"{name}.{column} has another default")


def _of_rules(name: str, before: _Table, after: _Table) -> Iterator[Harm]:
    for columns in after.uniques - before.uniques:
        yield from _of_unique(name, columns, before, after)
    for index in after.indexes.keys() - before.indexes.keys():
        made = after.indexes[index]
        columns = tuple(one for one in made["column_names"] if one is not None)
        if made["unique"]:
            yield from _of_unique(name, columns, before, after)
        # One of what is nowhere as yet is made without a line being sorted.
        where = str(made.get("dialect_options", {}).get("sqlite_where", ""))
        new = after.columns.keys() - before.columns.keys()
        if name in LARGE and not any(f"{one} IS NOT NULL" in where for one in new):
            yield Harm(f"{name}.{index} is made of a large table while others wait to write")
    for check in after.checks - before.checks:
        yield Harm(f"{name} takes only what fits {check}")
    for trigger in after.triggers - before.triggers:
        yield Harm(f"{name} has a trigger {trigger}")


def _of_unique(
    name: str, columns: tuple[str, ...], before: _Table, after: _Table
) -> Iterator[Harm]:
    # Where one of them is empty no two lines are the same.
    if not any(one not in before.columns and not after.fills(one) for one in columns):
        yield Harm(f"{name} refuses the same {columns} twice")


def _of_references(before: dict[str, _Table], after: dict[str, _Table]) -> Iterator[Harm]:
    for name, table in after.items():
        known = before[name].references if name in before else frozenset()
        for columns, parent, on_delete in table.references - known:
            if name in before and any(one in before[name].columns for one in columns):
                yield Harm(f"{name}.{columns} has to refer to {parent}")
            if parent in before and parent not in KEPT and not on_delete:
                yield Harm(f"{name} keeps older programs from removing lines of {parent}")


def _of_lines(before: dict[str, _Table], statements: list[str]) -> Iterator[Harm]:
    for statement in statements:
        if statement.upper().startswith("WITH "):
            yield Harm(f"nobody can tell what {statement} does")
        found = re.match(r'(UPDATE|DELETE FROM|INSERT INTO)\s+"?(\w+)"?', statement, re.IGNORECASE)
        if found is None or (table := found[2]) not in before:
            continue
        verb = found[1].upper()
        if verb != "UPDATE":
            yield Harm(f"{verb} {table}: its lines are those of older programs")
            continue
        for column in _assigned(statement):
            if column in before[table].columns:
                yield Harm(f"{table}.{column} is written anew, and older programs read it")


def _assigned(statement: str) -> Iterator[str]:
    """Return the columns that an UPDATE sets."""
    parts, depth = [""], 0
    for letter in re.split(r"\bSET\b", statement, maxsplit=1, flags=re.IGNORECASE)[1]:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    for part in parts:
        yield part.partition("=")[0].strip(' "').rpartition(".")[2]
