"""Which schema a ledger has, and the oldest whose programs work on it.

A migration says the latter (`works_with`), and whoever migrates writes it beside the number, with
the schema that it was said of: a number that came there by other means has no such word, and is
for its own program alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from sqlalchemy import Connection, column, inspect, select, table, text, update

from callsheet.tasks.errors import LedgerNewer
from callsheet.tasks.ledger.schema import REVISION, VERSION_TABLE

#: What the table of the version was called at first, and what else a ledger has had from the start.
FORMERLY = "alembic_version"
_FROM_THE_START = {"campaigns", "rows", "takes", "gates"}

_VERSION = table(VERSION_TABLE, column("version_num"), column("works_with"), column("said_by"))


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaVersion:
    """The schema of a ledger, and the oldest whose programs work on it."""

    number: str
    works_with: str
    #: Where that is written.
    table: str = VERSION_TABLE

    @property
    def is_newer(self) -> bool:
        """Whether a later program has made it."""
        return order_of(self.number) > order_of(REVISION)

    @property
    def is_older(self) -> bool:
        """Whether it is for this program to upgrade."""
        return order_of(self.number) < order_of(REVISION)

    def check(self) -> None:
        """Raise LedgerNewer where this program is too old for it."""
        if self.is_newer and order_of(self.works_with) > order_of(REVISION):
            raise LedgerNewer(
                f"this ledger has schema {self.number}, which is newer than this Callsheet knows "
                f"({REVISION}); nothing was spent",
                remedy="upgrade Callsheet, or point CALLSHEET_LEDGER at another ledger",
            )


def works_until(version: SchemaVersion) -> str:
    """Say of a newer schema that programs like this one go on with it."""
    return f"newer than this Callsheet's ({REVISION}), which works with it until the next upgrade"


def order_of(number: str) -> int:
    """Return what schemas are compared by; what is no number of ours is newer than all of them."""
    return int(number) if number.isdecimal() else sys.maxsize


def version_of(connection: Connection) -> SchemaVersion | None:
    """Return the schema of a ledger of any age, or None for a database without one."""
    name = _table_of(connection)
    if name is None:
        return None
    # Every column: which there are depends on its age.
    found = connection.execute(text(f"SELECT * FROM {name}")).mappings().first()
    if found is None:
        return None
    number = str(found["version_num"])
    told = found.get("works_with") if found.get("said_by") == number else None
    return SchemaVersion(number=number, works_with=told or number, table=name)


def note_version(connection: Connection, works_with: str) -> None:
    """Write beside a ledger's number, just brought to REVISION, with which schema it works."""
    connection.execute(update(_VERSION).values(works_with=works_with, said_by=REVISION))


def check_still_works(connection: Connection) -> None:
    """Raise LedgerNewer where somebody has brought the ledger past this program since it opened."""
    query = select(_VERSION).where(_VERSION.c.version_num != REVISION)
    if (found := connection.execute(query).first()) is not None:
        number, told, said_by = found
        SchemaVersion(number=number, works_with=told if said_by == number else number).check()


def _table_of(connection: Connection) -> str | None:
    """Return the table that says which schema a ledger has; another application's is none."""
    inspector = inspect(connection)
    if inspector.has_table(VERSION_TABLE):
        return VERSION_TABLE
    if not inspector.has_table(FORMERLY):
        return None
    return FORMERLY if set(inspector.get_table_names()) >= _FROM_THE_START else None
