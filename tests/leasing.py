"""Leases in a ledger, for tests: another owner has one, lets it lapse, or takes it over."""

from __future__ import annotations

from sqlalchemy import Connection, update

from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.leases import Lease, acquire, campaign_lease, release
from callsheet.tasks.ledger.schema import leases


def acquire_lease(
    connection: Connection, campaign: Campaign, *, owner: str, seconds: float = 60.0
) -> Lease | None:
    """Acquire a campaign's lease; return it as another owner has it, or None on success."""
    found = acquire(connection, campaign_lease(campaign.id), owner=owner, seconds=seconds)
    return None if found.owner == owner else found


def release_lease(connection: Connection, campaign: Campaign, *, owner: str) -> bool:
    """Release a campaign's lease."""
    return release(connection, campaign_lease(campaign.id), owner=owner)


def let_lapse(connection: Connection, name: str) -> None:
    """Have a lease lapse: its owner stays written there, and gave no sign of life in time."""
    connection.execute(update(leases).where(leases.c.name == name).values(until=0.0))


def take_over(
    connection: Connection, campaign: Campaign, *, owner: str, seconds: float = 60.0
) -> None:
    """Have a campaign's lease lapse, and another owner acquire it."""
    let_lapse(connection, campaign_lease(campaign.id))
    assert acquire_lease(connection, campaign, owner=owner, seconds=seconds) is None
