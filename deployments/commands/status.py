"""`callsheet status`: campaigns, or one of them: rows by state, credits, and what limits them."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from importlib import import_module

from callsheet.deployments.at import At
from callsheet.deployments.campaign_status import CampaignStatus, status_document
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.tasks.engine.owner import is_at_work, is_dead
from callsheet.tasks.ledger.accounts import Account, all_accounts, day_of, find_account, month_of
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns, tally_of
from callsheet.tasks.ledger.figures import late_rows, waiting_of
from callsheet.tasks.ledger.runs import left_under_way, runs_of
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import CreditPrice, as_number

#: Runs of a campaign that are told of.
RUNS = 5


def main(args: Namespace) -> int:
    """Show counts and account of one campaign or of all, and the accounts of the day and others."""
    found, accounts, price = run_command(_read(args))
    from callsheet.deployments.listing import show_status
    from callsheet.deployments.terminal import console_for, print_json

    show_status(found, accounts, console_for(args), price)
    if args.json:
        documents = [status_document(one) for one in found]
        document: dict[str, object] = documents[0] if args.campaign else {"campaigns": documents}
        print_json({**document, "accounts": [_account_document(account) for account in accounts]})
    return 0


async def _read(args: Namespace) -> tuple[list[CampaignStatus], list[Account], CreditPrice | None]:
    async with reading(args) as at:
        if args.campaign:
            campaigns = [await at.campaign(args.campaign)]
        else:
            campaigns = await at.read(all_campaigns)
        found = await _read_campaigns(at, campaigns)
        price, limits = at.settings.credit_price, _limits(at.settings, time.time())
        limited = [await at.read(find_account, account=one) for one in limits]
        if not args.accounts:
            return found, limited, price
        named = {(account.kind, account.name) for account in limited}
        others = await at.read(all_accounts)
        return found, limited + [a for a in others if (a.kind, a.name) not in named], price


async def _read_campaigns(at: At, campaigns: Sequence[Campaign]) -> list[CampaignStatus]:
    # Those that most was paid for are likely the largest: begun last, they would be waited for
    # alone.
    largest = sorted(campaigns, key=lambda one: one.charged, reverse=True)
    counting = asyncio.gather(*(read_campaign(at, one) for one in largest))
    await asyncio.sleep(0)
    # A large ledger counts for a while, in threads: what shows it is loaded meanwhile.
    import_module("callsheet.deployments.listing")
    found = {one.campaign.id: one for one in await counting}
    return [found[campaign.id] for campaign in campaigns]


async def read_campaign(at: At, campaign: Campaign, *, runs: int = RUNS) -> CampaignStatus:
    """Return a campaign's counts, who is at work, what waits or is late, and its newest runs."""
    tally = await at.read(tally_of, campaign=campaign)
    owner = campaign.lease.owner if campaign.lease else None
    waiting: Mapping[str, int] = {}
    if tally.rows.get("held") or tally.rows.get("planned"):
        waiting = await at.read(waiting_of, campaign_id=campaign.id)
    late = await at.read(late_rows, campaign_id=campaign.id, at=at.clock())
    left = next(iter(await at.read(left_under_way, is_dead=is_dead, only=campaign.name)), None)
    owner = owner if is_at_work(owner) else None
    newest = await at.read(runs_of, campaign=campaign.name, limit=runs)
    return CampaignStatus(campaign, tally, owner, left, waiting, newest, late)


def _limits(settings: Settings, at: float) -> list[Account]:
    """Return the accounts that the settings limit, empty."""
    today = day_of(at)
    found = [
        Account(kind="day", name=today, budget=settings.day_budget),
        Account(kind="month", name=month_of(today), budget=settings.month_budget),
    ]
    centers = [
        Account(kind="cost_center", name=name, budget=budget)
        for name, budget in settings.cost_center_budgets.items()
    ]
    return [one for one in found if one.budget is not None] + centers


def _account_document(account: Account) -> dict[str, object]:
    amounts = ("reserved", "charged", "budget", "left")
    said = {name: as_number(getattr(account, name)) for name in amounts}
    return {"kind": account.kind, "name": account.name, **said}
