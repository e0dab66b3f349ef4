"""What a run of a sheet would do and cost, as a Prefect flow: it spends nothing and writes nothing.

The same as `callsheet plan`.
"""

from collections import Counter
from dataclasses import replace
from typing import Any, cast

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from callsheet.flows.endings import ended
from callsheet.flows.parameters import Credits, amount_of
from callsheet.flows.prefect_logs import set_up_prefect_logs
from callsheet.flows.result import PlanResult
from callsheet.flows.run_name import run_name
from callsheet.flows.shown import publish_plan
from callsheet.tasks.campaign.plan_words import sums_of
from callsheet.tasks.campaign.priced_plan import plan_from
from callsheet.tasks.campaign.quote import shortage
from callsheet.tasks.campaign.values import Plan, RunOptions
from callsheet.tasks.credits import as_number
from callsheet.tasks.redact import redact
from callsheet.tasks.settings import load_settings
from callsheet.tasks.sheet import HiddenRows, SheetOptions
from callsheet.tasks.suggest import suggest_for


@flow(
    name="plan",
    description="What a run of a campaign sheet would do and cost. Spends and writes nothing.",
    flow_run_name=run_name,
    retries=0,
)
async def plan_campaign(
    sheet: str,
    budget: Credits | None = None,
    campaign: str | None = None,
    select: str | None = None,
    delimiter: str | None = None,
    worksheet: str | None = None,
    hidden_rows: HiddenRows | None = None,
    new_campaign: bool = False,
    same_campaign: bool = False,
    retire: bool = False,
    profile: str | None = None,
) -> PlanResult:
    """Plan a campaign from its sheet, at the prices of now.

    Args:
        sheet: a path, an https:// or an s3:// address.
        budget: credits the campaign may cost in all, over every run.
        campaign: a name instead of the sheet's own.
        select: only these rows, as `tag:launch,language:en|de`.
        delimiter: what separates the cells of a CSV.
        worksheet: which worksheet of an XLSX.
        hidden_rows: leave out the rows that a workbook hides (skip), or plan videos of them (read).
        new_campaign: make videos again that another campaign has paid for.
        same_campaign: the campaign goes on with this sheet, though it comes from elsewhere and
            differs.
        retire: retire rows that left the sheet, however many.
        profile: settings from a TOML profile.
    """
    options = RunOptions(
        sheet=sheet,
        campaign=campaign,
        budget=amount_of(budget),
        select=select,
        delimiter=delimiter,
        worksheet=worksheet,
        hidden_rows=hidden_rows,
        new_campaign=new_campaign,
        same_campaign=same_campaign,
        retire=retire,
    )
    # A flow may return a state; whoever calls it gets its data.
    return cast(PlanResult, await ended(_plan(options, profile)))


async def _plan(options: RunOptions, profile: str | None) -> State[Any]:
    set_up_prefect_logs()
    suggest_for(profile, flow=True)
    settings = load_settings(profile=profile, sheet=options.sheet)
    options = replace(options, sandbox=settings.sandbox)
    reading = SheetOptions(
        campaign=options.campaign,
        budget=options.budget,
        delimiter=options.delimiter,
        worksheet=options.worksheet,
        hidden_rows=options.hidden_rows or settings.hidden_rows,
        name_template=settings.names,
    )
    _, plan, match = await plan_from(options.sheet, reading, options, settings)
    await publish_plan(plan)
    if match.refusal is not None:
        raise match.refusal
    return Completed(message=_words(plan), data=_result(plan))


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
    """Return what a run would cost, and what keeps it from being run."""
    refusal = shortage(plan)
    return "; ".join([*sums_of(plan), *([] if refusal is None else [str(refusal)])])
