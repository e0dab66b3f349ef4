"""Who has which rows of a campaign that several machines process: productions, claims, fencing.

A run has its rows processed by workers: it names them as one production. Each start of a worker has
a number, which grows, and a lease (`leases`, worker:PRODUCTION:NUMBER). It claims rows a batch at a
time and writes its number into them: their fencing token. An intent with another number is refused
(`takes.open_take`). Whoever finds that a lease has lapsed takes the number out of its rows. So a
worker that was silent for too long pays for nothing, whatever it believes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.leases import (
    WORKER,
    acquire,
    campaign_lease,
    database_now,
    find,
    is_held,
    owns,
    release,
    renew,
)
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import MADE_FIRST, campaigns, leases, rows
from callsheet.tasks.ledger.schema_runs import productions
from callsheet.tasks.ledger.values import UNDER_WAY, State
from callsheet.tasks.runtime.errors import Parked

#: What is claimed of a production, in this order: what is under way first, since no one else knows
#: what has become of it.
_CLAIMED: tuple[Collection[State], ...] = (UNDER_WAY, frozenset[State]({"approved"}))
#: What is not done: approved, or under way.
OPEN: tuple[State, ...] = ("approved", *sorted(UNDER_WAY))
#: What is left is claimed in so many shares a worker, and so many rows are a share at least.
SHARES, SMALLEST = 2, 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Production:
    """What one run has workers process; `terms` are those of `Terms`, as JSON."""

    id: str
    campaign_id: int
    campaign: str
    #: Who must have the campaign's lease: the run, and its workers in its name.
    owner: str
    workers: int
    #: How many rows a worker claims at once; fewer near the end, so that all end together.
    batch_size: int
    #: The fingerprint of the service's key, and the store's address: a worker must have the same.
    organisation: str
    store: str
    terms: dict[str, Any] = field(default_factory=dict)
    #: The run that has its rows processed, whose parts its workers are.
    run_id: str | None = None
    #: The number in its rows that no one has claimed; its workers have higher ones.
    free: int = 0
    hinted: bool = False
    #: Why nothing more is begun, and when to come back (Unix seconds).
    stopped: str | None = None
    stopped_until: float | None = None
    ended_at: float | None = None


class Headway(NamedTuple):
    """How far workers are: rows that are not done, whether someone has some, or may claim some."""

    open: int
    held: bool
    claimable: bool


def begin_production(
    connection: Connection, production: Production, numbers: Iterable[int] | None = None
) -> Production:
    """Have workers process a campaign's rows that are approved or under way; return it as it is.

    With `numbers` only those. Workers that had them until now have lost them. Raises Parked where
    the production's owner no longer has the campaign's lease.
    """
    if not owns(connection, production.campaign_id, production.owner):
        other = find(connection, campaign_lease(production.campaign_id))
        raise Parked(
            f"another run has taken the lease of campaign {production.campaign} by now; "
            "no worker was started, and nothing more was spent",
            until=datetime.fromtimestamp(other.until if other else database_now(connection), UTC),
            remedy="run again when that run has ended: `callsheet status` shows it",
        )
    production = replace(production, free=_next_number(connection, production.campaign_id))
    values = _PRODUCTIONS.line(production, begun_at=database_now(connection))
    connection.execute(insert(productions).values(values))
    mine = (rows.c.campaign_id == production.campaign_id, rows.c.state.in_(OPEN))
    chosen = [mine] if numbers is None else [(*mine, rows.c.id.in_(p)) for p in pages_of(numbers)]
    for those in chosen:
        connection.execute(update(rows).where(*those).values(claim=production.free))
    return production


def find_production(connection: Connection, production_id: str) -> Production | None:
    """Return a production, if the ledger knows it."""
    this = _PRODUCTIONS.query.where(productions.c.id == production_id)
    return _PRODUCTIONS.first(connection, this)


def begin_worker(connection: Connection, production: Production, *, seconds: float) -> int:
    """Return the number of a worker that starts, with a lease of so many seconds for its rows."""
    number = _next_number(connection, production.campaign_id)
    acquire(connection, _lease(production, number), owner=str(number), seconds=seconds)
    return number


def claim_rows(
    connection: Connection, production: Production, *, worker: int, seconds: float
) -> tuple[int, ...]:
    """Claim a batch of rows for a worker, by its number; return theirs, in the order they go.

    None where there is nothing to claim, of a production that is stopped, and for a worker whose
    lease is another's by now. Rows of leases that have lapsed are freed first.
    """
    # Anyone who stops it waits for claims under way, so that none follows.
    going = connection.execute(
        select(productions.c.id)
        .where(
            productions.c.id == production.id,
            productions.c.stopped.is_(None),
            productions.c.ended_at.is_(None),
        )
        .with_for_update(read=True, key_share=True)
    ).first()
    lease = _lease(production, worker)
    if going is None or not renew(connection, lease, owner=str(worker), seconds=seconds):
        return ()
    _free_lapsed(connection, production, but=lease)
    numbers = _claimable(connection, production)
    if numbers:
        connection.execute(update(rows).where(rows.c.id.in_(numbers)).values(claim=worker))
    return tuple(numbers)


def renew_worker(
    connection: Connection, production: Production, *, worker: int, seconds: float
) -> bool | None:
    """Renew a worker's lease, and its campaign's; False where others may have its rows.

    None where someone else has the campaign: nothing more may be begun in it.
    """
    campaign = campaign_lease(production.campaign_id)
    if not renew(connection, campaign, owner=production.owner, seconds=seconds):
        return None
    return renew(connection, _lease(production, worker), owner=str(worker), seconds=seconds)


def leave_rows(
    connection: Connection, production: Production, numbers: Collection[int], *, worker: int
) -> None:
    """Have no worker claim rows again that rest, though they are not done: until another run."""
    left = update(rows).where(rows.c.id.in_(numbers), *_open_of(production, rows.c.claim == worker))
    connection.execute(left.values(claim=None))


def free_worker(connection: Connection, production: Production, *, worker: int) -> int:
    """Let go of whatever a worker has: others may claim it. Return how many rows that are."""
    release(connection, _lease(production, worker), owner=str(worker))
    return _free(connection, production, [worker])


def stop_production(
    connection: Connection, production_id: str, *, because: str, until: float | None = None
) -> None:
    """Have workers begin nothing more; the first reason stands. `until` is when to come back."""
    connection.execute(
        update(productions)
        .where(productions.c.id == production_id, productions.c.stopped.is_(None))
        .values(stopped=because, stopped_until=until)
    )


def rely_on_hints(connection: Connection, production_id: str, *, rely: bool) -> None:
    """Tell workers whether webhooks tell of videos."""
    this = productions.c.id == production_id
    connection.execute(update(productions).where(this).values(hinted=rely))


def end_production(connection: Connection, production_id: str) -> None:
    """Note that no one processes a production any more."""
    connection.execute(
        update(productions)
        .where(productions.c.id == production_id, productions.c.ended_at.is_(None))
        .values(ended_at=database_now(connection))
    )
    connection.execute(delete(leases).where(_is_lease_of(production_id)))


def headway_of(connection: Connection, production: Production) -> Headway:
    """Return how far the workers of a production are."""
    counted = select(rows.c.claim, func.count()).where(*_open_of(production)).group_by(rows.c.claim)
    left = dict(connection.execute(counted).tuples().all())
    query = select(leases.c.name).where(_is_lease_of(production.id), is_held())
    working = {_number(name) for name in connection.scalars(query)}
    held = left.keys() & working
    # What has lapsed is free, whether someone has said so or not.
    return Headway(sum(left.values()), held=bool(held), claimable=bool(left.keys() - held))


def is_left(connection: Connection, production: Production) -> bool:
    """Return whether any row of a production is not done yet."""
    query = select(rows.c.id).where(*_open_of(production)).limit(1)
    return connection.execute(query).first() is not None


def states_of_production(connection: Connection, production: Production) -> Counter[State]:
    """Return how many rows of a production are in which state."""
    mine = (rows.c.campaign_id == production.campaign_id, rows.c.claim >= production.free)
    counted = select(rows.c.state, func.count()).where(*mine).group_by(rows.c.state)
    return Counter(dict(connection.execute(counted).tuples().all()))


def _next_number(connection: Connection, campaign_id: int) -> int:
    """Return a number that is higher than any that a row of the campaign has."""
    this = update(campaigns).where(campaigns.c.id == campaign_id)
    counted = this.values(claims=campaigns.c.claims + 1).returning(campaigns.c.claims)
    return int(connection.execute(counted).scalar_one())


def _claimable(connection: Connection, production: Production) -> list[int]:
    """Lock the rows to claim next, those that no one else is about to claim; return their numbers.

    One state at a time, so that an index has the order: rows that wait for later are not read.
    """
    for states in _CLAIMED:
        size = _share(connection, production, states)
        numbers: list[int] = []
        for state in sorted(states):
            query = (
                select(rows.c.id)
                .where(*_free_in(production, [state]))
                .order_by(*MADE_FIRST)
                .limit(size - len(numbers))
                .with_for_update(skip_locked=True)
            )
            numbers += connection.scalars(query)
            if len(numbers) == size:
                break
        if numbers:
            return numbers
    return []


def _share(connection: Connection, production: Production, states: Collection[State]) -> int:
    """Return how many free rows to claim: the fewer are left, the fewer.

    Were batches as large to the end, one worker would still have all of its last one to process
    when the others have nothing left.
    """
    shares = SHARES * production.workers
    # What is more than full batches for everybody need not be counted.
    among = select(rows.c.id).where(*_free_in(production, sorted(states)))
    among = among.limit(shares * production.batch_size)
    left = connection.scalar(select(func.count()).select_from(among.subquery())) or 0
    return min(production.batch_size, max(SMALLEST, -(-left // shares)))


def _free_lapsed(connection: Connection, production: Production, *, but: str) -> None:
    """Free the rows of other workers whose lease has lapsed, and take their leases.

    A worker that renews its own in the same moment either keeps it and its rows, or learns that it
    has lost both.
    """
    others = (_is_lease_of(production.id), leases.c.name != but)
    lapsed = (*others, leases.c.owner.is_not(None), ~is_held())
    taken = update(leases).where(*lapsed).values(owner=None).returning(leases.c.name)
    if workers := [_number(name) for name in connection.scalars(taken)]:
        _free(connection, production, workers)


def _free(connection: Connection, production: Production, workers: Sequence[int]) -> int:
    theirs = _open_of(production, rows.c.claim.in_(workers))
    return connection.execute(update(rows).where(*theirs).values(claim=production.free)).rowcount


def _free_in(production: Production, states: Sequence[State]) -> Sequence[ColumnElement[bool]]:
    free = (rows.c.campaign_id == production.campaign_id, rows.c.claim == production.free)
    return (*free, rows.c.state.in_(states) if len(states) > 1 else rows.c.state == states[0])


def _open_of(
    production: Production, claim: ColumnElement[bool] | None = None
) -> Sequence[ColumnElement[bool]]:
    """Return what is true of rows of a production that are not done, with such a claim."""
    mine = rows.c.claim >= production.free if claim is None else claim
    return (rows.c.campaign_id == production.campaign_id, rows.c.state.in_(OPEN), mine)


def _lease(production: Production, worker: int) -> str:
    """Return the name of a worker's lease on all rows that it has claimed."""
    return f"{WORKER}{production.id}:{worker}"


def _is_lease_of(production_id: str) -> ColumnElement[bool]:
    return leases.c.name.startswith(f"{WORKER}{production_id}:", autoescape=True)


def _number(lease: str) -> int:
    return int(lease.rpartition(":")[2])


_PRODUCTIONS = Records(
    Production,
    productions,
    joined=productions.join(campaigns, campaigns.c.id == productions.c.campaign_id),
    campaign=campaigns.c.name,
)
