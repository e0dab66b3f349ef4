"""Leases: who is at work on what, and until when. One table, on the database's clock.

A lease is a name, its owner, the moment at which it lapses, and a token that grows with each new
owner. Campaigns, the nights of an inbox, board runs and workers have one. No process passes its
own clock: machines' clocks differ, and a wrong one must not take over what a live owner renewed.
Knows nothing of processes: callers say which owner is known to be dead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Exists,
    String,
    and_,
    bindparam,
    case,
    cast,
    literal,
    or_,
    select,
    update,
)

from callsheet.tasks.ledger.database import check_not_upgraded, insert_unless_there
from callsheet.tasks.ledger.dialect import DatabaseMoment
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import leases

CAMPAIGN, NIGHT, RUN, WORKER = "campaign:", "night:", "run:", "worker:"
#: A name as a value, or as what the database computes.
Name = str | ColumnElement[str]


def database_now(connection: Connection) -> float:
    """Return the database's own time in Unix seconds: machines' clocks differ."""
    return float(connection.scalar(select(DatabaseMoment())) or 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A lease as the database has it; `is_live` says whether it had lapsed when it was read.

    `owner` is None where it was released. The others are what the last owner left.
    """

    name: str
    owner: str | None
    since: float
    until: float
    token: int
    is_live: bool


def campaign_lease(campaign_id: int) -> str:
    """Return the name of a campaign's lease."""
    return f"{CAMPAIGN}{campaign_id}"


def night_lease(inbox: str) -> str:
    """Return the name of the lease on the nights of an inbox."""
    return f"{NIGHT}{inbox}"


def run_lease(run_id: str) -> str:
    """Return the name of a board run's lease."""
    return f"{RUN}{run_id}"


def name_in_sql(prefix: str, column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the name of a lease as the database computes it from a column."""
    return literal(prefix, String) + cast(column, String)


def acquire(
    connection: Connection,
    name: str,
    *,
    owner: str,
    seconds: float,
    is_dead: Callable[[str], bool] = lambda _: False,
) -> Lease:
    """Acquire a lease, or renew it for its owner; return it as it is then.

    It is yours if its owner is you. Another owner keeps it until it lapses, unless `is_dead` says
    that its process is gone. Raises LedgerNewer where the ledger was upgraded past this program.
    """
    found = _take(connection, name, owner, seconds)
    if found is None:
        other = find(connection, name)
        if other is None:
            free = {"name": name, "since": 0.0, "until": 0.0, "token": 0}
            insert_unless_there(connection, leases, free)
        elif other.owner is not None and is_dead(other.owner):
            release(connection, name, owner=other.owner)
        found = _take(connection, name, owner, seconds) or find(connection, name)
    # Afterwards: an upgrade keeps everybody from the lease until it is done.
    check_not_upgraded(connection)
    assert found is not None, "its line was inserted unless it was there"
    return found


def renew(
    connection: Connection, name: Name, *, owner: str, seconds: float, token: int | None = None
) -> bool:
    """Renew a lease; False where another owner has it, or had it since (`token`).

    A lease that has lapsed is renewed as long as no one took it. Raises LedgerNewer as `acquire`.
    """
    this = _owned(name, owner, token)
    until = DatabaseMoment() + seconds
    renewed = connection.execute(update(leases).where(*this).values(until=until)).rowcount
    check_not_upgraded(connection)
    return renewed == 1


def release(connection: Connection, name: Name, *, owner: str) -> bool:
    """Release a lease if `owner` has it: by itself, or since its process is known to be gone."""
    freed = update(leases).where(*_owned(name, owner, None))
    return connection.execute(freed.values(owner=None, until=DatabaseMoment())).rowcount == 1


def holds(connection: Connection, name: Name, *, owner: str, token: int | None = None) -> bool:
    """Whether `owner` has a lease. If so, no other owner takes it before this transaction ends."""
    locked = select(leases.c.token).where(*_owned(name, owner, token)).with_for_update(read=True)
    return connection.execute(locked).first() is not None


def owns(connection: Connection, campaign_id: int, owner: str) -> bool:
    """Whether `owner` has the campaign's lease. If so, it keeps it until this transaction ends."""
    return holds(connection, campaign_lease(campaign_id), owner=owner)


def find(connection: Connection, name: str) -> Lease | None:
    """Return a lease as it is, lapsed or not; None where no one ever had it."""
    return LEASES.first(connection, LEASES.query.where(leases.c.name == name))


def is_held() -> ColumnElement[bool]:
    """Return what is true of a line of `leases` that has an owner and has not lapsed."""
    return and_(leases.c.owner.is_not(None), leases.c.until > DatabaseMoment())


def live(name: ColumnElement[str]) -> Exists:
    """Return what is true where the lease of this name has an owner and has not lapsed."""
    return select(leases.c.name).where(leases.c.name == name, is_held()).exists()


def owned_in_sql() -> Exists:
    """Return what is true where `the_owner` has the lease `the_lease`; both are parameters.

    It locks the lease as `holds` does: once another owner has it, nothing that this guarded is
    still to be committed.
    """
    this = (
        leases.c.name == bindparam("the_lease"),
        leases.c.owner == bindparam("the_owner", type_=String),
    )
    return select(leases.c.token).where(*this).with_for_update(read=True).exists()


def owner_in_sql() -> ColumnElement[Any]:
    """Return the owner of the lease `the_lease`, a parameter; it is not locked."""
    this = leases.c.name == bindparam("the_lease")
    return select(leases.c.owner).where(this).scalar_subquery().label("owner")


LEASES = Records(Lease, leases, is_live=is_held())


def _take(connection: Connection, name: str, owner: str, seconds: float) -> Lease | None:
    """Write the owner into a lease that is free, lapsed or its own; None where it is not."""
    mine = leases.c.owner == owner
    now = DatabaseMoment()
    changed = connection.execute(
        update(leases)
        .where(leases.c.name == name, or_(leases.c.owner.is_(None), mine, leases.c.until <= now))
        .values(
            owner=owner,
            since=case((mine, leases.c.since), else_=now),
            until=now + seconds,
            token=leases.c.token + case((mine, 0), else_=1),
        )
        .returning(*LEASES.columns)
    ).first()
    return None if changed is None else LEASES.read(changed)


def _owned(name: Name, owner: str, token: int | None) -> tuple[ColumnElement[bool], ...]:
    this = (leases.c.name == name, leases.c.owner == owner)
    return this if token is None else (*this, leases.c.token == token)
