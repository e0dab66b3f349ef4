"""Where campaigns come from, which rows another campaign has paid for, and which stand apart.

Two campaigns stand apart once a person has said that both are meant, though rows of theirs are
the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, Select, func, or_, select, update

from callsheet.tasks.credits import from_micro
from callsheet.tasks.ledger.database import insert_missing, insert_unless_there
from callsheet.tasks.ledger.moves import note_campaign
from callsheet.tasks.ledger.schema import campaigns, origins, rows, separations, takes
from callsheet.tasks.origin import SheetOrigin

#: Digests in one question: SQLite takes no more than 32,766 values, of old 999.
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class PaidElsewhere:
    """Rows of a sheet that another campaign has paid for, under the same id and brief."""

    campaign_id: int
    campaign: str
    #: What each has cost there, or what was set aside for it, by row id.
    costs: Mapping[str, Decimal]

    @property
    def credits(self) -> Decimal:
        """What they have cost there together."""
        return sum(self.costs.values(), Decimal(0))


def remember_origin(
    connection: Connection, campaign_id: int, origin: SheetOrigin, *, at: float
) -> None:
    """Remember that a campaign was run from there, and when it was last."""
    values = {"campaign_id": campaign_id, "digest": origin.digest, "at": at}
    named = {"place": origin.place, "worksheet": origin.worksheet}
    if insert_unless_there(connection, origins, {**values, **named}):
        note_campaign(connection, campaign_id, "origin", f"from {origin}", at=at)
    else:
        this = (origins.c.campaign_id == campaign_id) & (origins.c.digest == origin.digest)
        connection.execute(update(origins).where(this).values(at=at))


def origins_of(connection: Connection, campaign_id: int) -> list[SheetOrigin]:
    """Return where a campaign was run from, the latest first."""
    query = select(origins.c.place, origins.c.worksheet).where(origins.c.campaign_id == campaign_id)
    found = connection.execute(query.order_by(origins.c.at.desc()))
    return [SheetOrigin(place=place, worksheet=worksheet) for place, worksheet in found]


def is_latest_from(connection: Connection, campaign_id: int, origin: SheetOrigin) -> bool:
    """Return whether a campaign is the one that was last run from there."""
    return next((number for number, _ in campaigns_from(connection, origin)), None) == campaign_id


def campaigns_from(connection: Connection, origin: SheetOrigin) -> list[tuple[int, str]]:
    """Return number and name of the campaigns that were run from there, the latest first."""
    query = (
        select(campaigns.c.id, campaigns.c.name)
        .join(origins, origins.c.campaign_id == campaigns.c.id)
        .where(origins.c.digest == origin.digest)
        .order_by(origins.c.at.desc())
    )
    return [(number, name) for number, name in connection.execute(query)]


def has_paid(connection: Connection, campaign_id: int) -> bool:
    """Return whether anything was ever sent for a campaign."""
    query = select(takes.c.id).join(rows, rows.c.id == takes.c.row_id)
    return connection.scalar(query.where(rows.c.campaign_id == campaign_id).limit(1)) is not None


def is_begun(connection: Connection, campaign_id: int) -> bool:
    """Return whether anything of a campaign was ever sent, or is approved to be."""
    query = select(rows.c.id).where(rows.c.campaign_id == campaign_id, rows.c.state == "approved")
    approved = connection.scalar(query.limit(1)) is not None
    return approved or has_paid(connection, campaign_id)


def paid_elsewhere(
    connection: Connection,
    campaign_id: int | None,
    wanted: Sequence[tuple[str, str]],
    *,
    sandbox: bool = False,
) -> list[PaidElsewhere]:
    """Return the other campaigns that have paid for some of these (row id, brief digest).

    The one with the most of them comes first; those that stand apart from the campaign, which may
    be a new one (None), are left out, and with them what was paid for with other credits: those of
    a sandbox of our own, or real ones.
    """
    if not wanted or not _others(connection, campaign_id):
        return []
    pairs, digests = set(wanted), sorted({digest for _, digest in wanted})
    known = {campaign_id, *_apart_from(connection, campaign_id)}
    found: dict[tuple[int, str], dict[str, Decimal]] = defaultdict(dict)
    for start in range(0, len(digests), AT_ONCE):
        chunk = digests[start : start + AT_ONCE]
        for number, name, row, digest, cost in connection.execute(_paid(chunk, sandbox)):
            if (row, digest) in pairs and number not in known:
                found[number, name][row] = from_micro(cost)
    several = [
        PaidElsewhere(
            campaign_id=number,
            campaign=name,
            costs={row: costs[row] for row, _ in wanted if row in costs},
        )
        for (number, name), costs in found.items()
    ]
    return sorted(several, key=lambda one: (-len(one.costs), one.campaign))


def set_apart(connection: Connection, campaign_id: int, others: Collection[int]) -> None:
    """Remember that a person wants this campaign beside the others, though rows are the same."""
    pairs = [sorted((campaign_id, other)) for other in others]
    insert_missing(connection, separations, [dict(zip(_PAIR, pair, strict=True)) for pair in pairs])


_PAIR = ("campaign_id", "other_id")


def _apart_from(connection: Connection, campaign_id: int | None) -> set[int]:
    one, other = separations.c.campaign_id, separations.c.other_id
    query = select(one, other).where(or_(one == campaign_id, other == campaign_id))
    return set() if campaign_id is None else {n for pair in connection.execute(query) for n in pair}


def _others(connection: Connection, campaign_id: int | None) -> bool:
    """Whether there is any other campaign."""
    query = select(campaigns.c.id).where(campaigns.c.id.is_distinct_from(campaign_id)).limit(1)
    return connection.scalar(query) is not None


def _paid(digests: Sequence[str], sandbox: bool) -> Select[tuple[int, str, str, str, int]]:
    """Return the query of what was sent, not refused and not free, for any of these briefs."""
    cost = func.coalesce(takes.c.charged, takes.c.quoted, 0)
    return (
        select(rows.c.campaign_id, campaigns.c.name, rows.c.row, takes.c.digest, cost)
        .join(rows, rows.c.id == takes.c.row_id)
        .join(campaigns, campaigns.c.id == rows.c.campaign_id)
        .where(
            takes.c.digest.in_(digests),
            takes.c.refused_at.is_(None),
            takes.c.abandoned_at.is_(None),
            or_(takes.c.charged.is_(None), takes.c.charged > 0),
            or_(campaigns.c.sandbox.is_(None), campaigns.c.sandbox == sandbox),
        )
        .order_by(takes.c.id)
    )
