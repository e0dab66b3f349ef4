"""An approval as a Prefect flow: for a deployment, an automation, or whoever starts it from there.

What a run has priced, and nobody has approved, is approved and made; the sheet need not be there.
"""

from functools import partial
from typing import Any, cast

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from callsheet.flows.as_tasks import AS_TASKS
from callsheet.flows.campaign import run_of, unapproved
from callsheet.flows.endings import end, ended, not_approved
from callsheet.flows.interruption import interruptible
from callsheet.flows.parameters import Credits, amount_of
from callsheet.flows.pipeline import carry
from callsheet.flows.result import CampaignResult
from callsheet.flows.shown import publish_plan, publish_report, showing
from callsheet.tasks.aftercare.begun import begun_rows, has_approved
from callsheet.tasks.aftercare.waiting import approve_waiting, waiting_plan, waiting_rows
from callsheet.tasks.campaign.hold import carry_only
from callsheet.tasks.campaign.quote import check_budget, is_within
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.ledger import Campaign
from callsheet.tasks.plural import count
from callsheet.tasks.redact import redact


@flow(
    name="approve",
    description="What a run of a campaign has priced is approved, and its videos are made.",
    flow_run_name="approve {campaign}",
    retries=0,
)
async def approve_campaign(
    campaign: str,
    at_most: Credits,
    budget: Credits | None = None,
    note: str | None = None,
    max_wait: str | None = None,
    profile: str | None = None,
) -> CampaignResult:
    """Approve the rows of a campaign that wait for it, and make their videos.

    Args:
        campaign: whose rows.
        at_most: credits that they may cost in all; beyond it nothing is approved.
        budget: credits the campaign may cost in all, over every run.
        note: why, for the rows' history.
        max_wait: park the run after this long, as `2h`.
        profile: settings from a TOML profile.
    """
    approving = _approve(campaign, at_most, budget, note, max_wait=max_wait, profile=profile)
    # A flow may return a state; whoever calls it gets its data.
    return cast(CampaignResult, await ended(approving))


async def _approve(
    campaign: str,
    at_most: float,
    budget: float | None,
    note: str | None,
    *,
    max_wait: str | None,
    profile: str | None,
) -> State[Any]:
    async with run_of(campaign, max_wait=max_wait, profile=profile) as (run, found):
        # From the first look on: what is cancelled while it is approved is not made either.
        async with interruptible(run):
            if await has_approved(run.at.ledger, found, run=str(flow_run.id)):
                # What waits for an approval by now, nobody has seen who started it.
                await carry_only(run, found, await begun_rows(run.at.ledger, found))
            elif refused := await _approve_rows(run, found, at_most, budget, note):
                return refused
            async with showing(run):
                outcome = await carry(run, AS_TASKS, campaign)
        await publish_report(run)
    return await end(outcome, run.at.settings)


async def _approve_rows(
    run: Run, campaign: Campaign, at_most: float, budget: float | None, note: str | None
) -> State[Any] | None:
    """Approve what waits for it, to be carried; return how the run ends where it may not."""
    rows = await waiting_rows(run.at.ledger, campaign)
    plan = waiting_plan(campaign, rows, amount_of(budget))
    run.campaign, run.plan = campaign, plan
    limit = amount_of(at_most)
    assert limit is not None, "its type says what an amount is"
    if rows:
        await publish_plan(plan)
    if not is_within(plan, limit):
        words = f"{in_credits(plan.total)} for {count(len(rows), 'video')}, and "
        words += f"{as_text(limit)} at most: not approved; nothing was spent"
        return not_approved(words, await unapproved(run))
    check_budget(plan)
    await run.at.store.check()
    await carry_only(run, campaign, [row.row for row in rows])
    by = "approved by the flow approve" + (f": {redact(note)}" if note else "")
    said = partial(approve_waiting, run=str(flow_run.id), by=by, at=run.at.clock())
    said = partial(said, owner=run.at.terms.owner)
    await said(run.at.ledger, campaign, plan)
    return None
