"""Runs that were started for a plan approved on the board: who is at work, and how each ended.

A run is one for each plan, whatever happens to the processes that carry it: whoever carries it
claims it first. Moments are Unix seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select, update

from tasks.ledger.schema_board import runs


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardRun:
    """A run for an approved plan; `place` is the process (`owner`) or flow run that carries it.

    `begun_at` is when what was approved was in the ledger's rows. `exit` as of the command line;
    one that is parked is started again at `due_at`.
    """

    id: str
    plan_id: str
    campaign: str
    started_by: str
    asked_at: float
    place: str | None
    begun_at: float | None
    ended_at: float | None
    exit: int | None
    words: str | None
    due_at: float | None

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is not to be started again."""
        return self.ended_at is not None and self.due_at is None


def ask_run(
    connection: Connection, run_id: str, *, plan_id: str, campaign: str, by: str, at: float
) -> None:
    """Have an approved plan carried out; whoever looks after runs starts it."""
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
    query = select(runs).where(runs.c.campaign == campaign)
    found = connection.execute(query.order_by(runs.c.asked_at.desc(), runs.c.id).limit(limit))
    return [_run(one) for one in found]


def open_runs(connection: Connection) -> list[BoardRun]:
    """Return all runs that are not over, the oldest first."""
    query = select(runs).where(runs.c.ended_at.is_(None) | runs.c.due_at.is_not(None))
    return [_run(one) for one in connection.execute(query.order_by(runs.c.asked_at, runs.c.id))]


def unbegun_run(connection: Connection, campaign: str) -> BoardRun | None:
    """Return a run of the campaign of whose approval its rows do not know yet, if there is one."""
    return _first(
        connection,
        (runs.c.campaign == campaign) & runs.c.begun_at.is_(None) & runs.c.ended_at.is_(None),
    )


def claim_run(
    connection: Connection, run_id: str, *, place: str, instead_of: str | None, at: float
) -> BoardRun | None:
    """Make `place` the one that carries a run; None where it is over, not due, or another's.

    `instead_of` is who was seen to have it, and is gone.
    """
    changed = connection.execute(
        update(runs)
        .where(
            runs.c.id == run_id,
            runs.c.place.is_not_distinct_from(instead_of),
            runs.c.ended_at.is_(None) | (runs.c.due_at <= at),
        )
        .values(place=place, ended_at=None, exit=None, words=None, due_at=None)
    )
    return find_run(connection, run_id) if changed.rowcount == 1 else None


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
    """Note how a run ended, by whoever carried it; False where another one carries it by now."""
    changed = connection.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.place.is_not_distinct_from(place))
        .values(place=None, ended_at=at, exit=exit_status, words=words, due_at=due_at)
    )
    return changed.rowcount == 1


def run_again(connection: Connection, run_id: str, *, at: float) -> bool:
    """Have a run that has ended started again, for what it left; False where it has not ended."""
    this = update(runs).where(runs.c.id == run_id, runs.c.ended_at.is_not(None))
    return connection.execute(this.values(due_at=at)).rowcount == 1


def _first(connection: Connection, where: Any) -> BoardRun | None:
    found = connection.execute(select(runs).where(where).order_by(runs.c.asked_at)).first()
    return None if found is None else _run(found)


def _run(found: Row[Any]) -> BoardRun:
    return BoardRun(**found._asdict())
