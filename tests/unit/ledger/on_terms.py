"""Takes opened on terms, and the accounts checked against the takes that count in them."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger.accounts import Account, Terms, all_accounts
from callsheet.tasks.ledger.schema import takes
from callsheet.tasks.ledger.takes import open_take
from callsheet.tasks.ledger.values import CampaignRow, Take
from callsheet.tasks.values.amounts import from_micro
from callsheet.tasks.values.briefs import frozen_body
from tests.campaigns import NOW, Stage, key_of


async def open_on(stage: Stage, row: CampaignRow, terms: Terms | None, at: float = NOW):
    """Open a take of an approved row."""
    key = key_of(row)
    body = frozen_body(row.asked(), key=key)
    named = {"key": key, "body": body, "at": at, "terms": terms}
    took: Take | None = await stage.write(open_take, row, **named)
    return took


def account_sums(connection: Connection) -> list[tuple[Account, tuple[Decimal, Decimal]]]:
    """Every account, with what its takes have reserved and charged."""
    found = []
    for account in all_accounts(connection):
        mine = (
            takes.c.day.startswith(account.name)
            if account.kind == "month"
            else takes.c[account.kind] == account.name
        )
        total = connection.execute(
            select(
                func.coalesce(func.sum(takes.c.reserved), 0),
                func.coalesce(func.sum(takes.c.charged), 0),
            ).where(mine)
        ).one()
        found.append((account, (from_micro(int(total[0])), from_micro(int(total[1])))))
    return found
