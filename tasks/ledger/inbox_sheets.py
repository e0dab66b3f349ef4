"""Sheets as they lie in inboxes: when each was last seen to change, and what was done with it.

The memory of the sweeps. Amounts in credits, moments in Unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Update,
    and_,
    delete,
    func,
    or_,
    select,
    update,
)

from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import campaigns, events, rows
from callsheet.tasks.ledger.schema_runs import inbox_campaigns, inbox_sheets
from callsheet.tasks.ledger.values import NEEDS_PERSON, UNDER_WAY, State
from callsheet.tasks.values.amounts import from_micro, to_micro

#: Rows that are named in what is told of a night, at most.
NAMED = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class SweptSheet:
    """A sheet of an inbox as it was last seen, and what became of it.

    `version` stands still since `seen_at`; of `dealt_version` the digest is the sha256 (hex) of
    its bytes. `charged_before` and `event_before` are there while a scan processes `campaign`: how
    that stood before. `former`: the sheet has another campaign by now.
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
    former: bool = False


def sheets_in(connection: Connection, inbox: str) -> dict[str, SweptSheet]:
    """Return what is known of an inbox's sheets, by name."""
    found = _SHEETS.all(connection, _SHEETS.query.where(inbox_sheets.c.inbox == inbox))
    return {one.name: one for one in found}


def sheets_under_way(connection: Connection, inbox: str, *, sandbox: bool) -> list[SweptSheet]:
    """Return the campaigns of an inbox that are to be finished, each with its sheet, by name.

    Of any sheet and campaign that the inbox has or had: videos are under way, or a scan was killed
    before it reported them. Only videos of a sandbox, or else none of those.
    """
    known = sheets_in(connection, inbox)
    same = or_(campaigns.c.sandbox.is_(None), campaigns.c.sandbox == sandbox)
    found = []
    for name, campaign, charged, event in connection.execute(_unfinished(inbox).where(same)):
        sheet = known[name]
        if sheet.campaign != campaign:
            # What is known of the file is of its present campaign.
            sheet = SweptSheet(name=name, version=sheet.version, seen_at=sheet.seen_at, former=True)
        before = {"charged_before": from_micro(charged), "event_before": event}
        found.append(replace(sheet, campaign=campaign, **before))
    return found


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


def begin_campaign(
    connection: Connection, inbox: str, sheet: SweptSheet, *, charged: Decimal, event: int
) -> SweptSheet:
    """Note that a scan processes the campaign of a sheet, and how it stood before; return those.

    Before anything of it is paid for: a scan that is killed is followed by one that knows of the
    campaign, whatever became of the file. What a killed scan noted stays, also under another
    sheet's name: everything since then is reported by the next one.
    """
    assert sheet.campaign is not None, "only a sheet that was read is processed"
    if not sheet.former:
        connection.execute(_this(inbox, sheet.name).values(campaign=sheet.campaign))
    mine = _of_campaign(inbox, sheet.campaign)
    fresh = {"inbox": inbox, "sheet": sheet.name, "campaign": sheet.campaign}
    insert_unless_there(connection, inbox_campaigns, fresh)
    first = select(func.min(_BEFORE[0]), func.min(_BEFORE[1])).where(*mine)
    left, left_event = connection.execute(first).one()
    noted = {
        "charged_before": to_micro(charged) if left is None else left,
        "event_before": event if left_event is None else left_event,
    }
    this = update(inbox_campaigns).where(*mine, inbox_campaigns.c.sheet == sheet.name)
    connection.execute(this.values(**noted))
    return replace(
        sheet,
        charged_before=from_micro(noted["charged_before"]),
        event_before=noted["event_before"],
    )


def end_sheet(connection: Connection, inbox: str, sheet: SweptSheet) -> None:
    """Note what became of a sheet: no scan processes it any more.

    Of its former campaigns those are forgotten in which nothing is under way.
    """
    if not sheet.former:
        names = ("dealt_version", "digest", "campaign", "outcome", "failures", "failed_on",
                 "set_aside_at")  # fmt: skip
        values = {name: getattr(sheet, name) for name in names}
        connection.execute(_this(inbox, sheet.name).values(**values))
    if sheet.campaign is not None:
        ended = update(inbox_campaigns).where(*_of_campaign(inbox, sheet.campaign))
        connection.execute(ended.values(charged_before=None, event_before=None))
    present = select(inbox_sheets.c.campaign).where(
        inbox_sheets.c.inbox == inbox, inbox_sheets.c.name == sheet.name
    )
    over = delete(inbox_campaigns).where(
        inbox_campaigns.c.inbox == inbox,
        inbox_campaigns.c.sheet == sheet.name,
        inbox_campaigns.c.campaign != present.scalar_subquery(),
        inbox_campaigns.c.charged_before.is_(None),
        ~select(campaigns.c.id)
        .where(campaigns.c.name == inbox_campaigns.c.campaign, _UNDER_WAY)
        .exists(),
    )
    connection.execute(over)


def delivered_since(connection: Connection, campaign_id: int, event: int) -> tuple[str, ...]:
    """Return the rows of a campaign whose videos were delivered after an event, by id."""
    query = (
        select(rows.c.row)
        .join(events, events.c.row_id == rows.c.id)
        .where(events.c.campaign_id == campaign_id, events.c.id > event)
        .where(events.c.new == "delivered", rows.c.state == "delivered")
        .group_by(rows.c.id, rows.c.row, rows.c.position)
    )
    return tuple(connection.scalars(query.order_by(rows.c.position, rows.c.id).limit(NAMED)))


def rows_in_need(connection: Connection, campaign_id: int) -> list[tuple[str, State, str | None]]:
    """Return id, state and reason of the rows that need a person, in the sheet's order."""
    mine = (rows.c.campaign_id == campaign_id, rows.c.enabled)
    query = select(rows.c.row, rows.c.state, rows.c.reason)
    query = query.where(*mine, rows.c.state.in_(sorted(NEEDS_PERSON)))
    found = connection.execute(query.order_by(rows.c.position, rows.c.id).limit(NAMED))
    return [(row, state, reason) for row, state, reason in found]


_BEFORE = (inbox_campaigns.c.charged_before, inbox_campaigns.c.event_before)
_SHEETS = Records(
    SweptSheet,
    inbox_sheets,
    joined=inbox_sheets.outerjoin(
        inbox_campaigns,
        and_(
            inbox_campaigns.c.inbox == inbox_sheets.c.inbox,
            inbox_campaigns.c.sheet == inbox_sheets.c.name,
            inbox_campaigns.c.campaign == inbox_sheets.c.campaign,
        ),
    ),
    charged_before=_BEFORE[0],
    event_before=_BEFORE[1],
)
_UNDER_WAY = (
    select(rows.c.id)
    .where(rows.c.campaign_id == campaigns.c.id, rows.c.state.in_(sorted(UNDER_WAY)))
    .exists()
)


def _unfinished(inbox: str) -> Select[Any]:
    """Return a query of the campaigns that sheets of an inbox have or had, and are not finished."""
    of_sheet = (inbox_campaigns.c.sheet, inbox_campaigns.c.campaign)
    query = select(*of_sheet, *_BEFORE).join(
        campaigns, campaigns.c.name == inbox_campaigns.c.campaign
    )
    wanted = or_(_UNDER_WAY, inbox_campaigns.c.charged_before.is_not(None))
    return query.where(inbox_campaigns.c.inbox == inbox, wanted).order_by(*of_sheet)


def _of_campaign(inbox: str, campaign: str) -> tuple[ColumnElement[bool], ...]:
    return inbox_campaigns.c.inbox == inbox, inbox_campaigns.c.campaign == campaign


def _this(inbox: str, name: str) -> Update:
    return update(inbox_sheets).where(inbox_sheets.c.inbox == inbox, inbox_sheets.c.name == name)
