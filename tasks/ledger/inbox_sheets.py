"""Sheets as they lie in inboxes: when each was last seen to change, and what was done with it.

The memory of the sweeps. Amounts in credits, moments in Unix seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, Update, func, or_, select, update

from tasks.credits import from_micro, to_micro
from tasks.ledger.database import insert_unless_there
from tasks.ledger.schema import campaigns, events, rows
from tasks.ledger.schema_nights import inbox_sheets
from tasks.ledger.states import NEEDS_PERSON, UNDER_WAY, State

#: Rows that are named in what is told of a night, at most.
NAMED = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class SweptSheet:
    """A sheet of an inbox as it was last seen, and what became of it.

    `version` stands still since `seen_at`; of `dealt_version` the digest is the sha256 (hex) of
    its bytes. `charged_before` and `event_before` are there while a sweep is at it: how its
    campaign stood then.
    """

    name: str
    version: str
    seen_at: float
    dealt_version: str | None = None
    digest: str | None = None
    campaign: str | None = None
    outcome: str | None = None
    charged_before: Decimal | None = None
    event_before: int | None = None
    failures: int = 0
    failed_on: str | None = None
    set_aside_at: float | None = None


def sheets_in(connection: Connection, inbox: str) -> dict[str, SweptSheet]:
    """Return what is known of an inbox's sheets, by name."""
    query = select(*_COLUMNS).where(inbox_sheets.c.inbox == inbox)
    return {found.name: _sheet(found._asdict()) for found in connection.execute(query)}


def sheets_under_way(connection: Connection, inbox: str, *, sandbox: bool) -> list[SweptSheet]:
    """Return the sheets that an inbox has or had whose campaigns have films under way, by name.

    Films of a sandbox, or else none of those.
    """
    under_way = select(rows.c.id).where(
        rows.c.campaign_id == campaigns.c.id, rows.c.state.in_(sorted(UNDER_WAY))
    )
    query = select(*_COLUMNS).join(campaigns, campaigns.c.name == inbox_sheets.c.campaign)
    same = or_(campaigns.c.sandbox.is_(None), campaigns.c.sandbox == sandbox)
    query = query.where(inbox_sheets.c.inbox == inbox, same, under_way.exists())
    return [_sheet(found._asdict()) for found in connection.execute(query.order_by(_COLUMNS[0]))]


def see_sheets(connection: Connection, inbox: str, seen: Mapping[str, str], *, at: float) -> None:
    """Note the versions in which sheets lie there; one that is as before stands still."""
    known = sheets_in(connection, inbox)
    for name, version in seen.items():
        if name not in known:
            new = {"inbox": inbox, "name": name, "version": version, "seen_at": at}
            insert_unless_there(connection, inbox_sheets, new)
        elif known[name].version != version:
            this = _this(inbox, name)
            connection.execute(this.values(version=version, seen_at=at))


def begin_sheet(
    connection: Connection, inbox: str, name: str, *, charged: Decimal, event: int
) -> SweptSheet:
    """Note how a sheet's campaign stands before a sweep is at it; return the sheet.

    What a sweep noted that was killed at it stays: all since then is told by the next one.
    """
    fresh = _this(inbox, name).where(inbox_sheets.c.charged_before.is_(None))
    connection.execute(fresh.values(charged_before=to_micro(charged), event_before=event))
    return sheets_in(connection, inbox)[name]


def end_sheet(connection: Connection, inbox: str, sheet: SweptSheet) -> None:
    """Note what became of a sheet: nobody is at it any more."""
    names = ("dealt_version", "digest", "campaign", "outcome", "failures", "failed_on",
             "set_aside_at")  # fmt: skip
    values = {name: getattr(sheet, name) for name in names}
    this = _this(inbox, sheet.name)
    connection.execute(this.values(**values, charged_before=None, event_before=None))


def delivered_since(connection: Connection, campaign_id: int, event: int) -> tuple[str, ...]:
    """Return the rows of a campaign whose films were delivered after an event, by id."""
    query = (
        select(rows.c.row)
        .join(events, events.c.row_id == rows.c.id)
        .where(events.c.campaign_id == campaign_id, events.c.id > event)
        .where(events.c.new == "delivered", rows.c.state == "delivered")
        .group_by(rows.c.id, rows.c.row, rows.c.position)
    )
    return tuple(connection.scalars(query.order_by(rows.c.position, rows.c.id).limit(NAMED)))


def rows_in_need(connection: Connection, campaign_id: int) -> tuple[str, ...]:
    """Return the rows of a campaign that need a person, by id, in the sheet's order."""
    mine = (rows.c.campaign_id == campaign_id, rows.c.enabled)
    query = select(rows.c.row).where(*mine, rows.c.state.in_(sorted(NEEDS_PERSON)))
    return tuple(connection.scalars(query.order_by(rows.c.position, rows.c.id).limit(NAMED)))


def rows_but(
    connection: Connection, campaign_id: int, states: Collection[State]
) -> tuple[str, ...]:
    """Return the rows of a campaign that are in none of some states, by id, in its order."""
    mine = (rows.c.campaign_id == campaign_id, rows.c.enabled)
    query = select(rows.c.row).where(*mine, rows.c.state.not_in(sorted(states)))
    return tuple(connection.scalars(query.order_by(rows.c.position, rows.c.id).limit(NAMED)))


def states_of(connection: Connection, campaign_id: int) -> dict[str, int]:
    """Return how many rows of a campaign that are switched on there are in each state."""
    query = select(rows.c.state, func.count()).where(
        rows.c.campaign_id == campaign_id, rows.c.enabled
    )
    return dict(connection.execute(query.group_by(rows.c.state)).tuples().all())


_COLUMNS = [inbox_sheets.c[name] for name in SweptSheet.__dataclass_fields__]


def _this(inbox: str, name: str) -> Update:
    return update(inbox_sheets).where(inbox_sheets.c.inbox == inbox, inbox_sheets.c.name == name)


def _sheet(values: dict[str, object]) -> SweptSheet:
    charged = from_micro(values["charged_before"])  # type: ignore[call-overload]
    return SweptSheet(**{**values, "charged_before": charged})
