"""The rows of a campaign with their files, for programs that go on with its videos."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

from callsheet.flows.interface import RowResult
from callsheet.tasks.campaign.propose import campaign_named
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.selection import choose_rows
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.settings import load_settings

#: Rows that are read from the ledger at a time: a campaign may have 100,000.
PAGE = 500


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
        known = await ledger.read(rows_of, campaign_id=found.id)
        chosen = choose_rows(known, None, select)
        for start in range(0, len(chosen), PAGE):
            page = chosen[start : start + PAGE]
            numbers = [row.id for row in page]
            document = await ledger.read(row_documents, campaign_id=found.id, numbers=numbers)
            for row in page:
                yield cast(RowResult, document(row))
