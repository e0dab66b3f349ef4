"""Who has which rows of a campaign that several machines process: productions, batches, fencing.

A run has its rows processed by workers: it names them as one production, and a worker claims them a
batch at a time. A worker has one lease for all its batches (`leases`, worker:HOLDER). A batch's
number is written into each of its rows and is their fencing token. A worker that claims rows of a
lease that has lapsed writes a new number into them, and an intent that names an old one is refused
(`takes.open_take`). So a worker that was silent for too long pays for nothing, whatever it
believes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, ScalarSelect, Select, delete, func, insert, not_, select, update

from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.leases import (
    WORKER,
    acquire,
    campaign_lease,
    database_now,
    find,
    is_held,
    live,
    name_in_sql,
    owns,
    release,
    renew,
    worker_lease,
)
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import MADE_FIRST, campaigns, leases, rows
from callsheet.tasks.ledger.schema_runs import batches, productions
from callsheet.tasks.ledger.values import UNDER_WAY, State
from callsheet.tasks.runtime.errors import Parked

#: What is claimed of a production, in this order: what is under way first, since no one else knows
#: what has become of it.
_CLAIMED: tuple[Collection[State], ...] = (UNDER_WAY, frozenset[State]({"approved"}))
_OPEN: tuple[State, ...] = ("approved", *sorted(UNDER_WAY))
#: What is left is claimed in so many shares a worker, and so many rows are a share at least.
SHARES, SMALLEST = 2, 20
#: The worker that rows are put down to which no one has claimed yet.
NOBODY = 0


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
    hinted: bool = False
    #: Why nothing more is begun, and when to come back (Unix seconds).
    stopped: str | None = None
    stopped_until: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class ClaimedBatch:
    """Rows that a worker has claimed: its fencing token, and their numbers in the order they go."""

    id: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Headway:
    """How far workers are: claimed batches, rows free to claim, active workers."""

    held: int
    claimable: bool
    workers: int


def begin_production(
    connection: Connection, production: Production, numbers: Iterable[int] | None = None
) -> int:
    """Have workers process a campaign's rows that are approved or under way; return how many.

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
    now = database_now(connection)
    connection.execute(insert(productions).values(_PRODUCTIONS.line(production, begun_at=now)))
    freed = _open_batch(connection, production.id, NOBODY, holder="", claimed_at=now, freed_at=now)
    mine = (rows.c.campaign_id == production.campaign_id, rows.c.state.in_(_OPEN))
    given = update(rows).where(*mine).values(batch_id=freed)
    if numbers is None:
        return connection.execute(given).rowcount
    return sum(
        connection.execute(given.where(rows.c.id.in_(page))).rowcount for page in pages_of(numbers)
    )


def find_production(connection: Connection, production_id: str) -> Production | None:
    """Return a production, if the ledger knows it."""
    this = _PRODUCTIONS.query.where(productions.c.id == production_id)
    return _PRODUCTIONS.first(connection, this)


def claim_batch(
    connection: Connection,
    production: Production,
    *,
    worker: int,
    holder: str,
    seconds: float,
) -> ClaimedBatch | None:
    """Claim a batch of rows for so many seconds; None where there is nothing to claim.

    Of a production that is stopped nothing is claimed. Batches whose lease has lapsed are freed
    first: their rows are among what may be claimed.
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
    if going is None:
        return None
    now = database_now(connection)
    _free_lapsed(connection, production.id, at=now)
    numbers = _claimable(connection, production)
    if not numbers:
        return None
    acquire(connection, worker_lease(holder), owner=holder, seconds=seconds)
    batch = _open_batch(
        connection, production.id, worker, holder=holder, claimed_at=now, size=len(numbers)
    )
    connection.execute(update(rows).where(rows.c.id.in_(numbers)).values(batch_id=batch))
    return ClaimedBatch(batch, tuple(numbers))


def renew_batches(
    connection: Connection, production: Production, *, holder: str, seconds: float
) -> frozenset[int] | None:
    """Renew what a worker has, and its campaign's lease; return the batches that it still has.

    None where someone else has the campaign: nothing more may be begun in it.
    """
    campaign = campaign_lease(production.campaign_id)
    if not renew(connection, campaign, owner=production.owner, seconds=seconds):
        return None
    if not renew(connection, worker_lease(holder), owner=holder, seconds=seconds):
        return frozenset()
    query = select(batches.c.id).where(*_held_by(production.id, holder))
    return frozenset(connection.scalars(query))


def end_batch(connection: Connection, batch_id: int) -> bool:
    """Note that every row of a batch is done for its production; False if it was lost before."""
    ended = connection.execute(
        update(batches)
        .where(batches.c.id == batch_id, batches.c.freed_at.is_(None))
        .values(ended_at=database_now(connection))
    )
    return ended.rowcount == 1


def free_batches(connection: Connection, production_id: str, *, holder: str) -> int:
    """Let go of whatever a worker has: others may claim it. Return how many batches that were."""
    release(connection, worker_lease(holder), owner=holder)
    return _free(connection, *_held_by(production_id, holder), at=database_now(connection))


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
    workers = select(_LEASE).where(batches.c.production_id == production_id)
    connection.execute(delete(leases).where(leases.c.name.in_(workers)))


def headway_of(connection: Connection, production: Production) -> Headway:
    """Return how far the workers of a production are."""
    mine = batches.c.production_id == production.id
    held = (mine, batches.c.ended_at.is_(None), batches.c.freed_at.is_(None), live(_LEASE))
    count, workers = connection.execute(
        select(func.count(), func.count(batches.c.worker.distinct())).where(*held)
    ).one()
    # What has lapsed is free, whether someone has said so or not.
    free = select(batches.c.id).where(
        mine,
        batches.c.ended_at.is_(None),
        batches.c.freed_at.is_not(None) | not_(live(_LEASE)),
        _first_in(_OPEN).is_not(None),
    )
    waiting = connection.execute(free.limit(1)).first()
    return Headway(count, waiting is not None, workers)


def states_by_worker(connection: Connection, production: Production) -> dict[int, Counter[State]]:
    """Return how many rows each worker has had last are in which state; `NOBODY`'s among them."""
    query = (
        select(batches.c.worker, rows.c.state, func.count())
        .join(rows, rows.c.batch_id == batches.c.id)
        .where(batches.c.production_id == production.id)
        .group_by(batches.c.worker, rows.c.state)
    )
    found: dict[int, Counter[State]] = {}
    for worker, state, count in connection.execute(query):
        found.setdefault(worker, Counter())[state] += count
    return found


def _claimable(connection: Connection, production: Production) -> list[int]:
    """Lock the rows to claim next, those that no one else is about to claim; return their numbers.

    What someone has let go of goes before what no one has claimed yet. One batch and one state at
    a time, so that an index has the order: rows that wait for later are not read.
    """
    for states in _CLAIMED:
        for freed in connection.scalars(_freed_with(production.id, states)).all():
            size = _share(connection, production, freed, states)
            numbers: list[int] = []
            for state in sorted(states):
                query = (
                    select(rows.c.id)
                    .where(rows.c.batch_id == freed, rows.c.state == state)
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


def _share(
    connection: Connection, production: Production, freed: int, states: Collection[State]
) -> int:
    """Return how many rows of a freed batch to claim: the fewer are left, the fewer.

    Were batches as large to the end, one worker would still have all of its last one to process
    when the others have nothing left.
    """
    shares = SHARES * production.workers
    # What is more than full batches for everybody need not be counted.
    among = (
        select(rows.c.id)
        .where(rows.c.batch_id == freed, rows.c.state.in_(sorted(states)))
        .limit(shares * production.batch_size)
    )
    left = connection.scalar(select(func.count()).select_from(among.subquery())) or 0
    return min(production.batch_size, max(SMALLEST, -(-left // shares)))


def _freed_with(production_id: str, states: Collection[State]) -> Select[tuple[int]]:
    """Return what finds batches that were let go, with rows in such a state; the newest first."""
    return (
        select(batches.c.id)
        .where(
            batches.c.production_id == production_id,
            batches.c.freed_at.is_not(None),
            _first_in(states).is_not(None),
        )
        .order_by(batches.c.id.desc())
    )


def _first_in(states: Collection[State]) -> ScalarSelect[int]:
    """Return what finds a row of a batch in one of these states.

    Not EXISTS, for which PostgreSQL would rather read every row of the campaign; ordered, so that
    it goes by the index.
    """
    return (
        select(rows.c.id)
        .where(rows.c.batch_id == batches.c.id, rows.c.state.in_(sorted(states)))
        .order_by(rows.c.batch_id, rows.c.state, *MADE_FIRST)
        .limit(1)
        .correlate(batches)
        .scalar_subquery()
    )


#: The name of the lease on a batch, as the database computes it.
_LEASE = name_in_sql(WORKER, batches.c.holder)
_PRODUCTIONS = Records(
    Production,
    productions,
    joined=productions.join(campaigns, campaigns.c.id == productions.c.campaign_id),
    campaign=campaigns.c.name,
)


def _held_by(production_id: str, holder: str) -> Sequence[Any]:
    return (
        batches.c.production_id == production_id,
        batches.c.holder == holder,
        batches.c.ended_at.is_(None),
        batches.c.freed_at.is_(None),
    )


def _free_lapsed(connection: Connection, production_id: str, *, at: float) -> None:
    """Free the batches of workers whose lease has lapsed."""
    mine = (batches.c.production_id == production_id, *_STILL)
    lapsed = select(batches.c.id).where(*mine, not_(live(_LEASE))).limit(1)
    # Nearly always there are none: one statement says so.
    if connection.execute(lapsed).first() is not None:
        _take_lapsed(connection, mine)
        owned = select(leases.c.name).where(leases.c.name == _LEASE, leases.c.owner.is_not(None))
        _free(connection, *mine, not_(owned.exists()), at=at)


def _take_lapsed(connection: Connection, mine: Sequence[Any]) -> None:
    """Take the lapsed leases of some batches from their workers.

    A worker that renews its own in the same moment either keeps it and its batches, or learns that
    it has lost both.
    """
    named = leases.c.name.in_(select(_LEASE).where(*mine))
    lapsed = update(leases).where(named, leases.c.owner.is_not(None), not_(is_held()))
    connection.execute(lapsed.values(owner=None))


_STILL = (batches.c.ended_at.is_(None), batches.c.freed_at.is_(None))


def _free(connection: Connection, *which: Any, at: float) -> int:
    freed = connection.execute(update(batches).where(*which, *_STILL).values(freed_at=at))
    return freed.rowcount


def _open_batch(
    connection: Connection,
    production_id: str,
    worker: int,
    *,
    holder: str,
    claimed_at: float,
    freed_at: float | None = None,
    size: int = 0,
) -> int:
    """Write a batch down, freed from the start where `freed_at` says when; return its number."""
    values = {
        "production_id": production_id,
        "worker": worker,
        "holder": holder,
        "size": size,
        "claimed_at": claimed_at,
        "freed_at": freed_at,
    }
    return int(connection.execute(insert(batches).returning(batches.c.id), values).scalar_one())
