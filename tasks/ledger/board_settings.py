"""Settings that an admin has set on the board, for every machine that uses the ledger.

They are obeyed where neither the environment nor a profile sets them. Knows no setting by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema_runs import board_settings as table
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import with_board


@dataclass(frozen=True, kw_only=True)
class BoardSetting:
    """A value as it was written, who set it, and when (Unix seconds)."""

    name: str
    value: str
    by: str
    at: float


def board_settings(connection: Connection) -> Mapping[str, BoardSetting]:
    """Return what was set on the board, by name."""
    return {one.name: one for one in _SETTINGS.all(connection, _SETTINGS.query)}


def in_force(connection: Connection, settings: Settings, *, again: bool = False) -> Settings:
    """Return settings with what was set on the board; what environment or profile set wins.

    Every door asks here once it has opened the ledger. What a run has begun with stays, unless it
    is asked for `again`. Raise ConfigurationError for a value that this Callsheet cannot read.
    """
    if settings.set_on_board is not None and not again:
        return settings
    found = board_settings(connection)
    return with_board(settings, {name: one.value for name, one in found.items()})


def set_on_board(
    connection: Connection, name: str, value: str | None, *, by: str, at: float
) -> None:
    """Keep the value of a setting, or with None forget it; the audit log has both."""
    connection.execute(delete(table).where(table.c.name == name))
    if value is not None:
        connection.execute(table.insert().values(name=name, value=value, by=by, at=at))
    said = f"{name} back to its default" if value is None else f"{name}: {value}"
    note_act(connection, act="set", by=by, at=at, words=said)


_SETTINGS = Records(BoardSetting, table)
