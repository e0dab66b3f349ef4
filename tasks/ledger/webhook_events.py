"""Webhook events.

Stored once each, matched to videos, and waited for.

A hint says where to look and is never believed. Of what it says of itself only the body is
signed; event id, kind, attempt and moment are kept for people to read.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, and_, delete, func, or_, select, update
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.ledger.database import insert_missing, insert_unless_there
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.leases import CAMPAIGN, is_held, name_in_sql
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import (
    campaigns,
    hinted,
    hints,
    leases,
    rows,
    takes,
)
from callsheet.tasks.ledger.values import UNDER_WAY
from callsheet.tasks.runtime.errors import LedgerError

T = TypeVar("T")

#: Hints are kept for so long, in seconds: the service retries for some six hours (section 6).
KEPT = 8 * 86400.0
#: PostgreSQL wakes listeners on this channel; SQLite has none, and is asked.
CHANNEL = "callsheet_hints"
#: Ids in one question: SQLite allows no more than some thousands.
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class Hint:
    """A signed delivery: the subscription that signed it, the videos it names, its own words.

    `digest` is the sha256 of the body; moments are Unix seconds.
    """

    digest: str
    nonce: str
    videos: frozenset[str] = frozenset()
    ping: bool = False
    event_id: str | None = None
    kind: str | None = None
    attempt: int | None = None
    told_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A hint as it was kept."""

    id: int
    nonce: str
    videos: frozenset[str] = frozenset()
    ping: bool
    heard_at: float


@dataclass(frozen=True, kw_only=True)
class TrackedVideo:
    """A video of ours, and the lease on its campaign as the ledger has it (Unix seconds)."""

    video_id: str
    campaign: str
    row: str
    sheet: str | None
    owner: str | None
    #: Whether a run would process the row: this take of it was asked for, and is not delivered.
    under_way: bool


def keep_hint(connection: Connection, hint: Hint, *, at: float) -> bool:
    """Keep a hint; return False if its body already exists.

    The event id is unique as well, yet not signed: another body under an id that is taken is kept
    without it, so that no one can silence a delivery by lending its id to another.
    """
    values = _HINTS.line(hint, heard_at=at)
    if not insert_unless_there(connection, hints, values):
        same = hints.c.digest == hint.digest
        if connection.execute(select(hints.c.id).where(same)).first() is not None:
            if hint.ping:
                # The bodies of two pings may be the same; that the second came is news, too.
                connection.execute(update(hints).where(same, hints.c.ping).values(heard_at=at))
            return False
        if not insert_unless_there(connection, hints, values | {"event_id": None}):
            return False
    this = connection.execute(select(hints.c.id).where(hints.c.digest == hint.digest)).scalar_one()
    named = [{"hint_id": this, "video_id": video} for video in sorted(hint.videos)]
    insert_missing(connection, hinted, named)
    dialect_of(connection).notify(connection, CHANNEL)
    return True


def drop_old_hints(connection: Connection, *, at: float) -> int:
    """Forget hints that the service cannot repeat any more; return how many they were."""
    old = select(hints.c.id).where(hints.c.heard_at < at - KEPT)
    connection.execute(delete(hinted).where(hinted.c.hint_id.in_(old)))
    return connection.execute(delete(hints).where(hints.c.heard_at < at - KEPT)).rowcount


def hints_heard(connection: Connection, *, after: int, since: float) -> list[Heard]:
    """Return the hints with a later id than `after`, or received since `since`, in order.

    Two processes commit in any order, so that an id alone would step over the slower one.
    """
    query = _HEARD.query.where(or_(hints.c.id > after, hints.c.heard_at >= since))
    found = _HEARD.all(connection, query.order_by(hints.c.id))
    videos: dict[int, set[str]] = defaultdict(set)
    for some in _portions(hint.id for hint in found):
        for one in connection.execute(select(hinted).where(hinted.c.hint_id.in_(some))):
            videos[one.hint_id].add(one.video_id)
    return [replace(hint, videos=frozenset(videos[hint.id])) for hint in found]


def latest_hint(connection: Connection) -> int:
    """Return the id of the newest hint, 0 where there is none: the cheap question."""
    return connection.execute(select(func.max(hints.c.id))).scalar() or 0


def hinted_at(connection: Connection, videos: Collection[str]) -> dict[str, float]:
    """Return when each of `videos` was named first, in Unix seconds, as far as it was."""
    found: dict[str, float] = {}
    for some in _portions(videos):
        query = (
            select(hinted.c.video_id, func.min(hints.c.heard_at).label("first"))
            .join(hints, hints.c.id == hinted.c.hint_id)
            .where(hinted.c.video_id.in_(some))
            .group_by(hinted.c.video_id)
        )
        found |= {one.video_id: one.first for one in connection.execute(query)}
    return found


def last_heard(connection: Connection, nonce: str | None = None) -> float | None:
    """Return when a delivery that a subscription signed, or any did, was last received."""
    query = select(func.max(hints.c.heard_at))
    found: float | None = connection.scalar(
        query if nonce is None else query.where(hints.c.nonce == nonce)
    )
    return found


def count_hints(connection: Connection, nonce: str, *, since: float) -> int:
    """Return how many hints of a subscription, pings aside, were received since a moment."""
    query = select(func.count()).where(
        hints.c.nonce == nonce, hints.c.heard_at >= since, hints.c.ping.is_(False)
    )
    return connection.execute(query).scalar_one()


def pings_heard(
    connection: Connection, nonce: str, *, since: float
) -> tuple[int | None, float | None]:
    """Return a mark that changes with every ping that a subscription signed, `since` a moment."""
    query = select(func.max(hints.c.id), func.max(hints.c.heard_at)).where(
        hints.c.heard_at >= since, hints.c.nonce == nonce, hints.c.ping
    )
    number, heard_at = connection.execute(query).one()
    return number, heard_at


def tracked_videos(connection: Connection, videos: Collection[str]) -> list[TrackedVideo]:
    """Return those of `videos` that this ledger knows, each once: of several takes the newest."""
    found: dict[str, TrackedVideo] = {}
    for some in _portions(videos):
        query = _TRACKED.query.where(takes.c.video_id.in_(some)).order_by(takes.c.id)
        found |= {one.video_id: one for one in _TRACKED.all(connection, query)}
    return list(found.values())


_LEASE = and_(leases.c.name == name_in_sql(CAMPAIGN, campaigns.c.id), is_held())
_TRACKED = Records(
    TrackedVideo,
    takes,
    joined=takes.join(rows, rows.c.id == takes.c.row_id)
    .join(campaigns, campaigns.c.id == rows.c.campaign_id)
    .outerjoin(leases, _LEASE),
    campaign=campaigns.c.name,
    row=rows.c.row,
    sheet=campaigns.c.sheet,
    owner=leases.c.owner,
    under_way=and_(rows.c.take_id == takes.c.id, rows.c.state.in_(sorted(UNDER_WAY))),
)
_HINTS = Records(Hint, hints)
_HEARD = Records(Heard, hints)


def _portions(ids: Iterable[T]) -> Iterator[list[T]]:
    wanted = list(ids)
    for start in range(0, len(wanted), AT_ONCE):
        yield wanted[start : start + AT_ONCE]


# Wait for hints, whichever process received them.
#
# PostgreSQL tells of it (LISTEN and NOTIFY); a SQLite file is asked, several times a second, for
# the newest id, which is the cheapest question there is.


#: How often a SQLite file is asked, in seconds.
ASK = 0.15
#: PostgreSQL is asked after so long without news too, in seconds: a notice may be lost.
AT_MOST = 0.5
#: Before a lost connection is tried again, in seconds.
PAUSE = 1.0

#: Returns once there may be hints with a later id than it is given.
Wait = Callable[[int], Awaitable[None]]


@asynccontextmanager
async def listening(ledger: Ledger) -> AsyncIterator[Wait]:
    """Yield what waits for hints; a ledger that is out of reach only makes it wait longer."""
    if not dialect_of(ledger.reader).notifies:

        async def ask(known: int) -> None:
            newest = known
            while newest <= known:
                await asyncio.sleep(ASK)
                with suppress(LedgerError):
                    newest = await ledger.read(latest_hint)

        yield ask
        return
    ear = _Ear(ledger.reader)
    # It waits in a thread of its own: the common ones are few, and this one is always taken.
    with ThreadPoolExecutor(1, thread_name_prefix="hints") as thread:

        async def listen(known: int) -> None:
            loop = asyncio.get_running_loop()
            if not await loop.run_in_executor(thread, ear.wait):
                await asyncio.sleep(PAUSE)

        try:
            yield listen
        finally:
            await asyncio.to_thread(thread.shutdown)
            ear.close()


class _Ear:
    """A connection that listens, made when it is needed and again after it broke."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Any = None

    def wait(self) -> bool:
        """Wait for a notice, AT_MOST seconds; return False when the database is out of reach."""
        try:
            if self._connection is None:
                self._connection = self._open()
                return True
            for _ in self._connection.driver_connection.notifies(timeout=AT_MOST, stop_after=1):
                pass
        except (DBAPIError, self._engine.dialect.loaded_dbapi.Error):
            self.close()
            return False
        return True

    def close(self) -> None:
        if self._connection is not None:
            # It is of no use to anybody else: it listens.
            self._connection.invalidate()
            self._connection = None

    def _open(self) -> Any:
        found = self._engine.raw_connection()
        driver: Any = found.driver_connection
        driver.autocommit = True
        driver.execute(f"LISTEN {CHANNEL}")
        return found
