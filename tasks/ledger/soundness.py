"""Is a ledger whole, and does it add up? What is wrong is said, and nothing is fixed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, select

from callsheet.tasks.ledger.account_updates import AccountKey, AccountKind
from callsheet.tasks.ledger.accounts import MARKS, all_accounts, keys_of
from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.figures import total
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.values.amounts import from_micro, in_credits


@dataclass(frozen=True, kw_only=True)
class Unsound:
    """One thing that is wrong, and what to do: `is_damage` of the database, or of what it says."""

    words: str
    remedy: str
    is_damage: bool = False


def unsound(connection: Connection) -> list[Unsound]:
    """Return what is wrong with a ledger; nothing for one that is sound.

    The database's own checks; whether every line refers to one that is there; and whether each
    account (`accounts`) is the sum of what its takes have set aside and were charged.
    """
    damage = dialect_of(connection).damage(connection)
    found = [Unsound(words=words, remedy=_DAMAGE, is_damage=True) for words in damage]
    return found or list(_sums(connection))


_DAMAGE = "stop what runs, then `callsheet ledger restore FILE --instead`: docs/operations.md"
#: What was set aside and what was charged, in credits.
_Amounts = tuple[Decimal, Decimal]
_NOTHING: _Amounts = (Decimal(0), Decimal(0))
#: What an account is called, and what to do about one that does not add up.
_CALLED: Mapping[AccountKind, str] = {
    "month": "the month {} (UTC)",
    "day": "the day {} (UTC)",
    "campaign": "{}",
    "cost_center": "cost center {}",
    "run": "the run {}",
}
_WAYS: Mapping[AccountKind, str] = {
    "month": "{} month_budget by that until the month is over",
    "day": "{} day_budget by that until the day is over",
    "cost_center": "{} its amount in cost_center_budgets by that",
    "run": "{} its run budget by that, where it is to go on",
}


def _sums(connection: Connection) -> Iterator[Unsound]:
    """Yield what accounts say that their takes do not add up to."""
    names: dict[AccountKey, str] = {}
    said: dict[AccountKey, _Amounts] = {}
    for campaign in all_campaigns(connection):
        key = AccountKey("campaign", campaign.id)
        names[key], said[key] = campaign.name, (campaign.reserved, campaign.charged)
    for account in all_accounts(connection):
        said[AccountKey(account.kind, account.name)] = (account.reserved, account.charged)
    summed = _sums_of_takes(connection)
    for key in dict.fromkeys((*said, *summed)):
        own, of_takes = said.get(key, _NOTHING), summed.get(key, _NOTHING)
        name = _CALLED[key.kind].format(names.get(key, key.name))
        remedy = _say_remedy(key.kind, sum(of_takes, Decimal(0)) - sum(own, Decimal(0)))
        for what, one, other in zip(("set aside", "charged"), own, of_takes, strict=True):
            if one != other:
                words = f"{name}: its account says {in_credits(one)} {what}, its takes "
                yield Unsound(words=words + in_credits(other), remedy=remedy)


def _sums_of_takes(connection: Connection) -> Mapping[AccountKey, _Amounts]:
    """Return what the takes of every account add up to."""
    amounts = (total(takes.c.reserved).label("reserved"), total(takes.c.charged).label("charged"))
    query = select(rows.c.campaign_id, *MARKS, *amounts).join(rows, rows.c.id == takes.c.row_id)
    found: dict[AccountKey, _Amounts] = defaultdict(lambda: _NOTHING)
    for line in connection.execute(query.group_by(rows.c.campaign_id, *MARKS)):
        for key in keys_of(line.campaign_id, line):
            reserved, charged = found[key]
            reserved += from_micro(line.reserved or 0)
            found[key] = (reserved, charged + from_micro(line.charged or 0))
    return found


def _say_remedy(kind: AccountKind, missing: Decimal) -> str:
    """Say what to do about an account that counts so much less than its takes (below 0: more)."""
    if kind == "campaign":
        return "run it no more, make a backup, and type `callsheet reconcile`"
    if not missing:
        return "nothing is to be done: its limit counts the sum of both"
    lets = "lets too much be spent" if missing > 0 else "holds back what nobody has spent"
    way = _WAYS[kind].format("lower" if missing > 0 else "raise")
    return f"a limit on it {lets}, {in_credits(abs(missing))}: {way}"
