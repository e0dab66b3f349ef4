"""What the commands that only read the ledger share: opening it, and finding the campaign."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from deployments.commands.options import settings_of
from tasks.errors import BadInput
from tasks.ledger import Campaign, Ledger, all_campaigns, find_campaign, open_ledger


@asynccontextmanager
async def reading(args: Namespace) -> AsyncIterator[Ledger]:
    """Open the ledger that is there; raise LedgerError when there is none."""
    async with await open_ledger(settings_of(args).ledger, create=False) as ledger:
        yield ledger


async def campaign_of(ledger: Ledger, name: str | None) -> Campaign:
    """Return the campaign named, or the newest when none is; raise BadInput for an unknown one."""
    if name is not None:
        found = await ledger.read(partial(find_campaign, name=name))
        if found is not None:
            return found
    known = await ledger.read(all_campaigns)
    if name is None and known:
        return known[0]
    if not known:
        raise BadInput("the ledger has no campaigns yet", remedy="`callsheet run SHEET` makes one")
    raise BadInput(
        f'there is no campaign "{name}" in the ledger',
        remedy="`callsheet status` shows them: "
        + ", ".join(campaign.name for campaign in known[:20]),
    )
