"""Takes and their money.

Intent, acceptance, refusal, settlement, correction; and a new take of a row.

Each function is one change for `Ledger.write`; the move of the row, the take, its accounts
(`accounts`) and the event are one transaction. Each returns False (or None) when the row had
moved on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select

from callsheet.tasks.ledger.accounts import MARKS, Terms, book, book_marked, marks_of, reserve
from callsheet.tasks.ledger.earlier_takes import MAYBE_PAID, is_refused
from callsheet.tasks.ledger.moves import begin, move, note
from callsheet.tasks.ledger.schema import calls, events, rows, takes
from callsheet.tasks.ledger.service_state import close_call
from callsheet.tasks.ledger.statements import Prepared, gathers, later
from callsheet.tasks.ledger.values import TAKES, THIS_TAKE, CampaignRow, State, Take
from callsheet.tasks.runtime.errors import LedgerError
from callsheet.tasks.values.amounts import as_text, from_micro, in_credits, to_micro
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.edits import edit_of

_INSERT = Prepared(
    insert(takes).returning(takes.c.id),
    columns=("row_id", "campaign_id", "number", "nth", "key", "digest", "body", "quoted",
             "reserved", "intended_at", "service", *(column.name for column in MARKS)),
)  # fmt: skip
_REINTEND = THIS_TAKE.values(
    intended_at=bindparam("moment"),
    refused_at=None,
    cancel_requested_at=None,
    reserved=bindparam("held"),
    quoted=bindparam("price"),
    service=bindparam("the_service"),
    day=bindparam("the_day"),
    cost_center=bindparam("the_cost_center"),
    run=bindparam("the_run"),
)
_REFUSED = THIS_TAKE.values(refused_at=bindparam("moment"), reserved=0)
_ACCEPTED = Prepared(THIS_TAKE.values(accepted_at=bindparam("moment"), video_id=bindparam("video")))
_CHARGED = Prepared(
    THIS_TAKE.where(takes.c.charged.is_(None), takes.c.reserved == bindparam("held"))
    .values(ready_at=bindparam("moment"), reserved=0, charged=bindparam("cost"))
    .returning(*MARKS)
)
_CORRECTED = THIS_TAKE.where(takes.c.charged == bindparam("old")).values(charged=bindparam("cost"))
#: The accounts that a take counts in, and the service that it goes to, as its columns have them.
Marks = Mapping[str, str | None]
# What the take itself says, whatever the caller remembers of it.
_RESERVED = select(takes.c.reserved).where(takes.c.id == bindparam("the_take"))
_UNSETTLED = _RESERVED.where(takes.c.charged.is_(None))
_BY_KEY = TAKES.query.where(takes.c.key == bindparam("the_key"))
# With the number of its last take, and with the take that has the key.
_LOCKED = Prepared(
    select(
        rows.c.state,
        rows.c.digest,
        rows.c.nth,
        rows.c.operation,
        rows.c.quoted,
        rows.c.cost_center,
        rows.c.claim,
        select(func.max(takes.c.number)).where(takes.c.row_id == rows.c.id).scalar_subquery(),
        select(takes.c.id).where(takes.c.key == bindparam("the_key")).scalar_subquery(),
        is_refused(),
    )
    .where(rows.c.id == bindparam("the_row"))
    .with_for_update()
)

# When a row was approved last: one that was refused for now is approved as it was, later. Without
# its history, which may be forgotten, it is so since then.
_APPROVED_AT = func.coalesce(
    select(func.max(events.c.at))
    .where(
        events.c.row_id == bindparam("the_row"),
        events.c.old == "quoted",
        events.c.new == "approved",
    )
    .scalar_subquery(),
    bindparam("since"),
)
# The first edit or clip of a kind that has cost more than was set aside, since a row was approved.
_DEARER = (
    select(takes.c.charged, takes.c.quoted)
    .join(calls, calls.c.take_id == takes.c.id)
    .where(
        takes.c.campaign_id == bindparam("the_campaign"),
        calls.c.operation == bindparam("the_operation"),
        takes.c.charged > takes.c.quoted,
        takes.c.ready_at >= _APPROVED_AT,
    )
    .limit(1)
)


@gathers
def open_take(
    connection: Connection,
    row: CampaignRow,
    *,
    key: str,
    body: bytes,
    at: float,
    service: str | None = None,
    terms: Terms | None = None,
) -> Take | None:
    """Record the intent to pay: `approved -> submitting`, frozen body, key, reservation.

    `service` is where the request goes. Returns the take, whose bytes may be sent once this is
    committed; None when the row had moved on or was approved anew, at another price or for another
    cost center, or when `terms.owner` no longer holds the campaign or its worker the row. A row
    that an account does not cover, or that another ledger may have paid for, is `held` with the
    reason; so is an edit or a clip once another of its kind has cost more than was set aside.
    """
    terms = terms or Terms()
    # Held until the end of the transaction, so that what follows cannot be overtaken.
    locked = _LOCKED.execute(connection, {"the_row": row.id, "the_key": key}).one()
    *found, claim, last, again, maybe_paid = locked
    asked = (row.digest, row.nth, row.operation, to_micro(row.quoted), row.cost_center)
    if tuple(found) != ("approved", *asked):
        return None
    if terms.claim is not None and claim != terms.claim:
        return None
    if maybe_paid:
        move(connection, row, "held", at=at, reason=MAYBE_PAID)
        return None
    if dearer := _dearer(connection, row):
        move(connection, row, "held", at=at, reason=dearer)
        return None
    refused = reserve(connection, row, terms, at=at)
    if refused is not None:
        if refused.reason is not None:
            move(connection, row, "held", at=at, reason=refused.reason)
        return None
    marks = {**marks_of(terms.accounts(row, at=at)), "service": service}
    if again is None:
        number = (last or 0) + 1
        take = _new(connection, row, number=number, key=key, body=body, at=at, marks=marks)
    else:
        take = _again(connection, row, key=key, at=at, marks=marks)
    begin(connection, row, take, at=at)
    return take


def _dearer(connection: Connection, row: CampaignRow) -> str | None:
    """Return why an approved row without a quote is not sent: its limit has proved wrong."""
    if row.operation == CREATE:
        return None
    of = {"the_campaign": row.campaign_id, "the_operation": row.operation}
    found = connection.execute(_DEARER, {**of, "the_row": row.id, "since": row.since}).first()
    if found is None:
        return None
    instead = ", or make a new video (--edits retake)" if edit_of(row.operation) else ""
    return (
        f"another {row.operation} has cost {in_credits(from_micro(found.charged))} instead of at "
        f"most {as_text(from_micro(found.quoted))}: nothing was spent on this one; set max_credits "
        f"to that or more{instead}"
    )


@gathers
def accept(
    connection: Connection, row: CampaignRow, take: Take, *, video_id: str, at: float
) -> bool:
    """Record the service's answer to a create: `submitting -> rendering`."""
    if not move(connection, row, "rendering", at=at, take=take):
        return False
    if not take.keyed:
        close_call(connection, take_id=take.id, outcome="made", video_id=video_id, at=at)
    later(connection, _ACCEPTED, [{"the_take": take.id, "moment": at, "video": video_id}])
    return True


@gathers
def refuse(
    connection: Connection, row: CampaignRow, take: Take, *, new: State, reason: str, at: float
) -> bool:
    """Record that nothing was made, refused or never sent: release the money, move the row."""
    if not move(connection, row, new, at=at, reason=reason, take=take):
        return False
    if not take.keyed:
        close_call(connection, take_id=take.id, outcome="refused", at=at)
    reserved = connection.execute(_RESERVED, {"the_take": take.id}).scalar_one()
    connection.execute(_REFUSED, {"the_take": take.id, "moment": at})
    book(connection, campaign_id=row.campaign_id, take_id=take.id, released=reserved, cost=0)
    return True


@gathers
def settle(
    connection: Connection,
    row: CampaignRow,
    take: Take,
    *,
    new: State,
    charged: Decimal | None,
    at: float,
    reason: str | None = None,
) -> bool:
    """Record that a render has ended and what it cost; a reservation becomes a charge.

    `charged` is what the service reported, else what was reserved; 0 releases it.
    """
    if not move(connection, row, new, at=at, reason=reason, take=take):
        return False
    if not _charge(connection, row, take, held=to_micro(take.reserved), charged=charged, at=at):
        # It is settled, or has set something else aside than the caller remembers.
        held = connection.scalar(_UNSETTLED, {"the_take": take.id})
        if held is not None:
            _charge(connection, row, take, held=held, charged=charged, at=at)
    return True


def correct_charge(
    connection: Connection, row: CampaignRow, take: Take, *, charged: Decimal, at: float
) -> bool:
    """Book what the service says a take has cost; return False if it was changed meanwhile.

    A take that is under way is settled by the run that processes it, and one that its row has left
    behind by nobody else.
    """
    if take.charged is None:
        if take.stands and row.take is not None and row.take.id == take.id:
            return False
        held = to_micro(take.reserved)
        if not _charge(connection, row, take, held=held, charged=charged, at=at):
            return False
        words = f"{in_credits(charged)} for a take that was left behind, as the service says"
        note(connection, row, "charge", words, at=at, take=take)
        return True
    old, new = to_micro(take.charged), to_micro(charged)
    values = {"the_take": take.id, "old": old, "cost": new}
    if connection.execute(_CORRECTED, values).rowcount != 1:
        return False
    book(connection, campaign_id=row.campaign_id, take_id=take.id, released=0, cost=new - old)
    words = f"{in_credits(charged)} instead of {as_text(take.charged)}, as the service says"
    note(connection, row, "charge", words, at=at, take=take)
    return True


def _charge(
    connection: Connection,
    row: CampaignRow,
    take: Take,
    *,
    held: int,
    charged: Decimal | None,
    at: float,
) -> bool:
    """Turn what a take has set aside, exactly `held`, into its cost; False where that is not so."""
    unpriced = take.quoted is None and charged is None
    cost = held if charged is None else to_micro(charged)
    values = {"the_take": take.id, "moment": at, "cost": None if unpriced else cost, "held": held}
    marks = _CHARGED.execute(connection, values).first()
    if marks is None:
        return False
    book_marked(connection, row.campaign_id, marks, released=held, cost=cost)
    _note_excess(connection, row, take, cost=cost, at=at)
    return True


def _note_excess(
    connection: Connection, row: CampaignRow, take: Take, *, cost: int, at: float
) -> None:
    """Leave word of a charge beyond the quote: no budget can hold it, so people must see it."""
    if take.quoted is None or cost <= to_micro(take.quoted):
        return
    excess = as_text(from_micro(cost) - take.quoted)
    words = f"{in_credits(from_micro(cost))}, {excess} more than quoted"
    note(connection, row, "charge", words, at=at, take=take)


def _again(connection: Connection, row: CampaignRow, *, key: str, at: float, marks: Marks) -> Take:
    """Take up a refused take of the same brief: nothing was made, so the same key goes again.

    It need not be the row's present one: the sheet may have been changed and changed back.
    """
    take = TAKES.read(connection.execute(_BY_KEY, {"the_key": key}).one())
    if take.refused_at is None:
        raise LedgerError(f"take {take.number} of {row.row} stands: its key {key} is not free")
    price = row.quoted
    connection.execute(
        _REINTEND,
        {
            "the_take": take.id,
            "moment": at,
            "held": to_micro(price or Decimal(0)),
            "price": to_micro(price),
            **{f"the_{name}": mark for name, mark in marks.items()},
        },
    )
    note(connection, row, "take", f"take {take.number} again, key {take.key}", at=at, take=take)
    return replace(
        take,
        quoted=price,
        reserved=price or Decimal(0),
        refused_at=None,
        cancel_requested_at=None,
        intended_at=at,
        service=marks["service"],
    )


def _new(
    connection: Connection,
    row: CampaignRow,
    *,
    number: int,
    key: str,
    body: bytes,
    at: float,
    marks: Marks,
) -> Take:
    values: dict[str, Any] = {
        "number": number,
        "nth": row.nth,
        "key": key,
        "digest": row.digest,
        "body": body,
        "intended_at": at,
    }
    price = to_micro(row.quoted)
    amounts = {"quoted": price, "reserved": price or 0}
    whose = {"row_id": row.id, "campaign_id": row.campaign_id}
    take_id = _INSERT.execute(connection, {**whose, **values, **amounts, **marks}).scalar_one()
    values["service"] = marks["service"]
    return Take(id=take_id, quoted=row.quoted, reserved=row.quoted or Decimal(0), **values)
