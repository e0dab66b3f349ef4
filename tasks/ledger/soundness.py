"""Is a ledger whole, and does it add up? What is wrong is said, and nothing is mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, func, or_, select, text

from callsheet.tasks.credits import from_micro, in_credits
from callsheet.tasks.ledger.schema import campaigns, rows, takes


@dataclass(frozen=True, kw_only=True)
class Unsound:
    """One thing that is wrong: `is_damage` of the database itself, or of what it says."""

    words: str
    is_damage: bool


def unsound(connection: Connection) -> list[Unsound]:
    """Return what is wrong with a ledger; nothing for one that is sound.

    The database's own checks; whether every line refers to one that is there; and whether each
    campaign's account is the sum of what its takes have set aside and were charged.
    """
    found = [Unsound(words=words, is_damage=True) for words in _damage(connection)]
    return found or [Unsound(words=words, is_damage=False) for words in _sums(connection)]


def _damage(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        # PostgreSQL refuses what refers to nothing, and checks its pages as it reads them.
        return
    for (words,) in connection.execute(text("PRAGMA integrity_check")):
        if words != "ok":
            yield str(words)
    for table, number, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"line {number} of {table} refers to a line of {parent} that is not there"


def _sums(connection: Connection) -> Iterator[str]:
    reserved = func.coalesce(func.sum(takes.c.reserved), 0)
    charged = func.coalesce(func.sum(takes.c.charged), 0)
    joined = campaigns.outerjoin(rows, rows.c.campaign_id == campaigns.c.id)
    joined = joined.outerjoin(takes, takes.c.row_id == rows.c.id)
    accounts = (campaigns.c.name, campaigns.c.reserved, campaigns.c.charged)
    query = select(*accounts, reserved, charged).select_from(joined)
    query = query.group_by(campaigns.c.id, *accounts)
    differ = or_(campaigns.c.reserved != reserved, campaigns.c.charged != charged)
    for name, its_reserved, its_charged, all_reserved, all_charged in connection.execute(
        query.having(differ)
    ):
        for what, own, of_takes in (
            ("set aside", its_reserved, all_reserved),
            ("charged", its_charged, all_charged),
        ):
            if own != of_takes:
                yield (
                    f"{name}: its account says {in_credits(from_micro(int(own)))} {what}, its "
                    f"takes {in_credits(from_micro(int(of_takes)))}"
                )
