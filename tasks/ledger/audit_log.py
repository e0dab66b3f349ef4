"""What people did: every change that someone asked for, in the order in which they did it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, select

from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema_runs import acts
from callsheet.tasks.runtime.redact import redact


@dataclass(frozen=True, kw_only=True)
class Act:
    """One line of the activity log; `rows` is how many it was about, where it was about rows."""

    id: int
    at: float
    by: str
    act: str
    campaign: str | None
    rows: int | None
    words: str | None


def note_act(
    connection: Connection,
    *,
    at: float,
    by: str,
    act: str,
    campaign: str | None = None,
    rows: int | None = None,
    words: str | None = None,
) -> int:
    """Write down that someone did something (`approve`, `invite`); return its number."""
    said = redact(words) if words else None
    made = acts.insert().values(at=at, by=by, act=act, campaign=campaign, rows=rows, words=said)
    return int(connection.execute(made.returning(acts.c.id)).scalar_one())


def ledger_mark(connection: Connection) -> str | None:
    """Return what tells a ledger from others, by its first act; None before there is one.

    It tells nothing of what is in the ledger.
    """
    first = connection.execute(select(acts).order_by(acts.c.id).limit(1)).first()
    return None if first is None else sha256(repr(tuple(first)).encode()).hexdigest()[:32]


def restored_since(connection: Connection, moment: float) -> bool:
    """Whether the ledger was restored from a backup at, or after, a moment (Unix seconds)."""
    one = select(acts.c.id).where(acts.c.act == "restore", acts.c.at >= moment)
    return connection.execute(one.limit(1)).first() is not None


def acts_of(
    connection: Connection, *, campaign: str | None = None, before: int | None = None, limit: int
) -> list[Act]:
    """Return what was done, newest first: of all or of a campaign, and before a number."""
    query = _ACTS.query.order_by(acts.c.id.desc()).limit(limit)
    if campaign is not None:
        query = query.where(acts.c.campaign == campaign)
    if before is not None:
        query = query.where(acts.c.id < before)
    return _ACTS.all(connection, query)


_ACTS = Records(Act, acts)
