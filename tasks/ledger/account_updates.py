"""Accounts as statements change them: credits set aside where they fit, and what became of them.

Owns every statement that changes an account. The limits are in the statements, so that no two
processes can both pass one. Rows that share a commit share its statements: the first of them asks
the database, what the others set aside is counted here, and all of it is written at the end, under
the same limit. A commit that is to be certain keeps others out of an account from the moment it
asks; any other leaves it to them until it writes, and learns then whether it still fits: all
workers of a ledger change the accounts of the day and the month. In millionths of a credit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import BigInteger, Connection, Integer, String, bindparam, case, or_, select, update
from sqlalchemy import Row as Record

from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.leases import campaign_lease, owned_in_sql, owner_in_sql
from callsheet.tasks.ledger.schema import accounts, campaigns
from callsheet.tasks.ledger.statements import Overtaken, Prepared, gathered, is_certain

AccountKind = Literal["month", "day", "campaign", "cost_center", "run"]


@dataclass(frozen=True, slots=True)
class AccountKey:
    """Which account is meant: of a month, day, cost center or run by name, of a campaign by id."""

    kind: AccountKind
    name: str | int

    def parameters(self) -> dict[str, object]:
        """Return what the statements call it."""
        if self.kind == "campaign":
            return {"the_campaign": self.name, "the_lease": campaign_lease(int(self.name))}
        return {"the_kind": self.kind, "the_name": self.name}


def set_aside(connection: Connection, key: AccountKey, price: int, *, limit: int | None) -> bool:
    """Set a price aside in the account of a month, a day, a cost center or a run, if it fits."""
    sums = gathered(connection, _Sums)
    known = sums.of(key) if sums is not None else None
    if known is not None:
        if known.used is None and not is_certain(connection):
            known.learn(_READ.execute(connection, key.parameters()).first(), limit=limit)
        if known.limit == limit and known.fits(price, None):
            return True
        known.be_certain(connection)
    values = {**key.parameters(), "more": price, "the_limit": limit}
    found = _RESERVE.execute(connection, values).first()
    if found is None:
        new = {"kind": key.kind, "name": key.name, "reserved": 0, "charged": 0, "budget": limit}
        # Anyone who made it a moment ago may have left room: it is asked once more in any case.
        insert_unless_there(connection, accounts, new)
        found = _RESERVE.execute(connection, values).first()
    if known is not None and found is not None:
        known.used, known.limit = found.used, limit
    return found is not None


def set_aside_in_campaign(
    connection: Connection, campaign_id: int, price: int | None, *, owner: str | None
) -> bool:
    """Set a price aside in a campaign that `owner` holds; False if it does not fit, or is lost.

    A price that no one could read (None) fits where there is no budget.
    """
    key = AccountKey("campaign", campaign_id)
    sums = gathered(connection, _Sums)
    known = sums.of(key) if sums is not None else None
    if known is not None:
        if known.used is None and not is_certain(connection):
            now = _READ_CAMPAIGN.execute(connection, key.parameters()).one()
            known.learn(now, limit=now.budget, owner=now.owner if owner else None)
        if price is not None and known.fits(price, owner):
            return True
        known.be_certain(connection)
    values = {**key.parameters(), "the_owner": owner}
    if price is None:
        return connection.execute(_RESERVE_UNPRICED, values).rowcount == 1
    found = _RESERVE_CAMPAIGN.execute(connection, {**values, "more": price}).first()
    if known is not None and found is not None:
        known.used, known.limit, known.owner = found.used, found.budget, owner
    return found is not None


def change(connection: Connection, key: AccountKey, *, reserved: int, charged: int) -> None:
    """Count what has happened in an account, whatever its limit."""
    sums = gathered(connection, _Sums)
    one = _Sum(key) if sums is None else sums.of(key)
    one.add(reserved=reserved, charged=charged)
    if sums is None:
        one.write(connection)


_MORE = bindparam("more", type_=BigInteger)
_COST = bindparam("cost", type_=BigInteger)
#: 1 where something is set aside, so that the limit counts; 0 for what has happened already.
_GUARDED = bindparam("guarded", type_=Integer)
_OWNER = bindparam("the_owner", type_=String)
_LIMIT = bindparam("the_limit", type_=BigInteger)
_THIS = (accounts.c.kind == bindparam("the_kind"), accounts.c.name == bindparam("the_name"))
# A run that has lost its campaign cannot begin anything in it.
_HELD = (
    campaigns.c.id == bindparam("the_campaign"),
    or_(_OWNER.is_(None), owned_in_sql()),
)
# The limits are guarded in the statements themselves: two processes cannot both pass them.
_RESERVE = Prepared(
    update(accounts)
    .where(
        *_THIS,
        or_(_LIMIT.is_(None), accounts.c.reserved + accounts.c.charged + _MORE <= _LIMIT),
    )
    .values(reserved=accounts.c.reserved + _MORE, budget=_LIMIT)
    .returning((accounts.c.reserved + accounts.c.charged).label("used"))
)
_RESERVE_CAMPAIGN = Prepared(
    update(campaigns)
    .where(
        *_HELD,
        or_(
            campaigns.c.budget.is_(None),
            campaigns.c.reserved + campaigns.c.charged + _MORE <= campaigns.c.budget,
        ),
    )
    .values(reserved=campaigns.c.reserved + _MORE)
    .returning((campaigns.c.reserved + campaigns.c.charged).label("used"), campaigns.c.budget)
)
_RESERVE_UNPRICED = (
    update(campaigns)
    .where(
        *_HELD,
        campaigns.c.budget.is_(None),
    )
    .values(reserved=campaigns.c.reserved)
)
_CHANGE = Prepared(
    update(accounts)
    .where(
        *_THIS,
        or_(
            _GUARDED == 0,
            _LIMIT.is_(None),
            accounts.c.reserved + accounts.c.charged + _MORE + _COST <= _LIMIT,
        ),
    )
    .values(
        reserved=accounts.c.reserved + _MORE,
        charged=accounts.c.charged + _COST,
        budget=case((_GUARDED == 0, accounts.c.budget), else_=_LIMIT),
    )
)
_CHANGE_CAMPAIGN = Prepared(
    update(campaigns)
    .where(
        campaigns.c.id == bindparam("the_campaign"),
        or_(_GUARDED == 0, _OWNER.is_(None), owned_in_sql()),
        or_(
            _GUARDED == 0,
            campaigns.c.budget.is_(None),
            campaigns.c.reserved + campaigns.c.charged + _MORE + _COST <= campaigns.c.budget,
        ),
    )
    .values(reserved=campaigns.c.reserved + _MORE, charged=campaigns.c.charged + _COST)
)
# No one is kept from changing what these have read.
_READ = Prepared(select((accounts.c.reserved + accounts.c.charged).label("used")).where(*_THIS))
_READ_CAMPAIGN = Prepared(
    select(
        (campaigns.c.reserved + campaigns.c.charged).label("used"),
        campaigns.c.budget,
        owner_in_sql(),
    ).where(campaigns.c.id == bindparam("the_campaign"))
)


@dataclass(slots=True)
class _Sum:
    """What one commit has changed in an account and not written yet, in millionths.

    Once it is known what is `used` of it, whether more fits needs no statement. In a commit that is
    certain no one else can change the account from then on; any other asks again as it writes.
    """

    key: AccountKey
    reserved: int = 0
    charged: int = 0
    #: Whether something of it was set aside, so that the limit is asked once more.
    guarded: bool = False
    used: int | None = None
    limit: int | None = None
    #: On whose behalf the campaign was asked; who holds it cannot change either.
    owner: str | None = None

    def learn(
        self, found: Record[Any] | None, *, limit: int | None, owner: str | None = None
    ) -> None:
        """Take over what was read of it; None where there is no such account yet."""
        if found is not None:
            self.used = found.used + self.reserved + self.charged
            self.limit, self.owner = limit, owner

    def be_certain(self, connection: Connection) -> None:
        """Write what was changed, so that the database itself says what fits.

        Raises Overtaken in a commit that is not certain: it would lock accounts out of their order.
        """
        if not is_certain(connection):
            raise Overtaken(f"{self.key} is to be asked by a commit that is certain")
        self.write(connection)

    def add(self, *, reserved: int, charged: int) -> None:
        self.reserved += reserved
        self.charged += charged
        if self.used is not None:
            self.used += reserved + charged

    def fits(self, price: int, owner: str | None) -> bool:
        """Set a price aside if that is certain to fit; without an answer the database is asked."""
        if self.used is None or owner != self.owner:
            return False
        if self.limit is not None and self.used + price > self.limit:
            return False
        self.add(reserved=price, charged=0)
        self.guarded = True
        return True

    def write(self, connection: Connection) -> None:
        """Write what was changed; raise Overtaken where it does not fit after all."""
        # Also where it adds up to nothing: anyone who set that aside must hold the campaign still.
        if not (self.reserved or self.charged or self.guarded):
            return
        amounts = {"more": self.reserved, "cost": self.charged, "guarded": int(self.guarded)}
        self.reserved, self.charged, self.guarded = 0, 0, False
        held: dict[str, object] = {"the_limit": self.limit}
        statement = _CHANGE
        if self.key.kind == "campaign":
            statement, held = _CHANGE_CAMPAIGN, {"the_owner": self.owner}
        changed = statement.execute(connection, {**amounts, **held, **self.key.parameters()})
        if changed.rowcount != 1 and amounts["guarded"]:
            raise Overtaken(f"{self.key} does not hold what a commit has set aside in it")


class _Sums:
    """What one commit has changed in accounts: one statement for each, at its end."""

    def __init__(self) -> None:
        self._sums: dict[AccountKey, _Sum] = {}

    def of(self, key: AccountKey) -> _Sum:
        return self._sums.setdefault(key, _Sum(key))

    def write(self, connection: Connection) -> None:
        # In one order everywhere, and the month first: of two the later, where others begin.
        order = get_args(AccountKind)
        found = sorted(self._sums.values(), key=lambda one: str(one.key.name), reverse=True)
        for one in sorted(found, key=lambda one: order.index(one.key.kind)):
            one.write(connection)
