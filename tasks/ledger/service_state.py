"""What the ledger remembers of the service.

Paid calls without a key, the gate of each key, and the catalog.

At most one call is open for a target of an organisation, in all processes: what a lost answer
left behind could not be told apart otherwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, update

from callsheet.tasks.ledger.database import insert_missing, insert_unless_there
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import (
    calls,
    campaigns,
    catalogues,
    gates,
    rows,
    takes,
    videos_seen,
)
from callsheet.tasks.ledger.statements import gathered
from callsheet.tasks.values.briefs import canonical_json
from callsheet.tasks.values.catalog import Catalogue

#: The target of a call that makes a video, instead of changing one.
NEW = ""

CallOutcome = Literal["made", "refused", "unknown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PaidCall:
    """One paid call without a key, as it was sent; moments in Unix seconds.

    `target` is the video it changes. Campaign, row and take say whose it is; a call typed by hand
    is no one's. Open until `closed_at`; with the outcome `unknown` until `resolved_at`.
    """

    id: int
    operation: str
    target: str
    take_id: int | None
    body: bytes = field(repr=False)
    opened_at: float
    closed_at: float | None
    outcome: CallOutcome | None
    video_id: str | None
    resolved_at: float | None
    before: str | None
    campaign: str | None
    row: str | None

    @property
    def is_unsettled(self) -> bool:
        """Whether it is open, or its outcome is not known."""
        unknown = self.closed_at is None or self.outcome == "unknown"
        return unknown and self.resolved_at is None

    def __str__(self) -> str:
        whose = f"row {self.row} of {self.campaign}" if self.row else f"call {self.id}"
        return f"{self.operation} ({whose})"


def open_call(
    connection: Connection,
    *,
    organisation: str,
    operation: str,
    body: bytes,
    at: float,
    target: str = NEW,
    before: str | None = None,
) -> int | None:
    """Record the intent to send a call once; return its number.

    `before` says as JSON how the video that it changes was.

    Returns None while another call for the same target is open: nothing may be sent.
    """
    values = {
        "organisation": organisation,
        "target": target,
        "operation": operation,
        "body": body,
        "opened_at": at,
        "before": before,
    }
    if not insert_unless_there(connection, calls, values):
        return None
    mine = select(calls.c.id).where(
        calls.c.organisation == organisation,
        calls.c.target == target,
        calls.c.closed_at.is_(None),
    )
    return int(connection.execute(mine).scalar_one())


def drop_call(connection: Connection, call_id: int) -> None:
    """Take an intent back within the transaction that recorded it: nothing was to be sent."""
    connection.execute(delete(calls).where(calls.c.id == call_id, calls.c.closed_at.is_(None)))


def join_call(connection: Connection, call_id: int, *, take_id: int) -> None:
    """Say which take a call is sent for."""
    connection.execute(update(calls).where(calls.c.id == call_id).values(take_id=take_id))


def close_call(
    connection: Connection,
    *,
    outcome: CallOutcome,
    at: float,
    call_id: int | None = None,
    take_id: int | None = None,
    video_id: str | None = None,
) -> bool:
    """Record what became of a call, by its number or its take; return False if it was closed."""
    changed = connection.execute(
        update(calls)
        .where(_this(call_id, take_id), calls.c.closed_at.is_(None))
        .values(closed_at=at, outcome=outcome, video_id=video_id)
    )
    return changed.rowcount == 1


def resolve_call(
    connection: Connection,
    *,
    at: float,
    call_id: int | None = None,
    take_id: int | None = None,
    video_id: str | None = None,
) -> bool:
    """Record that a person has settled an open or unknown call; return False if none was."""
    changed = connection.execute(
        update(calls)
        .where(_this(call_id, take_id), calls.c.resolved_at.is_(None), _unsettled())
        .values(
            closed_at=func.coalesce(calls.c.closed_at, at),
            outcome="made" if video_id else "unknown",
            video_id=video_id,
            resolved_at=at,
        )
    )
    return changed.rowcount >= 1


def unsettled_calls(connection: Connection, organisation: str | None = None) -> list[PaidCall]:
    """Return the calls that are open, or whose outcome no one knows, oldest first."""
    which = calls.c.resolved_at.is_(None) & _unsettled()
    if organisation is not None:
        which &= calls.c.organisation == organisation
    return _calls(connection, which)


def calls_about(
    connection: Connection, *, take_ids: Collection[int] = (), video_ids: Collection[str] = ()
) -> list[PaidCall]:
    """Return the calls sent for these takes or about these videos, oldest first."""
    about = (calls.c.take_id.in_(take_ids), calls.c.target.in_(video_ids))
    return _calls(connection, or_(*about, calls.c.video_id.in_(video_ids)))


def changed_by_hand(connection: Connection) -> set[str]:
    """Return the videos that were changed by a paid call typed by hand."""
    query = select(calls.c.target).where(
        calls.c.target != NEW, calls.c.outcome != "refused", calls.c.take_id.is_(None)
    )
    return set(connection.scalars(query))


def note_videos(
    connection: Connection, *, organisation: str, video_ids: Collection[str], at: float
) -> None:
    """Remember videos that exist before a call is sent."""
    fresh = [
        {"organisation": organisation, "video_id": video_id, "seen_at": at}
        for video_id in dict.fromkeys(video_ids)
    ]
    insert_missing(connection, videos_seen, fresh)


def videos_known(connection: Connection, organisation: str, *, before: float) -> set[str]:
    """Return the videos that a call sent at `before` cannot have made: older, or ours already."""
    seen = select(videos_seen.c.video_id).where(
        videos_seen.c.organisation == organisation, videos_seen.c.seen_at <= before
    )
    return set(connection.scalars(seen)) | videos_ours(connection)


def videos_ours(connection: Connection) -> set[str]:
    """Return every video that a take or a call of this ledger made."""
    made = select(takes.c.video_id).where(takes.c.video_id.is_not(None))
    by_hand = select(calls.c.video_id).where(calls.c.video_id.is_not(None))
    return {str(video_id) for query in (made, by_hand) for video_id in connection.scalars(query)}


def _this(call_id: int | None, take_id: int | None) -> ColumnElement[bool]:
    return calls.c.id == call_id if call_id is not None else calls.c.take_id == take_id


def _unsettled() -> ColumnElement[bool]:
    return calls.c.closed_at.is_(None) | (calls.c.outcome == "unknown")


def _calls(connection: Connection, which: ColumnElement[bool]) -> list[PaidCall]:
    return _CALLS.all(connection, _CALLS.query.where(which).order_by(calls.c.id))


_CALLS = Records(
    PaidCall,
    calls,
    joined=calls.outerjoin(takes, takes.c.id == calls.c.take_id)
    .outerjoin(rows, rows.c.id == takes.c.row_id)
    .outerjoin(campaigns, campaigns.c.id == rows.c.campaign_id),
    campaign=campaigns.c.name,
    row=rows.c.row,
)


# What all processes know of an organisation's key: until when its gate is closed, in Unix seconds.


def gate_of(connection: Connection, organisation: str) -> float | None:
    """Return until when the organisation's gate is closed (Unix seconds), if it ever was."""
    return connection.scalar(
        select(gates.c.closed_until).where(gates.c.organisation == organisation)
    )


def gate_of_group(connection: Connection, organisation: str) -> float:
    """Return until when a gate is closed, 0 for never: asked once for all who share the commit."""
    known = gathered(connection, _Gates)
    if known is None:
        return gate_of(connection, organisation) or 0.0
    if organisation not in known.closed_until:
        known.closed_until[organisation] = gate_of(connection, organisation) or 0.0
    return known.closed_until[organisation]


@dataclass(slots=True)
class _Gates:
    """What was read in a commit; whatever might change it has this forgotten."""

    closed_until: dict[str, float] = field(default_factory=dict)

    def write(self, connection: Connection) -> None:
        """Write nothing."""


def close_gate(connection: Connection, organisation: str, *, until: float) -> None:
    """Remember that no request may be made before `until`; it never opens earlier by this."""
    values = {"organisation": organisation, "closed_until": until}
    if not insert_unless_there(connection, gates, values):
        connection.execute(
            update(gates)
            .where(gates.c.organisation == organisation, gates.c.closed_until < until)
            .values(closed_until=until)
        )


# What services told of what they offer, so that a sheet can be compared with it offline.


#: How long the catalogue of an address that no one asks any more is kept, in seconds.
KEPT = 30 * 86_400.0


def catalogue_of(connection: Connection, base_url: str | None) -> Catalogue | None:
    """Return what the service at an address told last; without one what any service did."""
    query = select(catalogues).order_by(catalogues.c.told_at.desc()).limit(1)
    if base_url is not None:
        query = query.where(catalogues.c.base_url == base_url)
    found = connection.execute(query).first()
    if found is None:
        return None
    body = json.loads(found.body)
    return Catalogue(base_url=found.base_url, told_at=found.told_at, body=body)


def keep_catalogue(connection: Connection, told: Catalogue) -> bool:
    """Keep it unless a newer one is known; return whether its service told something else before.

    What services at other addresses told long before it is dropped.
    """
    here = catalogues.c.base_url == told.base_url
    body = canonical_json(told.body)
    digest = hashlib.sha256(body).hexdigest()
    before = connection.scalar(select(catalogues.c.digest).where(here))
    values = {"told_at": told.told_at, "digest": digest, "body": body.decode()}
    if not insert_unless_there(connection, catalogues, {"base_url": told.base_url, **values}):
        older = catalogues.c.told_at <= told.told_at
        if connection.execute(update(catalogues).where(here, older).values(values)).rowcount == 0:
            return False
    connection.execute(delete(catalogues).where(catalogues.c.told_at < told.told_at - KEPT))
    return before != digest
