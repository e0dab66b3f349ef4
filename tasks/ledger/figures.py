"""Figures and digests of rows: quoted, reserved, charged, and what tells that nothing changed.

Each is defined here once, over all takes of a row, and every page, file and command that shows
one takes it from here: what its rows show adds up to what a campaign shows (docs/money.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
    union,
)

from callsheet.tasks.ledger.schema import NOT_FIRST, VARIED, rows, takes
from callsheet.tasks.ledger.statements import Prepared
from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.values.amounts import as_number, from_micro

NAMES = ("quoted", "reserved", "charged", "paid_before", "variance")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """The figures of one row, in credits; `charged` is None while no take of it has ended."""

    quoted: Decimal | None = None
    reserved: Decimal = Decimal(0)
    charged: Decimal | None = None
    paid_before: Decimal = Decimal(0)
    variance: Decimal = Decimal(0)


def total(amount: ColumnElement[Any]) -> ColumnElement[int]:
    """Return a sum in millionths, which Postgres would widen."""
    return cast(func.sum(amount), BigInteger)


def _or_nothing(amount: ColumnElement[Any]) -> ColumnElement[int]:
    return func.coalesce(total(amount), 0)


# The video that the row asks for now; whatever else was made for it was paid for before.
_WANTED = and_(takes.c.digest == rows.c.digest, takes.c.nth == rows.c.nth)

#: A line for each row: its id, campaign, state, and figures in millionths.
FIGURES: Select[Any] = (
    select(
        rows.c.id,
        rows.c.campaign_id,
        rows.c.state,
        # What has left the sheet is not going to be made at that price.
        case((rows.c.state == "retired", None), else_=rows.c.quoted).label("quoted"),
        _or_nothing(takes.c.reserved).label("reserved"),
        total(takes.c.charged).label("charged"),
        _or_nothing(case((_WANTED, 0), else_=takes.c.charged)).label("paid_before"),
        # Of a take without a readable quote, or without an end, there is no difference to tell.
        _or_nothing(takes.c.charged - takes.c.quoted).label("variance"),
    )
    .outerjoin(takes, takes.c.row_id == rows.c.id)
    .group_by(rows.c.id, rows.c.campaign_id, rows.c.state, rows.c.quoted)
)


def figures_of(
    connection: Connection,
    campaign_id: int,
    *,
    numbers: Sequence[int] | None = None,
) -> Mapping[int, Figures]:
    """Return the figures of each row of a campaign by its number: of all, or of those `numbers`."""
    query = FIGURES.where(rows.c.campaign_id == campaign_id)
    if numbers is not None:
        query = query.where(rows.c.id.in_(numbers))
    return {
        number: Figures(**dict(zip(NAMES, map(from_micro, amounts), strict=True)))
        for number, _, _, *amounts in connection.execute(query)
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Rows by state, the sums of their figures over every run, and the budget."""

    rows: Mapping[State, int]
    quoted: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    charged: Decimal = Decimal(0)
    paid_before: Decimal = Decimal(0)
    variance: Decimal = Decimal(0)
    budget: Decimal | None = None
    #: The part of `charged` that another ledger paid for, and that was found.
    found: Decimal = Decimal(0)

    @property
    def paid_here(self) -> Decimal:
        """What runs with this ledger were charged."""
        return self.charged - self.found

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(self.rows.values())

    @property
    def left(self) -> Decimal | None:
        """What of the budget may still be set aside; below 0 where charges went beyond it."""
        return None if self.budget is None else self.budget - self.reserved - self.charged

    def credits_as_json(self) -> dict[str, int | float | None]:
        """Return the amounts as JSON: the figures, the budget, and what is left of it."""
        names = (*NAMES, "budget", "left")
        return {name: as_number(getattr(self, name)) for name in names}

    def as_json(self) -> dict[str, int]:
        """Return the counts as JSON: `total`, then every state that has rows."""
        return {"total": self.total, **{str(state): n for state, n in self.rows.items()}}


# In these a row's only take is of the video that it asks for now.
_OWN = ("submitting", "rendering", "ready", "delivered")
_THIS = bindparam("campaign_id", type_=Integer)
_COUNTS = Prepared(
    lambda: (
        select(rows.c.state, func.count().label("rows"), _or_nothing(rows.c.quoted).label("quoted"))
        .where(rows.c.campaign_id == _THIS)
        .group_by(rows.c.state)
    )
)
_VARIANCE = Prepared(
    lambda: select(_or_nothing(takes.c.charged - takes.c.quoted)).where(
        VARIED, takes.c.campaign_id == _THIS
    )
)


def _paid_before() -> Select[Any]:
    """Return what asks only of rows that may have been paid for before: few, found by indexes."""
    others: list[ColumnElement[str]] = [
        literal_column(f"'{state}'") for state in STATES if state not in _OWN
    ]
    left = select(rows.c.id).where(
        rows.c.campaign_id == _THIS, rows.c.state.in_(others), rows.c.take_id.is_not(None)
    )
    again = select(takes.c.row_id).where(takes.c.campaign_id == _THIS, NOT_FIRST)
    few = union(left, again).subquery()
    return (
        select(_or_nothing(case((_WANTED, 0), else_=takes.c.charged)))
        .select_from(few)
        .join(rows, rows.c.id == few.c.id)
        .join(takes, takes.c.row_id == rows.c.id)
    )


_PAID_BEFORE = Prepared(_paid_before)


def sums_of(connection: Connection, campaign_id: int) -> Tally:
    """Return what the figures of a campaign's rows add up to, from indexes alone where it is so.

    What is set aside and charged is not among it: that is the campaign's account.
    """
    this = {"campaign_id": campaign_id}
    counted = _COUNTS.execute(connection, this).all()
    by_state = {found.state: found.rows for found in counted}
    return Tally(
        rows={state: by_state[state] for state in STATES if state in by_state},
        quoted=from_micro(sum(found.quoted for found in counted if found.state != "retired")),
        paid_before=from_micro(_PAID_BEFORE.execute(connection, this).scalar() or 0),
        variance=from_micro(_VARIANCE.execute(connection, this).scalar() or 0),
    )


# Outlines: what is read of every row of a campaign, enough to tell whether anything is to be done.
#
# A campaign of 100,000 rows is compared by these; a whole row is read where more is needed.


T = TypeVar("T")

#: Rows that are read or named at once: SQLite takes no more than 32,766 values, of old 999.
PAGE = 500


class Outline(NamedTuple):
    """A row by its digests; amounts are millionths of a credit, `charged` that of all its takes."""

    id: int
    row: str
    state: State
    digest: str
    wishes: str | None
    position: int
    line: int
    quoted: int | None
    take_id: int | None
    charged: int | None


_CHARGED = select(total(takes.c.charged)).where(takes.c.row_id == rows.c.id).scalar_subquery()
_OUTLINE = select(
    rows.c.id,
    rows.c.row,
    rows.c.state,
    rows.c.digest,
    rows.c.wishes,
    rows.c.position,
    rows.c.line,
    rows.c.quoted,
    rows.c.take_id,
    _CHARGED,
).order_by(rows.c.position, rows.c.id)


def outlines_of(
    connection: Connection, campaign_id: int, *, named: Sequence[str] | None = None
) -> dict[str, Outline]:
    """Return the outlines of a campaign's rows by id, in sheet order; optionally of some."""
    states: dict[str, str] = {}
    found: dict[str, Outline] = {}
    query = _OUTLINE.where(rows.c.campaign_id == campaign_id)
    if named is not None:
        # As it stands, SQLite would find some by walking through all in the order of the sheet.
        query = query.where(rows.c.row.in_(named)).order_by(None)
    for line in connection.execute(query):
        number, row, state, *rest = line
        # One text for a state, and not one for every row.
        found[row] = Outline(number, row, states.setdefault(state, state), *rest)  # type: ignore[arg-type]
    return found


def numbers_of(connection: Connection, campaign_id: int) -> list[int]:
    """Return the numbers in the ledger of a campaign's rows, in sheet order."""
    mine = select(rows.c.id).where(rows.c.campaign_id == campaign_id)
    return list(connection.scalars(mine.order_by(rows.c.position, rows.c.id)))


def endings_of(
    connection: Connection, campaign_id: int, wanted: Callable[[str], bool] | None = None
) -> set[State]:
    """Return the states in which rows are that are switched on: all of them, or those `wanted`."""
    mine = (rows.c.campaign_id == campaign_id, rows.c.enabled)
    if wanted is None:
        return set(connection.scalars(select(rows.c.state).where(*mine).distinct()))
    found = connection.execute(select(rows.c.row, rows.c.state).where(*mine))
    return {state for row, state in found if wanted(row)}


def count_wanted(
    connection: Connection, campaign_id: int, wanted: Callable[[str], bool] | None
) -> int:
    """Return how many rows a campaign has: all of them, or those `wanted`, by their ids."""
    mine = rows.c.campaign_id == campaign_id
    if wanted is None:
        return connection.scalar(select(func.count()).where(mine)) or 0
    return sum(map(wanted, connection.scalars(select(rows.c.row).where(mine))))


def waiting_of(connection: Connection, campaign_id: int) -> dict[str, int]:
    """Return how many rows wait for other videos or for their date, by reason."""
    query = (
        select(rows.c.reason, func.count())
        .where(rows.c.campaign_id == campaign_id, rows.c.state.in_(["held", "planned"]))
        .where(rows.c.reason.like("waits %"))
        .group_by(rows.c.reason)
        .order_by(rows.c.reason)
    )
    return dict(connection.execute(query).tuples().all())


def late_rows(connection: Connection, campaign_id: int, *, at: float) -> list[tuple[str, float]]:
    """Return the rows without a video whose `deliver_by` has passed, earliest first."""
    over = ("delivered", "retired", "cancelled")
    query = (
        select(rows.c.row, rows.c.deliver_by)
        .where(rows.c.campaign_id == campaign_id, rows.c.deliver_by < at)
        .where(rows.c.enabled, rows.c.state.not_in(over))
        .order_by(rows.c.deliver_by, rows.c.position + 0)
    )
    return [(row, by) for row, by in connection.execute(query)]


def pages_of(several: Iterable[T], size: int = PAGE) -> Iterator[Sequence[T]]:
    """Yield so many at a time."""
    rest = iter(several)
    while page := list(islice(rest, size)):
        yield page
