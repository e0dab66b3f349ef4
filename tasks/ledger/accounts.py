"""Accounts: what may be set aside, and what was paid, in every sum that someone limits.

A take counts in up to five: its day and its month (UTC, of the intent), its campaign, its cost
center, and the run that began it where that has a budget. Owns on what terms credits may be set
aside, with the words for it. Every change is made by `sums`, in the transaction of the intent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    bindparam,
    func,
    literal,
    select,
    update,
)
from sqlalchemy import Row as Record

from callsheet.tasks.ledger.account_updates import (
    AccountKey,
    AccountKind,
    change,
    set_aside,
    set_aside_in_campaign,
)
from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.leases import owner_in_sql
from callsheet.tasks.ledger.ledger import on_rollback
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import accounts, campaigns, takes
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.values.amounts import (
    CreditPrice,
    as_text,
    from_micro,
    in_credits,
    to_micro,
    with_money,
)
from callsheet.tasks.values.names import as_spelled

#: In which accounts a take counts besides its campaign's, as its columns say it; its month is its
#: day's.
MARKS = (takes.c.day, takes.c.cost_center, takes.c.run)
AtLimit = Literal["stop", "fit"]
#: Campaigns that a sentence names at most, of those that use an account.
NAMED = 3


class Use(NamedTuple):
    """What one campaign has of an account that several share, in credits."""

    campaign: str
    reserved: Decimal
    charged: Decimal


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """One account, in credits; `budget` is None where nothing limits it.

    `name` is a month as 2026-11, a day as 2026-11-20, a campaign's or a cost center's name, or a
    run's id. `uses` has the campaigns with the largest parts of it, where they were asked for.
    """

    kind: AccountKind
    name: str
    budget: Decimal | None
    reserved: Decimal = Decimal(0)
    charged: Decimal = Decimal(0)
    uses: tuple[Use, ...] = ()

    @property
    def left(self) -> Decimal | None:
        """What may still be set aside; below 0 where charges went beyond it."""
        return None if self.budget is None else self.budget - self.reserved - self.charged

    def say_left(self, price: CreditPrice | None) -> str:
        """Say what is left of a limited account, and which campaigns have the rest."""
        assert self.left is not None, "only what is limited has something left"
        left = max(self.left, Decimal(0))
        words = with_money(as_text(left), left, price)
        verb = "is" if left == 1 else "are"
        words = f"{words} of the {in_credits(self.budget, price)} of {self} {verb} left"
        used = {one.campaign: one.reserved + one.charged for one in self.uses}
        rest = self.reserved + self.charged - sum(used.values())
        if used and rest > 0:
            used["other campaigns"] = rest
        named = [f"{name} {with_money(as_text(n), n, price)}" for name, n in used.items() if n]
        return f"{words}; used by {', '.join(named)}" if named else words

    def __str__(self) -> str:
        return {
            "month": f"the budget of {self.name} (UTC)",
            "day": f"the budget of {self.name} (UTC)",
            "campaign": "the campaign's budget",
            "cost_center": f"the budget of cost center {self.name}",
            "run": "this run's budget",
        }[self.kind]


class Chargeable(Protocol):
    """What may be charged to a cost center."""

    @property
    def cost_center(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On what terms a run may set credits aside, besides its campaign's budget.

    `owner` must hold the campaign's lease (None: no one is asked). With `at_limit` "stop" nothing
    more is begun on an account once a row did not fit it; with "fit" rows that fit still go on.
    """

    owner: str | None = None
    month_budget: Decimal | None = None
    day_budget: Decimal | None = None
    cost_center_budgets: Mapping[str, Decimal] = field(default_factory=dict)
    run: str | None = None
    run_budget: Decimal | None = None
    at_limit: AtLimit = "stop"
    #: What a credit costs, for words.
    credit_price: CreditPrice | None = None
    #: The number of a worker: of rows that have another one it begins none. None: no one is asked.
    claim: int | None = None
    #: Which row was the first that did not fit which account: changed by the ledger's one writer
    #: alone.
    full: dict[tuple[AccountKind, str], str] = field(default_factory=dict)

    @property
    def has_limits(self) -> bool:
        """Whether anything limits what several campaigns spend together."""
        shared = (self.month_budget, self.day_budget)
        return bool(self.cost_center_budgets) or any(one is not None for one in shared)

    def accounts(self, row: Chargeable, *, at: float) -> list[Account]:
        """Return where a row that is begun at `at` counts besides its campaign, with limits."""
        day = day_of(at)
        # The month first, since all share it: who waits for it holds nothing that others wait for.
        found = [
            Account(kind="month", name=month_of(day), budget=self.month_budget),
            Account(kind="day", name=day, budget=self.day_budget),
        ]
        if row.cost_center:
            # A row that was read before there was this budget is spelled as it was typed.
            name = as_spelled(row.cost_center, self.cost_center_budgets)
            limit = self.cost_center_budgets.get(name)
            found.append(Account(kind="cost_center", name=name, budget=limit))
        if self.run is not None:
            found.append(Account(kind="run", name=self.run, budget=self.run_budget))
        return found


def day_of(at: float) -> str:
    """Return the day (UTC) of a moment in Unix seconds."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def month_of(day: str) -> str:
    """Return the month of a day, as 2026-11."""
    return day[:7]


def unreadable(account: Account) -> str:
    """Say why a price that no one could read does not fit."""
    return f"its price could not be read, and {account} counts for it: give it `max_credits`"


def does_not_fit(account: Account, needed: Decimal, campaign: str, terms: Terms) -> str:
    """Say what is missing for a row of a campaign, and when or by what it may fit."""
    price = terms.credit_price
    words = f"needs {in_credits(needed, price)}, and {account.say_left(price)}: {remedy(account)}"
    # What is charged is spent; what is reserved comes back where its videos are cancelled.
    others = [one for one in account.uses if one.campaign != campaign and one.reserved]
    return words + "".join(
        f"; or cancel {one.campaign}, which has {in_credits(one.reserved, price)} reserved"
        for one in others[:1]
    )


def remedy(account: Account) -> str:
    """Say when, or by what, a row may fit an account again."""
    match account.kind:
        case "month":
            # 31 days after its first day is a day of the next month, whatever the month.
            later = date.fromisoformat(f"{account.name}-01") + timedelta(days=31)
            return f"run again from {later.replace(day=1)} 00:00 UTC on, or raise month_budget"
        case "day":
            next_day = date.fromisoformat(account.name) + timedelta(days=1)
            return f"run again from {next_day} 00:00 UTC on, or raise day_budget"
        case "campaign":
            return "raise it with --budget and run again"
        case "cost_center":
            return "raise it in cost_center_budgets and run again"
        case "run":
            return "run again, or with a higher --run-budget"


@dataclass(frozen=True, slots=True)
class NotReserved:
    """Why nothing was set aside, for people; None when the run has lost its campaign."""

    reason: str | None


def reserve(
    connection: Connection, row: CampaignRow, terms: Terms, *, at: float
) -> NotReserved | None:
    """Set a row's price aside in all its accounts, or in none and say why.

    A price that no one could read fits no account that has a limit.
    """
    price = to_micro(row.quoted)
    month, day, *others = terms.accounts(row, at=at)
    campaign = Account(kind="campaign", name=row.campaign, budget=None)
    passed: list[Account] = []
    for account in (month, day, campaign, *others):
        refused = _pass(connection, account, row, price, terms)
        if refused is None:
            passed.append(account)
            continue
        for earlier in passed:
            change(connection, _key(earlier, row), reserved=-(price or 0), charged=0)
        return refused
    return None


def marks_of(counted: Iterable[Account]) -> dict[str, str | None]:
    """Return what a take's columns say of the accounts that it counts in."""
    named: dict[str, str] = {account.kind: account.name for account in counted}
    return {column.name: named.get(column.name) for column in MARKS}


def book(
    connection: Connection, *, campaign_id: int, take_id: int, released: int, cost: int
) -> None:
    """Turn what a take has set aside into what it cost (millionths), wherever the take counts."""
    marks = connection.execute(_WHERE, {"the_take": take_id}).one()
    book_marked(connection, campaign_id, marks, released=released, cost=cost)


def book_marked(
    connection: Connection, campaign_id: int, marks: Record[Any], *, released: int, cost: int
) -> None:
    """Do as `book` for a take whose `MARKS` were read already."""
    for key in keys_of(campaign_id, marks):
        change(connection, key, reserved=-released, charged=cost)


def keys_of(campaign_id: int, marks: Record[Any]) -> list[AccountKey]:
    """Return the accounts that a take of a campaign with these `MARKS` counts in."""
    named: tuple[tuple[AccountKind, str | int | None], ...] = (
        ("month", None if marks.day is None else month_of(marks.day)),
        ("day", marks.day),
        ("campaign", campaign_id),
        ("cost_center", marks.cost_center),
        ("run", marks.run),
    )
    return [AccountKey(kind, name) for kind, name in named if name is not None]


def count_past(
    connection: Connection, row: CampaignRow, *, take_id: int, at: float, reserved: int, cost: int
) -> None:
    """Count a take that was begun at `at`, whatever the limits; in millionths."""
    counted = Terms().accounts(row, at=at)
    marks = marks_of(counted)
    for account in counted:
        new = {"kind": account.kind, "name": account.name, "reserved": 0, "charged": 0}
        insert_unless_there(connection, accounts, new)
    connection.execute(update(takes).where(takes.c.id == take_id).values(**marks))
    book(connection, campaign_id=row.campaign_id, take_id=take_id, released=-reserved, cost=cost)


def all_accounts(connection: Connection) -> list[Account]:
    """Return the accounts of days and months (the newest first), cost centers and runs."""
    query = ACCOUNTS.query.order_by(accounts.c.kind, accounts.c.id.desc())
    return ACCOUNTS.all(connection, query)


def find_account(connection: Connection, account: Account) -> Account:
    """Return an account with what it has set aside and paid, under the limit that is given."""
    this = (accounts.c.kind == account.kind, accounts.c.name == account.name)
    found = ACCOUNTS.first(connection, ACCOUNTS.query.where(*this))
    return account if found is None else replace(found, budget=account.budget)


def with_uses(connection: Connection, account: Account) -> Account:
    """Return an account that campaigns share with those that have the largest parts of it.

    Reads every take of the ledger: for what is asked once in a run.
    """
    marked: dict[AccountKind, ColumnElement[bool]] = {
        "month": takes.c.day.startswith(account.name),
        "day": takes.c.day == account.name,
        "cost_center": takes.c.cost_center == account.name,
    }
    if account.kind not in marked:
        return account
    reserved, charged = func.sum(takes.c.reserved), func.coalesce(func.sum(takes.c.charged), 0)
    query = (
        select(campaigns.c.name, reserved, charged)
        .join_from(takes, campaigns, campaigns.c.id == takes.c.campaign_id)
        .where(marked[account.kind])
        .group_by(campaigns.c.name)
        .order_by((reserved + charged).desc(), campaigns.c.name)
        .limit(NAMED)
    )
    found = connection.execute(query)
    uses = (Use(name, from_micro(int(kept)), from_micro(int(paid))) for name, kept, paid in found)
    return replace(account, uses=tuple(uses))


_WHERE = select(*MARKS).where(takes.c.id == bindparam("the_take"))
ACCOUNTS = Records(Account, accounts)
_OF_CAMPAIGNS = Records(Account, campaigns, kind=literal("campaign", String))
_READ_CAMPAIGN = _OF_CAMPAIGNS.query.add_columns(owner_in_sql()).where(
    campaigns.c.id == bindparam("the_campaign")
)


def _pass(
    connection: Connection, account: Account, row: CampaignRow, price: int | None, terms: Terms
) -> NotReserved | None:
    """Set a price aside in one account, or say why not."""
    this = (account.kind, account.name)
    first = terms.full.get(this)
    if terms.at_limit == "stop" and first not in (None, row.row):
        return NotReserved(f"not begun, since {first} did not fit {account}: {remedy(account)}")
    if _set_aside(connection, account, row, price, terms):
        return None
    if account.kind != "campaign":
        account = find_account(connection, account)
    else:
        owner, account = _campaign_account(connection, row)
        if terms.owner not in (None, owner):
            return NotReserved(None)
    if price is None:
        return NotReserved(unreadable(account))
    if first is None:
        terms.full[this] = row.row
        on_rollback(connection, partial(terms.full.pop, this))
        # Of the first row alone: all of a campaign may be beyond a limit.
        account = with_uses(connection, account)
    return NotReserved(does_not_fit(account, from_micro(price), row.campaign, terms))


def _set_aside(
    connection: Connection, account: Account, row: CampaignRow, price: int | None, terms: Terms
) -> bool:
    if account.kind == "campaign":
        return set_aside_in_campaign(connection, row.campaign_id, price, owner=terms.owner)
    if price is None and account.budget is not None:
        return False
    return set_aside(connection, _key(account, row), price or 0, limit=to_micro(account.budget))


def _key(account: Account, row: CampaignRow) -> AccountKey:
    return AccountKey(account.kind, row.campaign_id if account.kind == "campaign" else account.name)


def _campaign_account(connection: Connection, row: CampaignRow) -> tuple[str | None, Account]:
    """Return who holds the campaign, and its account."""
    found = connection.execute(
        _READ_CAMPAIGN, AccountKey("campaign", row.campaign_id).parameters()
    ).one()
    return found.owner, _OF_CAMPAIGNS.read(found)
