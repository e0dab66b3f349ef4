"""Campaigns: their account and their counts.

A campaign has no state of its own: it is the counts of its rows. Who is at work on one is in
`leases`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select, update

from callsheet.tasks.credits import as_number, from_micro, in_credits, to_micro
from callsheet.tasks.errors import MovedOn
from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.figures import NAMES, sums_of, total
from callsheet.tasks.ledger.leases import CAMPAIGN, Lease, from_columns, live, name_in_sql, owns
from callsheet.tasks.ledger.leases import columns as lease_columns
from callsheet.tasks.ledger.moves import note_campaign
from callsheet.tasks.ledger.origins import is_begun, remember_origin, set_apart
from callsheet.tasks.ledger.schema import FOUND, campaigns, events, leases, takes
from callsheet.tasks.ledger.states import State
from callsheet.tasks.origin import SheetOrigin
from callsheet.tasks.suggest import again_with


@dataclass(frozen=True, kw_only=True, slots=True)
class Campaign:
    """A campaign and its account, in credits."""

    id: int
    name: str
    sheet: str | None
    sheet_digest: str | None
    budget: Decimal | None
    reserved: Decimal
    charged: Decimal
    created_at: float
    cancel_requested_at: float | None
    #: Whether it was paid for with the credits of a sandbox of our own; None: nobody knows.
    sandbox: bool | None = None
    #: What is known of its report in the store, as text (`reports`).
    reported: str | None = None
    #: Who is at work on it; None where its lease was released or has lapsed.
    lease: Lease | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Rows by state, the sums of their figures over every run (`figures`), and the budget."""

    rows: Mapping[State, int]
    quoted: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    charged: Decimal = Decimal(0)
    paid_before: Decimal = Decimal(0)
    variance: Decimal = Decimal(0)
    budget: Decimal | None = None
    #: The part of `charged` that another ledger paid for, and that was found.
    found: Decimal = Decimal(0)

    @property
    def paid_here(self) -> Decimal:
        """What runs with this ledger were charged."""
        return self.charged - self.found

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(self.rows.values())

    @property
    def left(self) -> Decimal | None:
        """What of the budget may still be set aside; below 0 where charges went beyond it."""
        return None if self.budget is None else self.budget - self.reserved - self.charged

    def credits_as_json(self) -> dict[str, int | float | None]:
        """Return the amounts as JSON: the figures, the budget, and what is left of it."""
        names = (*NAMES, "budget", "left")
        return {name: as_number(getattr(self, name)) for name in names}

    def as_json(self) -> dict[str, int]:
        """Return the counts as JSON: `total`, then every state that has rows."""
        return {"total": self.total, **{str(state): n for state, n in self.rows.items()}}


#: The name of a campaign's lease, as the database computes it.
_LEASE = name_in_sql(CAMPAIGN, campaigns.c.id)


def find_campaign(connection: Connection, name: str) -> Campaign | None:
    """Return the campaign of this name, if the ledger knows it."""
    return next(iter(_campaigns(connection, name)), None)


def all_campaigns(connection: Connection) -> list[Campaign]:
    """Return every campaign, the newest first."""
    return _campaigns(connection, None)


def ensure_campaign(
    connection: Connection,
    name: str,
    *,
    sheet: str,
    sheet_digest: str,
    at: float,
    origin: SheetOrigin | None = None,
    apart_from: Collection[int] = (),
    sandbox: bool | None = False,
) -> Campaign:
    """Return the campaign of this name, made if it is new, with the sheet it is run from.

    `apart_from` are campaigns that have paid for rows of it, and from which it stands apart; with
    `sandbox` its service is one of our own, which stays so once anything is approved or was sent.
    """
    found = find_campaign(connection, name)
    if found is None:
        values = {"name": name, "created_at": at, "reserved": 0, "charged": 0}
        made = insert_unless_there(connection, campaigns, values)
        found = find_campaign(connection, name)
        assert found is not None
        if made:
            note_campaign(connection, found.id, "campaign", f"from {sheet}", at=at)
    this = campaigns.c.id == found.id
    if is_begun(connection, found.id):
        sandbox = found.sandbox
    now = replace(found, sheet=sheet, sheet_digest=sheet_digest, sandbox=sandbox)
    values = {"sheet": sheet, "sheet_digest": sheet_digest, "sandbox": sandbox}
    connection.execute(update(campaigns).where(this).values(**values))
    if origin is not None:
        remember_origin(connection, found.id, origin, at=at)
    set_apart(connection, found.id, apart_from)
    return now


def set_budget(connection: Connection, campaign: Campaign, *, budget: Decimal, at: float) -> None:
    """Set what the campaign may cost in all, over every run."""
    changed = connection.execute(
        update(campaigns)
        .where(
            campaigns.c.id == campaign.id,
            campaigns.c.budget.is_distinct_from(to_micro(budget)),
        )
        .values(budget=to_micro(budget))
    )
    if changed.rowcount:
        note_campaign(connection, campaign.id, "budget", f"{in_credits(budget)}", at=at)


def last_event(connection: Connection, campaign_id: int) -> int:
    """Return the number of the last event of a campaign, 0 where it has none."""
    last = select(func.max(events.c.id)).where(events.c.campaign_id == campaign_id)
    return connection.scalar(last) or 0


def newest_event(connection: Connection, campaign_id: int) -> dict[str, int | float] | None:
    """Return number and moment (Unix seconds) of the last event of a campaign, if it has one."""
    query = select(events.c.id, events.c.at).where(events.c.campaign_id == campaign_id)
    found = connection.execute(query.order_by(events.c.id.desc()).limit(1)).first()
    return None if found is None else {"id": found.id, "at": found.at}


def has_event(connection: Connection, campaign_id: int, *, id: int, at: float) -> bool:
    """Whether a campaign's history has this event, of that moment."""
    this = (events.c.campaign_id == campaign_id, events.c.id == id)
    return connection.scalar(select(events.c.at).where(*this)) == at


def tally_of(connection: Connection, campaign: Campaign) -> Tally:
    """Return the campaign's counts and the sums of its rows' figures as they are now."""
    sums = sums_of(connection, campaign.id)
    account = find_campaign(connection, campaign.name) or campaign
    return Tally(
        rows=sums.rows,
        quoted=sums.quoted,
        reserved=account.reserved,
        charged=account.charged,
        paid_before=sums.paid_before,
        variance=sums.variance,
        budget=account.budget,
        found=from_micro(int(connection.scalar(_FOUND, {"the_campaign": campaign.id}) or 0)),
    )


_FOUND = select(func.coalesce(total(takes.c.charged), 0)).where(
    takes.c.campaign_id == bindparam("the_campaign"), FOUND
)


def check_unchanged(connection: Connection, campaign: Campaign, *, owner: str | None) -> None:
    """Raise MovedOn unless the campaign is still the one that was shown, and `owner` still has it.

    Nothing else can take or change it until this transaction ends.
    """
    check_owner(connection, campaign, owner=owner)
    this = select(campaigns.c.sheet_digest).where(campaigns.c.id == campaign.id)
    if connection.scalar(this.with_for_update()) != campaign.sheet_digest:
        raise MovedOn(
            f"campaign {campaign.name} was given another sheet before this plan was approved; "
            "nothing was approved or spent",
            remedy=f"{again_with()} and look at the new plan",
        )


def check_owner(connection: Connection, campaign: Campaign, *, owner: str | None) -> None:
    """Raise MovedOn unless `owner` (None: any) still has the campaign's lease, and keep it so.

    No other run can take the lease until this transaction ends.
    """
    if owner is not None and not owns(connection, campaign.id, owner):
        raise MovedOn(
            f"another run took over campaign {campaign.name} before this plan was approved; "
            "nothing was approved or spent",
            remedy=f"{again_with()} and look at the new plan",
        )


def campaign_at_work(connection: Connection) -> str | None:
    """Return a campaign that a run is at work on now, if there is one."""
    at_work = select(campaigns.c.name).where(live(_LEASE))
    return connection.execute(at_work.limit(1)).scalar()


def _campaigns(connection: Connection, name: str | None) -> list[Campaign]:
    query = select(campaigns, *lease_columns()).order_by(campaigns.c.id.desc())
    query = query.outerjoin(leases, leases.c.name == _LEASE)
    if name is not None:
        query = query.where(campaigns.c.name == name)
    return [_campaign(found) for found in connection.execute(query)]


def _campaign(found: Row[Any]) -> Campaign:
    values = found._asdict()
    lease = from_columns(values)
    for name in ("budget", "reserved", "charged"):
        values[name] = from_micro(values[name])
    return Campaign(**values, lease=lease if lease is not None and lease.is_live else None)
