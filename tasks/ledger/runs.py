"""Runs, from whatever door: who is at work, how far it is, and how each ended.

A run is one, whatever happens to the processes that work on it: each acquires the run's lease
first (`leases`, run:ID). A run of an approved plan on the board is asked for, and claimed by the
process that makes it; any other is begun by the process that it is. Moments are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, and_, case, delete, func, not_, select, update

from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.leases import (
    CAMPAIGN,
    RUN,
    acquire,
    is_held,
    live,
    name_in_sql,
    release,
    renew,
    run_lease,
)
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import campaigns, leases, rows
from callsheet.tasks.ledger.schema_runs import OPEN, runs
from callsheet.tasks.ledger.values import UNDER_WAY

RunKind = Literal[
    "run", "retake", "approve", "adopt", "fetch", "cancel", "prune", "repair", "night", "worker"
]
RunDoor = Literal["terminal", "flow", "night", "board", "worker"]
#: What a run is at; `waiting` for another run of its campaign, `approving` for a person.
Step = Literal["reading", "planning", "quoting", "approving", "producing", "reporting", "waiting"]
#: A run that stopped has no end that anyone wrote, and no process is at work on it.
RunState = Literal["running", "waiting", "ended", "stopped"]

#: For how long runs that are over are kept, in seconds: as plans are.
KEPT = 30 * 86400.0
#: What is said of a run that stopped without a word, once a later one of its campaign begins.
LEFT = "it stopped without reporting a result"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """A run; `place` has its lease, or had it last, and `owner` is that also after its end.

    `expected_at` is when it will be done, as it estimated last.
    `leased_until` is None where the lease has lapsed or was released; `token` grows each time that
    another place acquires it. `begun_at` is when one of the board had its campaign. `exit` is
    as of the command line; a parked one of the board is started again at `due_at`. A run of several
    campaigns, as a night is, has none.
    """

    id: str
    kind: RunKind
    door: RunDoor
    started_by: str
    asked_at: float
    campaign: str = ""
    parent: str | None = None
    plan_id: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    organisation: str | None = None
    store: str | None = None
    owner: str | None = None
    step: Step | None = None
    expected_at: float | None = None
    begun_at: float | None = None
    ended_at: float | None = None
    exit: int | None = None
    words: str | None = None
    due_at: float | None = None
    place: str | None = None
    leased_until: float | None = None
    token: int = 0

    @property
    def is_asked(self) -> bool:
        """Whether it is of a plan approved on the board, which goes on with it by itself."""
        return self.door == "board" and self.plan_id is not None

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is not to be started again."""
        return self.ended_at is not None and self.due_at is None

    def state(self, is_dead: Callable[[str], bool]) -> RunState:
        """Return what it is at; `is_dead` says which owner is known to be gone before its lease."""
        if self.ended_at is not None:
            ended: RunState = "stopped" if self.exit is None else "ended"
            return ended if self.due_at is None else "waiting"
        if self.leased_until is None or self.place is None or is_dead(self.place):
            return "waiting" if self.is_asked else "stopped"
        return "waiting" if self.step in ("waiting", "approving") else "running"


def ask_run(
    connection: Connection,
    run_id: str,
    *,
    plan_id: str,
    campaign: str,
    by: str,
    at: float,
    kind: RunKind = "run",
) -> None:
    """Have an approved plan executed; the run monitor starts it."""
    values = {"id": run_id, "plan_id": plan_id, "campaign": campaign, "kind": kind}
    connection.execute(runs.insert().values(**values, door="board", started_by=by, asked_at=at))


def begin_run(
    connection: Connection,
    run: RunRow,
    *,
    owner: str,
    seconds: float,
    is_dead: Callable[[str], bool],
) -> bool:
    """Write that a run begins at `owner`, or begins again; False while another place has its lease.

    Runs of its campaign that stopped without a word are noted as such.
    """
    lease = acquire(connection, run_lease(run.id), owner=owner, seconds=seconds, is_dead=is_dead)
    if lease.owner != owner:
        return False
    _note_stopped(connection, run, is_dead)
    values = _RUNS.line(run, owner=owner)
    if not insert_unless_there(connection, runs, values):
        anew = {name: values[name] for name in ("owner", "step", "ended_at", "exit", "words")}
        this = update(runs).where(runs.c.id == run.id)
        connection.execute(this.values(**anew, due_at=None))
    return True


def _note_stopped(connection: Connection, run: RunRow, is_dead: Callable[[str], bool]) -> None:
    """End the runs before this one that have no end and no process; what is asked for goes on."""
    mine = [runs.c.campaign == run.campaign, runs.c.kind != "worker", runs.c.id != run.id]
    if not run.campaign:
        mine.append(runs.c.started_by == run.started_by)
    for one in _all(connection, OPEN, *mine):
        if one.ended_at is None and one.state(is_dead) == "stopped":
            stopped = {"ended_at": run.asked_at, "words": LEFT}
            connection.execute(update(runs).where(runs.c.id == one.id).values(**stopped))


def note_step(connection: Connection, run_id: str, step: Step) -> None:
    """Note what a run is at."""
    connection.execute(update(runs).where(runs.c.id == run_id).values(step=step))


def note_expected(connection: Connection, run_id: str, *, at: float) -> None:
    """Note when a run expects to be done."""
    connection.execute(update(runs).where(runs.c.id == run_id).values(expected_at=at))


def note_plan(connection: Connection, run_id: str, plan_id: str) -> None:
    """Note the plan that a run has approved, unless a run was approved with it before."""
    other = select(runs.c.id).where(runs.c.plan_id == plan_id).exists()
    connection.execute(update(runs).where(runs.c.id == run_id, ~other).values(plan_id=plan_id))


def find_run(connection: Connection, run_id: str) -> RunRow | None:
    """Return a run."""
    return _first(connection, runs.c.id == run_id)


def run_for(connection: Connection, plan_id: str) -> RunRow | None:
    """Return the run of a plan that was approved on the board."""
    return _first(connection, _ASKED, runs.c.plan_id == plan_id)


def runs_of(connection: Connection, campaign: str, *, limit: int) -> list[RunRow]:
    """Return the newest runs of a campaign, the newest first, without workers (`parts_of`)."""
    query = _RUNS.query.where(runs.c.campaign == campaign, runs.c.kind != "worker")
    return _RUNS.all(connection, query.order_by(runs.c.asked_at.desc(), runs.c.id).limit(limit))


def parts_of(connection: Connection, run_id: str) -> list[RunRow]:
    """Return the runs that are part of one, the oldest first: the sheets of a night, workers."""
    return _all(connection, runs.c.parent == run_id)


def open_runs(connection: Connection) -> list[RunRow]:
    """Return the runs of the board's plans that are not over, the oldest first."""
    return _all(connection, OPEN, _ASKED)


def unbegun_run(connection: Connection, campaign: str) -> RunRow | None:
    """Return a run of the board that was asked for in a campaign and has not begun, if any."""
    unbegun = (runs.c.begun_at.is_(None), runs.c.ended_at.is_(None))
    return _first(connection, _ASKED, runs.c.campaign == campaign, *unbegun)


def claim_run(
    connection: Connection,
    run_id: str,
    *,
    place: str,
    at: float,
    seconds: float,
    is_dead: Callable[[str], bool] = lambda _: False,
) -> RunRow | None:
    """Make `place` the one at work on a run, for so many seconds unless it renews that.

    None where the run is over or not due, or where another place has its lease.
    """
    name = run_lease(run_id)
    if acquire(connection, name, owner=place, seconds=seconds, is_dead=is_dead).owner != place:
        return None
    changed = connection.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.ended_at.is_(None) | (runs.c.due_at <= at))
        .values(ended_at=None, exit=None, words=None, due_at=None, owner=place)
    )
    if changed.rowcount != 1:
        release(connection, name, owner=place)
        return None
    return find_run(connection, run_id)


def renew_run(connection: Connection, run_id: str, *, place: str, seconds: float) -> bool:
    """Renew the lease on a run; False where another place has it by now."""
    return renew(connection, run_lease(run_id), owner=place, seconds=seconds)


def note_begun(connection: Connection, run_id: str, *, at: float) -> None:
    """Note that a run of the board has its campaign, and begins."""
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
    query = select(campaigns.c.name, moving.scalar_subquery(), leases.c.owner)
    held = and_(leases.c.name == name_in_sql(CAMPAIGN, campaigns.c.id), is_held())
    query = query.outerjoin(leases, held).order_by(campaigns.c.name)
    if only is not None:
        query = query.where(campaigns.c.name == only)
    left = {
        name: number
        for name, number, owner in connection.execute(query)
        if number and (owner is None or is_dead(owner))
    }
    resumed = {run.campaign for run in open_runs(connection)} if left else set()
    return [
        LeftRows(campaign=campaign, rows=left[name], board_resumes=name in resumed)
        for name in left
        if (campaign := find_campaign(connection, name)) is not None
    ]


def drop_old_runs(connection: Connection, *, at: float) -> int:
    """Remove runs that were over a month ago, and their leases; return how many runs."""
    over = (runs.c.ended_at <= at - KEPT, runs.c.due_at.is_(None))
    old = [*connection.scalars(delete(runs).where(*over).returning(runs.c.id))]
    for page in pages_of(old):
        names = [run_lease(one) for one in page]
        connection.execute(delete(leases).where(leases.c.name.in_(names)))
    return len(old)


#: The name of a run's lease, as the database computes it.
_LEASE = name_in_sql(RUN, runs.c.id)
#: Runs of plans that were approved on the board, which goes on with them by itself.
_ASKED = (runs.c.door == "board") & runs.c.plan_id.is_not(None)
_RUNS = Records(
    RunRow,
    runs,
    joined=runs.outerjoin(leases, leases.c.name == _LEASE),
    place=leases.c.owner,
    leased_until=case((is_held(), leases.c.until)),
    token=func.coalesce(leases.c.token, 0),
)


def _first(connection: Connection, *where: Any) -> RunRow | None:
    return next(iter(_all(connection, *where)), None)


def _all(connection: Connection, *where: Any) -> list[RunRow]:
    query = _RUNS.query.where(*where).order_by(runs.c.asked_at, runs.c.id)
    return _RUNS.all(connection, query)
