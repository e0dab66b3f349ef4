"""Whether a campaign is as its last run left and reported it: then a run writes nothing at all."""

from __future__ import annotations

from functools import partial

from callsheet.tasks.campaign.match import Match, note_ledger
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.report_files import report_stands
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger import Campaign, find_campaign, has_paid, is_latest_from
from callsheet.tasks.sheet import Sheet


async def is_settled(run: Run, match: Match) -> bool:
    """Whether all is as the last run left and reported it; if so, the run goes by that plan.

    The campaign is left to whoever has it: a run that is at work on it is waited for as ever.
    """
    at, options, sheet = run.at, run.options, run.sheet
    assert sheet is not None, "the sheet is read first"
    if options.new_campaign or options.same_campaign or match.moved:
        return False
    campaign = await at.ledger.read(partial(find_campaign, name=sheet.campaign))
    if campaign is None or not await _is_known(at, campaign, sheet):
        return False
    plan = await plan_sheet(at.ledger, sheet, options)
    same_budget = plan.budget is None or plan.budget == campaign.budget
    if plan.moves_anything or not plan.synced or not same_budget:
        return False
    if not await report_stands(at, campaign):
        return False
    run.campaign, run.settled = campaign, True
    run.go_by(plan)
    if campaign.charged:
        note_ledger(at.settings, sheet)
    return True


async def _is_known(at: Context, campaign: Campaign, sheet: Sheet) -> bool:
    """Whether the campaign was last run and reported from this very sheet, and is nobody's now."""
    same = (campaign.sheet, campaign.sheet_digest) == (sheet.address, sheet.digest)
    if campaign.lease is not None or not same or campaign.reported is None:
        return False
    if not await at.ledger.read(partial(has_paid, campaign_id=campaign.id)):
        return False
    latest = partial(is_latest_from, campaign_id=campaign.id)
    return sheet.origin is None or await at.ledger.read(partial(latest, origin=sheet.origin))
