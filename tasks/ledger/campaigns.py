"""Campaigns.

Their accounts, their counts, where they come from, and rows that another campaign has paid for.

A campaign has no state of its own: it is the counts of its rows. Who is at work on one is in
`leases`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)

from callsheet.tasks.ledger.database import insert_missing, insert_unless_there
from callsheet.tasks.ledger.figures import Tally as Tally
from callsheet.tasks.ledger.figures import sums_of, total
from callsheet.tasks.ledger.leases import (
    CAMPAIGN,
    LEASES,
    Lease,
    is_held,
    live,
    name_in_sql,
    owns,
)
from callsheet.tasks.ledger.moves import note_campaign
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import (
    FOUND,
    campaigns,
    events,
    leases,
    origins,
    rows,
    separations,
    takes,
)
from callsheet.tasks.runtime.errors import MovedOn
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.values.amounts import (
    from_micro,
    in_credits,
    to_micro,
)
from callsheet.tasks.values.briefs import SheetOrigin


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
    #: Whether it was paid for with the credits of a sandbox of our own; None: no one knows.
    sandbox: bool | None = None
    #: How long the service keeps a delivered video, in seconds; None: the sheet does not say.
    keep_at_service: float | None = None
    #: What is known of its report in the store, as text (`reports`).
    reported: str | None = None
    #: Who is at work on it; None where its lease was released or has lapsed.
    lease: Lease | None = None


#: The name of a campaign's lease, as the database computes it.
_LEASE = name_in_sql(CAMPAIGN, campaigns.c.id)


def find_campaign(connection: Connection, name: str) -> Campaign | None:
    """Return the campaign of this name, if the ledger knows it."""
    return _CAMPAIGNS.first(connection, _CAMPAIGNS.query.where(campaigns.c.name == name))


def all_campaigns(connection: Connection) -> list[Campaign]:
    """Return every campaign, the newest first."""
    return _CAMPAIGNS.all(connection, _CAMPAIGNS.query.order_by(campaigns.c.id.desc()))


def ensure_campaign(
    connection: Connection,
    name: str,
    *,
    sheet: str,
    sheet_digest: str,
    at: float,
    origin: SheetOrigin | None = None,
    sandbox: bool | None = False,
) -> Campaign:
    """Return the campaign of this name, made if it is new, with the sheet it is run from.

    With `origin`, that is given where a plan of it is approved, the next run of the sheet continues
    it. With `sandbox` its service is one of our own, which stays so once anything is approved or
    was sent.
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
    said: dict[str, Any] = {"sheet": sheet, "sheet_digest": sheet_digest, "sandbox": sandbox}
    connection.execute(update(campaigns).where(this).values(**said))
    if origin is not None:
        remember_origin(connection, found.id, origin, at=at)
    return replace(found, **said)


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


def set_retention(connection: Connection, campaign: Campaign, *, keep: float | None) -> None:
    """Set how long the service keeps delivered videos, in seconds; None: the settings say it."""
    this = update(campaigns).where(campaigns.c.id == campaign.id)
    connection.execute(this.values(keep_at_service=keep))


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
    account = find_campaign(connection, campaign.name) or campaign
    return replace(
        sums_of(connection, campaign.id),
        reserved=account.reserved,
        charged=account.charged,
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


_CAMPAIGNS = Records(
    Campaign,
    campaigns,
    joined=campaigns.outerjoin(leases, and_(leases.c.name == _LEASE, is_held())),
    lease=LEASES,
)


# Where campaigns come from, which rows another campaign has paid for, and which stand apart.
#
# Two campaigns stand apart once a person has said that both are meant, though rows of theirs are
# the same.


#: Digests in one question: SQLite takes no more than 32,766 values, of old 999.
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class PaidElsewhere:
    """Rows of a sheet that another campaign has paid for, under the same id and brief.

    What is approved there counts as paid for: it may be sent at any moment.
    """

    campaign_id: int
    campaign: str
    #: What each has cost there, or what was set aside or approved for it, by row id.
    costs: Mapping[str, Decimal]
    #: Those of them that are approved there and were not sent yet.
    approved: frozenset[str] = frozenset()

    @property
    def credits(self) -> Decimal:
        """What they have cost there together."""
        return sum(self.costs.values(), Decimal(0))

    @property
    def verb(self) -> str:
        """What the campaign did with the rows, to go between its name and their number."""
        if not self.approved:
            return "already paid for"
        every = self.approved >= self.costs.keys()
        return "already approved" if every else "already paid for or approved"


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
    """Return the other campaigns that have paid for, or approved, some of these (id, digest).

    The one with the most of them comes first; those that stand apart from the campaign, which may
    be a new one (None), are left out, and with them what was paid for with other credits: those of
    a sandbox of our own, or real ones.
    """
    if not wanted or not _others(connection, campaign_id):
        return []
    pairs, digests = set(wanted), sorted({digest for _, digest in wanted})
    known = {campaign_id, *_apart_from(connection, campaign_id)}
    found: dict[tuple[int, str], dict[str, Decimal]] = defaultdict(dict)
    waiting: dict[int, set[str]] = defaultdict(set)
    for number, name, row, digest, cost in _approved(connection, campaign_id, sandbox):
        if (row, digest) in pairs and number not in known:
            found[number, name][row] = cost
            waiting[number].add(row)
    for start in range(0, len(digests), AT_ONCE):
        chunk = digests[start : start + AT_ONCE]
        for number, name, row, digest, cost in connection.execute(_paid(chunk, sandbox)):
            if (row, digest) in pairs and number not in known:
                found[number, name][row] = from_micro(cost)
                waiting[number].discard(row)
    several = [
        PaidElsewhere(
            campaign_id=number,
            campaign=name,
            costs={row: costs[row] for row, _ in wanted if row in costs},
            approved=frozenset(waiting[number]),
        )
        for (number, name), costs in found.items()
    ]
    return sorted(several, key=lambda one: (-len(one.costs), one.campaign))


def set_apart(connection: Connection, campaign_id: int, others: Collection[int]) -> None:
    """Remember that a person wants this campaign next to the others, though rows are the same."""
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
            _is_of(sandbox),
        )
        .order_by(takes.c.id)
    )


#: Number and name of a campaign, id and digest of a row, and what that costs.
_Approved = tuple[int, str, str, str, Decimal]


def _approved(
    connection: Connection, campaign_id: int | None, sandbox: bool
) -> Iterator[_Approved]:
    """Yield the rows of other campaigns that are approved and were not sent yet."""
    theirs = (campaigns.c.id.is_distinct_from(campaign_id), _is_of(sandbox))
    price = func.coalesce(rows.c.approved, rows.c.quoted, 0)
    query = select(campaigns.c.id, campaigns.c.name, rows.c.row, rows.c.digest, price)
    query = query.join(rows, rows.c.campaign_id == campaigns.c.id)
    for number, name, row, digest, cost in connection.execute(
        query.where(rows.c.state == "approved", *theirs)
    ):
        yield number, name, row, digest, from_micro(cost)


def _is_of(sandbox: bool) -> ColumnElement[bool]:
    """Return the condition that a campaign's credits may be of this kind."""
    return or_(campaigns.c.sandbox.is_(None), campaigns.c.sandbox == sandbox)
