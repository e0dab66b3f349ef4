"""Plans and approvals as Prefect flows: what a run would cost, and approval of what waits."""

from collections import Counter
from decimal import Decimal
from functools import partial
from typing import cast

from callsheet.flows.campaign import performed
from callsheet.flows.endings import callsheet_flow, ending
from callsheet.flows.flow_runs import run_name, set_up_flow
from callsheet.flows.interface import CampaignResult, Credits, PlanResult, amount_of
from callsheet.flows.shown import publish_plan
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.aftercare.findings import DRIFT
from callsheet.tasks.aftercare.repairs import refresh_for_plan
from callsheet.tasks.aftercare.waiting import WAITING
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.quotes import check_budget, is_within, shortage
from callsheet.tasks.campaign.report import cost_at_most, say_elsewhere, sums_of
from callsheet.tasks.campaign.stored_plans import plan_from, plan_with_prices
from callsheet.tasks.campaign.values import Canary, Plan
from callsheet.tasks.runtime.errors import NotApproved
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import as_number, as_text, count
from callsheet.tasks.values.briefs import HiddenRows
from callsheet.tasks.values.edits import Edits


@callsheet_flow(
    "plan", "What a run of a campaign sheet would do and cost. Spends and writes nothing.", run_name
)
async def plan_campaign(
    sheet: str,
    budget: Credits | None = None,
    campaign: str | None = None,
    select: str | None = None,
    first: int | None = None,
    canary: Canary | None = None,
    edits: Edits | None = None,
    waves: str | None = None,
    retry_failed: int | None = None,
    adopt: bool = False,
    refresh: bool = False,
    repair: bool = False,
    map: list[str] | None = None,
    delimiter: str | None = None,
    worksheet: str | None = None,
    hidden_rows: HiddenRows | None = None,
    new_campaign: bool = False,
    same_campaign: bool = False,
    retire: bool = False,
    yes_many: bool = False,
    profile: str | None = None,
) -> PlanResult:
    """Plan a campaign from its sheet at current prices.

    Args:
        sheet: a path, an https:// or an s3:// address.
        budget: the most credits that the campaign may cost, over all its runs.
        campaign: a name that replaces the one of the sheet.
        select: only these rows, as `tag:launch,language:en|de`.
        first: only so many rows from the top of the sheet.
        canary: make one video of each kind first; the others after you keep it (yes), or after its
            checks pass (auto).
        edits: edit the video of a changed row if that is enough (cheapest), or always make a
            new one (retake).
        waves: make parts of the rows first, as `10%,50%`; each after you keep the one before.
        retry_failed: new attempts of each row whose render fails, within its max_credits and the
            budget.
        adopt: take over videos that exist at the service, and make none.
        refresh: also look for what changed outside since delivery.
        repair: fix of that what is free to fix.
        map: which column a header of the sheet means, each as `Headline=title`.
        delimiter: what separates the cells of a CSV.
        worksheet: which worksheet of an XLSX.
        hidden_rows: skip the hidden rows of a workbook (skip), or plan their videos (read).
        new_campaign: make videos again that another campaign has already paid for.
        same_campaign: continue the campaign with this sheet, although it is another file with
            other content.
        retire: retire rows that left the sheet, however many.
        yes_many: accept a matrix of more than 10,000 videos.
        profile: settings from a TOML profile.
    """
    options = RunOptions.of(locals())
    settings = set_up_flow(profile, sheet=options.sheet)
    options = options.but(sandbox=settings.sandbox)
    _, plan, match = await plan_from(options, settings, plan_with_prices)
    await publish_plan(PAGE, plan)
    refreshed = await refresh_for_plan(plan.campaign, options, settings)
    if match.refusal is not None:
        raise match.refusal
    result, words = _result(plan), _words(plan)
    if refreshed is not None:
        result["drift"] = [one.as_json(DRIFT) for one in refreshed.drift]
        words += f"; {count(len(refreshed.drift), 'change')} outside since delivery"
    return cast(PlanResult, ending(0, words, result))


def _result(plan: Plan) -> PlanResult:
    return PlanResult(
        campaign=plan.campaign,
        sheet=redact(plan.sheet),
        actions=dict(Counter(line.action for line in plan.lines)),
        total=as_number(plan.total),
        unpriced=plan.unpriced,
        committed=as_number(plan.committed),
        budget=as_number(plan.budget),
        balance=as_number(plan.balance),
        fits=shortage(plan) is None,
    )


def _words(plan: Plan) -> str:
    """Return what a run would cost and what prevents it."""
    refusal = shortage(plan)
    return "; ".join([*sums_of(plan), *([] if refusal is None else [str(refusal)])])


# Approval as a Prefect flow, for a deployment or an automation.
#
# It approves and makes the rows that are priced and wait for approval, without the sheet.


@callsheet_flow(
    "approve",
    "Approves the rows that a run has priced, and makes their videos.",
    "approve {campaign}",
)
async def approve_campaign(
    campaign: str,
    at_most: Credits,
    budget: Credits | None = None,
    note: str | None = None,
    max_wait: str | None = None,
    profile: str | None = None,
) -> CampaignResult:
    """Approve the waiting rows of a campaign and make their videos.

    Args:
        campaign: whose rows.
        at_most: the most credits that they may cost; above it nothing is approved.
        budget: the most credits that the campaign may cost, over all its runs.
        note: the reason, for the history of the rows.
        max_wait: park the run after this long, as `2h`.
        profile: settings from a TOML profile.
    """
    limit, given = amount_of(at_most), amount_of(budget)
    assert limit is not None, "its type says what an amount is"
    ask = RunOptions.of({"campaign": campaign, "budget": given, "max_wait": max_wait})
    by = "approved by the flow approve" + (f": {redact(note)}" if note else "")
    approve = partial(_within, at_most=limit, by=by)
    return cast(CampaignResult, await performed(WAITING, ask, approve, profile))


async def _within(plan: Plan, *, at_most: Decimal, by: str) -> Plan:
    """Return the rows that wait as approved; raise NotApproved for what was not agreed to."""
    await publish_plan(PAGE, plan)
    if not is_within(plan, at_most):
        videos = count(len(plan.spending), "video")
        words = f"{cost_at_most(plan)} for {videos}, and {as_text(at_most)} at most: not approved"
        raise NotApproved(f"{words}; nothing was spent")
    if plan.elsewhere:
        raise NotApproved(
            f"{' and '.join(say_elsewhere(plan))}: not approved; nothing was spent",
            remedy=f"to make them again: `{suggest('approve', plan.campaign)}`",
        )
    check_budget(plan)
    return plan.approved(by)
