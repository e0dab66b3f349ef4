"""On what terms credits may be set aside: the accounts of a row, their limits, and the words.

Values alone: what is in the accounts, and the guard of every limit, is in `accounts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Literal

from tasks.credits import as_text
from tasks.ledger.values import CampaignRow

AccountKind = Literal["day", "campaign", "cost_center", "run"]
AtLimit = Literal["stop", "fit"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """One account, in credits; `budget` is None where nothing limits it.

    `name` is a day as 2026-11-20, a campaign's or a cost centre's name, or a run's id.
    """

    kind: AccountKind
    name: str
    budget: Decimal | None
    reserved: Decimal = Decimal(0)
    charged: Decimal = Decimal(0)

    @property
    def left(self) -> Decimal | None:
        """What may still be set aside; below 0 where charges went beyond it."""
        return None if self.budget is None else self.budget - self.reserved - self.charged

    def __str__(self) -> str:
        return {
            "day": f"the budget of {self.name} (UTC)",
            "campaign": "the campaign's budget",
            "cost_center": f"the budget of cost center {self.name}",
            "run": "this run's budget",
        }[self.kind]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On what terms a run may set credits aside, beside its campaign's budget.

    `owner` must hold the campaign's lease (None: nobody is asked). With `at_limit` "stop" nothing
    more is begun on an account once a row did not fit it; with "fit" rows that fit still go on.
    """

    owner: str | None = None
    day_budget: Decimal | None = None
    cost_center_budgets: Mapping[str, Decimal] = field(default_factory=dict)
    run: str | None = None
    run_budget: Decimal | None = None
    at_limit: AtLimit = "stop"
    #: Which row did not fit which account: changed by the ledger's one writer alone.
    full: dict[tuple[AccountKind, str], str] = field(default_factory=dict)

    def accounts(self, row: CampaignRow, *, at: float) -> list[Account]:
        """Return where a row that is begun at `at` counts beside its campaign, with limits."""
        found = [Account(kind="day", name=day_of(at), budget=self.day_budget)]
        if row.cost_center:
            limit = self.cost_center_budgets.get(row.cost_center)
            found.append(Account(kind="cost_center", name=row.cost_center, budget=limit))
        if self.run is not None:
            found.append(Account(kind="run", name=self.run, budget=self.run_budget))
        return found


def day_of(at: float) -> str:
    """Return the day (UTC) of a moment in Unix seconds."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def unreadable(account: Account) -> str:
    """Say why a price that nobody could read does not fit."""
    return f"its price could not be read, and {account} counts for it: give it `max_credits`"


def does_not_fit(account: Account, price: Decimal) -> str:
    """Say what is missing, and when or by what it may fit."""
    assert account.left is not None, "only a limit is not passed"
    left = max(account.left, Decimal(0))
    verb = "is" if left == 1 else "are"
    return (
        f"needs {as_text(price)} credits, and {as_text(left)} of the {as_text(account.budget)} of "
        f"{account} {verb} left: {remedy(account)}"
    )


def remedy(account: Account) -> str:
    """Say when, or by what, a row may fit an account again."""
    match account.kind:
        case "day":
            next_day = date.fromisoformat(account.name) + timedelta(days=1)
            return f"run again from {next_day} 00:00 UTC on, or raise day_budget"
        case "campaign":
            return "raise it with --budget and run again"
        case "cost_center":
            return "raise it in cost_center_budgets and run again"
        case "run":
            return "run again, or with a higher --run-budget"
