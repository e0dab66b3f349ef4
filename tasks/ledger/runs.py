"""Runs that were started for a plan approved on the board: who is at work, and how each ended.

A run is one for each plan, whatever happens to the processes that work on it: each acquires the
run's lease first (`leases`, run:ID). Moments are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, func, not_, select, update

from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.leases import (
    CAMPAIGN,
    RUN,
    acquire,
    columns,
    from_columns,
    live,
    name_in_sql,
    release,
    renew,
    run_lease,
)
from callsheet.tasks.ledger.schema import campaigns, leases, rows
from callsheet.tasks.ledger.schema_runs import runs
from callsheet.tasks.ledger.values import UNDER_WAY


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardRun:
    """A run for an approved plan; `place` is the process or flow run that had its lease last.

    `leased_until` is None where the lease has lapsed or was released; `token` grows each time that
    another place acquires it. `begun_at` is when what was approved was in the ledger's rows. `exit`
    as of the command line; one that is parked is started again at `due_at`.
    """

    id: str
    plan_id: str
    campaign: str
    started_by: str
    asked_at: float
    begun_at: float | None
    ended_at: float | None
    exit: int | None
    words: str | None
    due_at: float | None
    place: str | None = None
    leased_until: float | None = None
    token: int = 0

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is not to be started again."""
        return self.ended_at is not None and self.due_at is None


def ask_run(
    connection: Connection, run_id: str, *, plan_id: str, campaign: str, by: str, at: float
) -> None:
    """Have an approved plan executed; the run monitor starts it."""
    values = {"id": run_id, "plan_id": plan_id, "campaign": campaign}
    connection.execute(runs.insert().values(**values, started_by=by, asked_at=at))


def find_run(connection: Connection, run_id: str) -> BoardRun | None:
    """Return a run."""
    return _first(connection, runs.c.id == run_id)


def run_for(connection: Connection, plan_id: str) -> BoardRun | None:
    """Return the run of an approved plan."""
    return _first(connection, runs.c.plan_id == plan_id)


def runs_of(connection: Connection, campaign: str, *, limit: int) -> list[BoardRun]:
    """Return the newest runs of a campaign."""
    query = _runs().where(runs.c.campaign == campaign)
    found = connection.execute(query.order_by(runs.c.asked_at.desc(), runs.c.id).limit(limit))
    return [_run(one) for one in found]


def open_runs(connection: Connection) -> list[BoardRun]:
    """Return all runs that are not over, the oldest first."""
    query = _runs().where(runs.c.ended_at.is_(None) | runs.c.due_at.is_not(None))
    return [_run(one) for one in connection.execute(query.order_by(runs.c.asked_at, runs.c.id))]


def unbegun_run(connection: Connection, campaign: str) -> BoardRun | None:
    """Return a run of the campaign of whose approval its rows do not know yet, if there is one."""
    return _first(
        connection,
        (runs.c.campaign == campaign) & runs.c.begun_at.is_(None) & runs.c.ended_at.is_(None),
    )


def claim_run(
    connection: Connection,
    run_id: str,
    *,
    place: str,
    at: float,
    seconds: float,
    is_dead: Callable[[str], bool] = lambda _: False,
) -> BoardRun | None:
    """Make `place` the one at work on a run, for so many seconds unless it renews that.

    None where the run is over or not due, or where another place has its lease.
    """
    name = run_lease(run_id)
    if acquire(connection, name, owner=place, seconds=seconds, is_dead=is_dead).owner != place:
        return None
    changed = connection.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.ended_at.is_(None) | (runs.c.due_at <= at))
        .values(ended_at=None, exit=None, words=None, due_at=None)
    )
    if changed.rowcount != 1:
        release(connection, name, owner=place)
        return None
    return find_run(connection, run_id)


def renew_run(connection: Connection, run_id: str, *, place: str, seconds: float) -> bool:
    """Renew the lease on a run; False where another place has it by now."""
    return renew(connection, run_lease(run_id), owner=place, seconds=seconds)


def note_begun(connection: Connection, run_id: str, *, at: float) -> None:
    """Note that what was approved is in the campaign's rows."""
    this = update(runs).where(runs.c.id == run_id, runs.c.begun_at.is_(None))
    connection.execute(this.values(begun_at=at))


def end_run(
    connection: Connection,
    run_id: str,
    *,
    place: str | None,
    exit_status: int,
    words: str | None,
    at: float,
    due_at: float | None = None,
) -> bool:
    """Note how a run ended at `place`, and release its lease; False where another place has it.

    `place` is None for a run that no one is at work on: then its lease must be free.
    """
    name, owner = run_lease(run_id), place or f"ends:{run_id}"
    if place is None:
        acquire(connection, name, owner=owner, seconds=0)
    if not release(connection, name, owner=owner):
        return False
    ended = {"ended_at": at, "exit": exit_status, "words": words, "due_at": due_at}
    return connection.execute(update(runs).where(runs.c.id == run_id).values(**ended)).rowcount == 1


def run_again(connection: Connection, run_id: str, *, at: float) -> bool:
    """Have a run started again for what it left; False while its lease lives."""
    free = not_(live(_LEASE)) | runs.c.ended_at.is_not(None)
    this = update(runs).where(runs.c.id == run_id, free)
    return connection.execute(this.values(due_at=at)).rowcount == 1


# What a run left: a power cut or a kill ends every process, and only board runs start again alone.


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftRows:
    """How many rows of a campaign are under way while no process is at work on it.

    With `board_resumes` an open board starts its run again by itself.
    """

    campaign: Campaign
    rows: int
    board_resumes: bool


def left_under_way(
    connection: Connection, *, is_dead: Callable[[str], bool], only: str | None = None
) -> list[LeftRows]:
    """Return the campaigns (or `only` that of this name) that were left with rows under way.

    `is_dead` says which owner of a lease is known to be gone before its lease lapses.
    """
    moving = select(func.count()).where(
        rows.c.campaign_id == campaigns.c.id, rows.c.state.in_(sorted(UNDER_WAY))
    )
    # One statement: a run that begins or ends meanwhile must not look like one that is gone.
    query = select(campaigns.c.name, moving.scalar_subquery().label("number"), *columns())
    lease_name = name_in_sql(CAMPAIGN, campaigns.c.id)
    query = query.outerjoin(leases, leases.c.name == lease_name).order_by(campaigns.c.name)
    if only is not None:
        query = query.where(campaigns.c.name == only)
    left: dict[str, int] = {}
    for found in connection.execute(query):
        values = found._asdict()
        lease = from_columns(values)
        is_left = lease is None or not lease.is_live or lease.owner is None or is_dead(lease.owner)
        if values["number"] and is_left:
            left[values["name"]] = values["number"]
    resumed = {run.campaign for run in open_runs(connection)} if left else set()
    return [
        LeftRows(campaign=campaign, rows=left[name], board_resumes=name in resumed)
        for name in left
        if (campaign := find_campaign(connection, name)) is not None
    ]


def _first(connection: Connection, where: Any) -> BoardRun | None:
    found = connection.execute(_runs().where(where).order_by(runs.c.asked_at)).first()
    return None if found is None else _run(found)


#: The name of a run's lease, as the database computes it.
_LEASE = name_in_sql(RUN, runs.c.id)


def _runs() -> Select[Any]:
    return select(runs, *columns()).outerjoin(leases, leases.c.name == _LEASE)


def _run(found: Row[Any]) -> BoardRun:
    values = found._asdict()
    lease = from_columns(values)
    if lease is None:
        return BoardRun(**values)
    until = lease.until if lease.is_live else None
    return BoardRun(**values, place=lease.owner, leased_until=until, token=lease.token)
