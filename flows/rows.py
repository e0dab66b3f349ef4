"""The rows of a campaign with their files, for programs that go on with its videos."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

from callsheet.flows.interface import RowResult
from callsheet.tasks.campaign.propose import campaign_named
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import numbers_shown
from callsheet.tasks.ledger.row_views import rows_by_id
from callsheet.tasks.runtime.settings import load_settings


async def campaign_rows(
    campaign: str, *, select: str | None = None, profile: str | None = None
) -> AsyncIterator[RowResult]:
    """Yield the rows of a campaign in the order of its sheet, each with the files of its video.

    Reads the ledger only: nothing is spent, and the service is not asked. Raise BadInput for an
    unknown campaign, or a selection that matches nothing.

    Args:
        campaign: its name, as `CampaignResult` has it.
        select: only rows that match, as in `--select`: `state:delivered`, `tag:x`, or ids.
        profile: settings from a TOML profile.
    """
    settings = load_settings(profile=profile)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        found = await ledger.read(campaign_named, name=campaign)
        which = RowFilter.parse(select)
        await ledger.read(check_chosen, campaign=found, which=which)
        numbers = await ledger.read(numbers_shown, campaign_id=found.id, which=which)
        for page in pages_of(numbers):
            shown = await ledger.read(rows_by_id, campaign_id=found.id, numbers=page)
            for row in shown.values():
                yield cast(RowResult, row.document)
