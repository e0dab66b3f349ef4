"""What all processes know of an organisation's key: until when its gate is closed, and its pace.

Moments are Unix seconds. The rules of the pace are the service client's; here it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, select, update

from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.gathering import gathered
from callsheet.tasks.ledger.schema import gates, takes

#: Creates that are counted at most when it is asked how many were accepted of late.
COUNTED = 1000


@dataclass(frozen=True, slots=True)
class KeptPace:
    """A gate and a pace: `rate` creates a second were refused, since `rate_since` it grows again.

    The next create that nobody has a turn for may leave at `next_at`.
    """

    closed_until: float = 0.0
    rate: float | None = None
    rate_since: float | None = None
    next_at: float | None = None


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


def pace_of(connection: Connection, organisation: str, *, to_change: bool = False) -> KeptPace:
    """Return what is kept of a key's gate and pace; `to_change` has others wait until it is."""
    query = select(gates.c.closed_until, gates.c.rate, gates.c.rate_since, gates.c.next_at)
    query = query.where(gates.c.organisation == organisation)
    found = connection.execute(query.with_for_update() if to_change else query).first()
    return KeptPace() if found is None else KeptPace(*found)


def keep_pace(connection: Connection, organisation: str, pace: KeptPace) -> None:
    """Keep a pace that was read to change it; the gate stays closed for as long as it was."""
    close_gate(connection, organisation, until=pace.closed_until)
    connection.execute(
        update(gates)
        .where(gates.c.organisation == organisation)
        .values(rate=pace.rate, rate_since=pace.rate_since, next_at=pace.next_at)
    )


def accepted_of_late(connection: Connection) -> list[float]:
    """Return the moments at which the ledger's last takes were accepted, so many at most."""
    last = select(takes.c.accepted_at).order_by(takes.c.id.desc()).limit(COUNTED)
    return [moment for moment in connection.scalars(last) if moment is not None]
