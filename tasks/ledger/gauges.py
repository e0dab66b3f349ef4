"""Figures for monitoring and reports.

Gauges, counters from every machine, and rates of kept videos.

It is asked every few seconds for years. So a campaign is counted again only when something has
happened in it, from indexes alone, and counting takes at most a twentieth of the time: a ledger
of a million rows is not read for every look at it. Reads only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, get_args

from sqlalchemy import Connection, Engine, and_, case, exists, func, select, text

from callsheet.tasks.ledger.accounts import ACCOUNTS, Account, day_of, month_of
from callsheet.tasks.ledger.figures import total
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.maintenance import size_of
from callsheet.tasks.ledger.nightly_runs import NIGHTS, KeptNight
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import (
    REVIEWED,
    accounts,
    campaigns,
    counters,
    events,
    rows,
    takes,
)
from callsheet.tasks.ledger.schema_runs import acts, nights
from callsheet.tasks.ledger.values import STATES, UNDER_WAY, State
from callsheet.tasks.ledger.webhook_events import last_heard
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.telemetry import Counts
from callsheet.tasks.values.amounts import from_micro

#: Campaigns that are told of: those with open rows, and those in which something has happened in
#: so many seconds; the latest, so many at most.
RECENT = 14 * 86_400.0
MOST = 100
#: Inboxes that are told of: the latest, with a night in so many seconds.
MOST_INBOXES, SWEPT = 50, 60 * 86_400.0
#: A row in these is done with.
CLOSED: frozenset[State] = frozenset({"delivered", "cancelled", "retired"})
#: How much of the time is for counting, and after how many seconds it is counted in any case.
SHARE, OFTEN = 1 / 20, 60.0
_OPEN = tuple(state for state in STATES if state not in CLOSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignGauges:
    """One campaign, in credits, and the last of its events.

    What was counted of it follows, as it was at `counted_at`; `under_way_since` is the moment of
    its oldest row under way.
    """

    id: int
    name: str
    budget: Decimal | None
    reserved: Decimal
    charged: Decimal
    created_at: float
    last_event: int | None
    last_at: float | None
    is_open: bool
    rows: Mapping[State, int] = field(default_factory=dict)
    quoted: Decimal = Decimal(0)
    under_way_since: float | None = None
    counted_at: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerGauges:
    """What the ledger says at one moment; moments in Unix seconds.

    Accounts are those of today and of cost centers that have a budget, nights the latest of each
    inbox that was swept to its end.
    """

    campaigns: Sequence[CampaignGauges]
    accounts: Sequence[Account]
    nights: Sequence[KeptNight]
    counts: Counts
    heard_at: float | None
    backup_at: float | None
    size: int


class Gauging:
    """Asks one ledger again and again; `clock` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._counted: dict[int, CampaignGauges] = {}
        self._rests_until = 0.0

    def ask(self, connection: Connection) -> LedgerGauges:
        """Return what the ledger says now; of a campaign that costs much, what it said lately."""
        now = self._clock()
        return LedgerGauges(
            campaigns=self._campaigns(connection, now),
            accounts=_accounts(connection, now),
            nights=_nights(connection, now),
            counts=counts_kept(connection),
            heard_at=last_heard(connection),
            backup_at=_backup_at(connection),
            size=size_of(_engine(connection)),
        )

    def _campaigns(self, connection: Connection, now: float) -> list[CampaignGauges]:
        found = [
            line
            for line in _CAMPAIGNS.all(connection, _CAMPAIGNS.query)
            if line.is_open or (line.last_at or line.created_at) >= now - RECENT
        ]
        found.sort(key=lambda line: (line.is_open, line.last_event or 0, line.id), reverse=True)
        self._counted = {
            line.id: self._counted[line.id] for line in found if line.id in self._counted
        }
        return [self._gauges(connection, line, now) for line in found[:MOST]]

    def _gauges(self, connection: Connection, line: CampaignGauges, now: float) -> CampaignGauges:
        counted = self._counted.get(line.id)
        if counted is None or self._is_old(counted, line, now):
            begun = time.perf_counter()
            counted = self._counted[line.id] = _count(connection, line, now)
            taken = time.perf_counter() - begun
            self._rests_until = max(self._rests_until, now) + taken / SHARE
        return replace(counted, budget=line.budget, reserved=line.reserved, charged=line.charged)

    def _is_old(self, counted: CampaignGauges, line: CampaignGauges, now: float) -> bool:
        is_due = line.is_open and now - counted.counted_at >= OFTEN
        return (counted.last_event != line.last_event or is_due) and now >= self._rests_until


_EVENTS_OF = events.c.campaign_id == campaigns.c.id
_LAST = select(events.c.at).where(_EVENTS_OF).order_by(events.c.id.desc()).limit(1)
_CAMPAIGNS = Records(
    CampaignGauges,
    campaigns,
    last_event=select(func.max(events.c.id)).where(_EVENTS_OF).scalar_subquery(),
    last_at=_LAST.scalar_subquery(),
    is_open=exists().where(rows.c.campaign_id == campaigns.c.id, rows.c.state.in_(_OPEN)),
)


def _count(connection: Connection, line: CampaignGauges, now: float) -> CampaignGauges:
    mine = rows.c.campaign_id == line.id
    states = select(rows.c.state, func.count().label("rows"), func.sum(rows.c.quoted).label("sum"))
    found = connection.execute(states.where(mine).group_by(rows.c.state)).all()
    oldest = select(func.min(rows.c.since)).where(mine, rows.c.state.in_(UNDER_WAY))
    return replace(
        line,
        counted_at=now,
        rows={one.state: one.rows for one in found},
        quoted=from_micro(sum(int(one.sum or 0) for one in found if one.state != "retired")),
        under_way_since=connection.scalar(oldest),
    )


def _accounts(connection: Connection, now: float) -> list[Account]:
    limited = ACCOUNTS.query.where(accounts.c.kind != "run", accounts.c.budget.is_not(None))
    found = ACCOUNTS.all(connection, limited)
    today = {"day": day_of(now), "month": month_of(day_of(now))}
    return [one for one in found if one.name == today.get(one.kind, one.name)]


def _nights(connection: Connection, now: float) -> list[KeptNight]:
    swept = (nights.c.exit.is_not(None), nights.c.ended_at >= now - SWEPT)
    query = NIGHTS.query.where(*swept).order_by(nights.c.ended_at)
    latest = {one.inbox: one for one in NIGHTS.all(connection, query)}
    return sorted(latest.values(), key=lambda one: one.ended_at or 0, reverse=True)[:MOST_INBOXES]


def _backup_at(connection: Connection) -> float | None:
    last = select(acts.c.at).where(acts.c.act == "backup").order_by(acts.c.id.desc()).limit(1)
    found: float | None = connection.scalar(last)
    return found


def _engine(connection: Connection) -> Engine:
    return connection.engine


# What was counted on every machine, summed up in the ledger: it outlives the processes that
# counted.
#
# A run, or a receiver, adds what it has counted now and then and at its end; nothing is written by
# one that has counted nothing.


log = logging.getLogger("callsheet.ledger")

#: How often what was counted is kept, in seconds.
EVERY = 15.0
_ADD = text(
    "INSERT INTO counters (name, label, value) VALUES (:name, :label, :value) "
    "ON CONFLICT (name, label) DO UPDATE SET value = counters.value + excluded.value"
)


def add_counts(connection: Connection, counts: Counts) -> None:
    """Add what was counted to what is kept."""
    # Always in the same order, so that two who add do not wait for each other.
    lines = [{"name": n, "label": at, "value": v} for (n, at), v in sorted(counts.items())]
    if lines:
        connection.execute(_ADD, lines)


def counts_kept(connection: Connection) -> Counts:
    """Return all that was ever counted."""
    found = connection.execute(select(counters.c.name, counters.c.label, counters.c.value))
    return {(line.name, line.label): line.value for line in found}


@asynccontextmanager
async def keeping_counts(ledger: Ledger, *, every: float = EVERY) -> AsyncIterator[None]:
    """Keep what is counted meanwhile, now and then and at the end.

    A ledger that cannot be written fails no one for it: the counts wait, and are lost at the end.
    """
    task = asyncio.create_task(_keep_on(ledger, every), name="counts")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await keep_counts(ledger)


async def _keep_on(ledger: Ledger, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        await keep_counts(ledger)


async def keep_counts(ledger: Ledger) -> None:
    """Keep now what was counted."""
    counts = ledger.measures.take()
    if not counts:
        return
    try:
        await ledger.write(add_counts, counts=counts)
    except CallsheetError as error:
        log.info("what was counted is not kept yet: %s", error)
        ledger.measures.give_back(counts)


# How many videos people keep, and what a kept one costs, of each kind of video. Reads only.


By = Literal["tool", "language", "ratio"]
#: What videos are told apart by.
KINDS: tuple[By, ...] = get_args(By)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepRate:
    """Videos of one kind: how many rows have one, how many takes were kept and rejected, and what
    all takes have cost. `name` is empty where the rows do not say, `undecided` are rows whose video
    has no review."""

    name: str
    videos: int
    kept: int
    rejected: int
    charged: Decimal
    undecided: int = 0

    @property
    def rate(self) -> float | None:
        """The part of what was decided on that is kept; None where nothing was."""
        decided = self.kept + self.rejected
        return self.kept / decided if decided else None

    @property
    def each(self) -> Decimal | None:
        """What a kept video has cost, with all that came to nothing.

        None where none is kept, and while videos that are paid for may still be.
        """
        if not self.kept or self.undecided:
            return None
        each = (self.charged / self.kept).quantize(Decimal("0.01"))
        return each if each % 1 else each.to_integral_value()


def keep_rates(connection: Connection, campaign_id: int, by: By | None = None) -> list[KeepRate]:
    """Return the videos of a campaign by kind, the most costly first; all in one without `by`."""
    # Of every take: a video that was made once more after a rejection has cost its rate.
    mine = (
        select(
            takes.c.row_id,
            total(takes.c.charged).label("charged"),
            func.count(case((takes.c.review == "keep", 1))).label("kept"),
            func.count(case((takes.c.review == "reject", 1))).label("rejected"),
        )
        .where(takes.c.campaign_id == campaign_id)
        .group_by(takes.c.row_id)
        .subquery()
    )
    reviewed = exists().where(takes.c.id == rows.c.video_take_id, REVIEWED).correlate(rows)
    open_still = case((and_(rows.c.video_take_id.is_not(None), ~reviewed), 1))
    name = func.coalesce(rows.c[by], "") if by else func.coalesce(None, "")
    query = (
        select(
            name.label("name"),
            func.count(rows.c.video_take_id).label("videos"),
            func.coalesce(total(mine.c.kept), 0).label("kept"),
            func.coalesce(total(mine.c.rejected), 0).label("rejected"),
            func.coalesce(total(mine.c.charged), 0).label("charged"),
            func.count(open_still).label("undecided"),
        )
        .select_from(rows)
        .outerjoin(mine, mine.c.row_id == rows.c.id)
        .where(rows.c.campaign_id == campaign_id)
        .group_by(name)
    )
    found = [
        KeepRate(**{**line._asdict(), "charged": from_micro(line.charged)})
        for line in connection.execute(query)
    ]
    return sorted(found, key=lambda one: (-one.charged, one.name))
