"""Accounts: what may be set aside, and what was paid, in every sum that somebody limits.

A take counts in up to four: its day (UTC, of the intent), its campaign, its cost centre, and the
run that began it where that has a budget. Owns every statement that changes one of them. Each is
a guarded UPDATE in the transaction of the intent, so that no two processes can both pass a limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import BigInteger, Connection, String, bindparam, or_, select, update

from tasks.credits import from_micro, to_micro
from tasks.ledger.database import insert_unless_there
from tasks.ledger.ledger import on_rollback
from tasks.ledger.schema import accounts, campaigns, takes
from tasks.ledger.terms import Account, AccountKind, Terms, does_not_fit, remedy, unreadable
from tasks.ledger.values import CampaignRow


@dataclass(frozen=True, slots=True)
class NotReserved:
    """Why nothing was set aside, for people; None when the run has lost its campaign."""

    reason: str | None


def reserve(
    connection: Connection, row: CampaignRow, terms: Terms, *, at: float
) -> NotReserved | None:
    """Set a row's price aside in all its accounts, or in none and say why.

    A price that nobody could read fits no account that has a limit.
    """
    price = to_micro(row.quoted)
    day, *others = terms.accounts(row, at=at)
    campaign = Account(kind="campaign", name=row.campaign, budget=None)
    # The day first, since all share it: who waits for it holds nothing that others wait for.
    passed: list[Account] = []
    for account in (day, campaign, *others):
        refused = _pass(connection, account, row, price, terms)
        if refused is None:
            passed.append(account)
            continue
        for earlier in passed:
            _change(connection, earlier, row.campaign_id, reserved=-(price or 0), charged=0)
        return refused
    return None


def book(
    connection: Connection, *, campaign_id: int, take_id: int, released: int, cost: int
) -> None:
    """Turn what a take has set aside into what it cost (millionths), wherever the take counts."""
    found = connection.execute(_WHERE, {"the_take": take_id}).one()
    named: tuple[tuple[AccountKind, str | None], ...] = (
        ("day", found.day),
        ("campaign", ""),
        ("cost_center", found.cost_center),
        ("run", found.run),
    )
    for kind, name in named:
        if name is not None:
            account = Account(kind=kind, name=name, budget=None)
            _change(connection, account, campaign_id, reserved=-released, charged=cost)


def count_past(
    connection: Connection, row: CampaignRow, *, take_id: int, at: float, reserved: int, cost: int
) -> None:
    """Count a take that was begun at `at`, whatever the limits; in millionths."""
    marks: dict[str, str] = {}
    for account in Terms().accounts(row, at=at):
        marks[account.kind] = account.name
        new = {"kind": account.kind, "name": account.name, "reserved": 0, "charged": 0}
        insert_unless_there(connection, accounts, new)
    connection.execute(update(takes).where(takes.c.id == take_id).values(**marks))
    book(connection, campaign_id=row.campaign_id, take_id=take_id, released=-reserved, cost=cost)


def all_accounts(connection: Connection) -> list[Account]:
    """Return the accounts of days (the newest first), cost centres and runs."""
    query = select(accounts).order_by(accounts.c.kind, accounts.c.id.desc())
    return [
        Account(
            kind=found.kind,
            name=found.name,
            budget=from_micro(found.budget),
            reserved=from_micro(found.reserved),
            charged=from_micro(found.charged),
        )
        for found in connection.execute(query)
    ]


def find_account(connection: Connection, account: Account) -> Account:
    """Return an account with what it has set aside and paid, under the limit that is given."""
    found = connection.execute(_READ, {"the_kind": account.kind, "the_name": account.name}).first()
    if found is None:
        return account
    return replace(account, reserved=from_micro(found.reserved), charged=from_micro(found.charged))


_MORE = bindparam("more", type_=BigInteger)
_OWNER = bindparam("the_owner", type_=String)
_LIMIT = bindparam("the_limit", type_=BigInteger)
_THIS = (accounts.c.kind == bindparam("the_kind"), accounts.c.name == bindparam("the_name"))
_WHERE = select(takes.c.day, takes.c.cost_center, takes.c.run).where(
    takes.c.id == bindparam("the_take")
)
_READ = select(accounts.c.reserved, accounts.c.charged).where(*_THIS)
_READ_CAMPAIGN = select(
    campaigns.c.owner, campaigns.c.budget, campaigns.c.reserved, campaigns.c.charged
).where(campaigns.c.id == bindparam("the_campaign"))
# The limits are guarded in the statements themselves: two processes cannot both pass them.
_RESERVE = (
    update(accounts)
    .where(
        *_THIS,
        or_(_LIMIT.is_(None), accounts.c.reserved + accounts.c.charged + _MORE <= _LIMIT),
    )
    .values(reserved=accounts.c.reserved + _MORE, budget=_LIMIT)
)
# So is the lease: a run that has lost its campaign cannot begin anything in it.
_RESERVE_CAMPAIGN = (
    update(campaigns)
    .where(
        campaigns.c.id == bindparam("the_campaign"),
        or_(_OWNER.is_(None), campaigns.c.owner == _OWNER),
        or_(
            campaigns.c.budget.is_(None),
            campaigns.c.reserved + campaigns.c.charged + _MORE <= campaigns.c.budget,
        ),
    )
    .values(reserved=campaigns.c.reserved + _MORE)
)
_RESERVE_UNPRICED = (
    update(campaigns)
    .where(
        campaigns.c.id == bindparam("the_campaign"),
        or_(_OWNER.is_(None), campaigns.c.owner == _OWNER),
        campaigns.c.budget.is_(None),
    )
    .values(reserved=campaigns.c.reserved)
)
_CHANGE = (
    update(accounts)
    .where(*_THIS)
    .values(reserved=accounts.c.reserved + _MORE, charged=accounts.c.charged + bindparam("cost"))
)
_CHANGE_CAMPAIGN = (
    update(campaigns)
    .where(campaigns.c.id == bindparam("the_campaign"))
    .values(reserved=campaigns.c.reserved + _MORE, charged=campaigns.c.charged + bindparam("cost"))
)


def _pass(
    connection: Connection, account: Account, row: CampaignRow, price: int | None, terms: Terms
) -> NotReserved | None:
    """Set a price aside in one account, or say why not."""
    this = (account.kind, account.name)
    first = terms.full.get(this)
    if first is not None and first != row.row:
        return NotReserved(f"not begun, since {first} did not fit {account}: {remedy(account)}")
    if account.kind != "campaign":
        if _reserve(connection, account, price):
            return None
        account = find_account(connection, account)
    elif _reserve_campaign(connection, row, price, terms):
        return None
    else:
        owner, account = _campaign_account(connection, row)
        if terms.owner not in (None, owner):
            return NotReserved(None)
    if price is None:
        return NotReserved(unreadable(account))
    if terms.at_limit == "stop" and first is None:
        terms.full[this] = row.row
        on_rollback(connection, partial(terms.full.pop, this))
    return NotReserved(does_not_fit(account, from_micro(price)))


def _reserve(connection: Connection, account: Account, price: int | None) -> bool:
    if price is None and account.budget is not None:
        return False
    named: dict[str, object] = {"the_kind": account.kind, "the_name": account.name}
    limit = to_micro(account.budget)
    values = {**named, "more": price or 0, "the_limit": limit}
    if connection.execute(_RESERVE, values).rowcount == 1:
        return True
    new = {"kind": account.kind, "name": account.name, "reserved": 0, "charged": 0}
    if not insert_unless_there(connection, accounts, {**new, "budget": limit}):
        return False
    return connection.execute(_RESERVE, values).rowcount == 1


def _reserve_campaign(
    connection: Connection, row: CampaignRow, price: int | None, terms: Terms
) -> bool:
    values: dict[str, object] = {"the_campaign": row.campaign_id, "the_owner": terms.owner}
    if price is None:
        return connection.execute(_RESERVE_UNPRICED, values).rowcount == 1
    return connection.execute(_RESERVE_CAMPAIGN, {**values, "more": price}).rowcount == 1


def _campaign_account(connection: Connection, row: CampaignRow) -> tuple[str | None, Account]:
    """Return who holds the campaign, and its account."""
    found = connection.execute(_READ_CAMPAIGN, {"the_campaign": row.campaign_id}).one()
    return found.owner, Account(
        kind="campaign",
        name=row.campaign,
        budget=from_micro(found.budget),
        reserved=from_micro(found.reserved),
        charged=from_micro(found.charged),
    )


def _change(
    connection: Connection, account: Account, campaign_id: int, *, reserved: int, charged: int
) -> None:
    amounts: dict[str, object] = {"more": reserved, "cost": charged}
    if account.kind == "campaign":
        connection.execute(_CHANGE_CAMPAIGN, {**amounts, "the_campaign": campaign_id})
    else:
        named = {"the_kind": account.kind, "the_name": account.name}
        connection.execute(_CHANGE, {**amounts, **named})
