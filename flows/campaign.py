"""The flow people run: a campaign's sheet becomes films, seen and scheduled by Prefect.

The road itself is in `flows.pipeline`; this gives each step to Prefect as a task and shows how far
it is. Prefect's records are not a ledger and are never read back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from flows.as_tasks import AS_TASKS
from flows.endings import end, ended
from flows.interruption import interruptible
from flows.pipeline import follow, run_pipeline
from flows.prefect_logs import redact_prefect_logs
from flows.shown import publish_report, showing
from tasks.campaign.plan import check_retirement
from tasks.campaign.run import Approval, Run, no_approval, open_run
from tasks.campaign.values import Plan, RunOptions
from tasks.duration import parse_duration
from tasks.errors import BadInput, SpendRefused
from tasks.ledger import AtLimit, Campaign, find_campaign
from tasks.settings import load_settings
from tasks.sheet import HiddenRows
from tasks.suggest import suggest_for

_RETIRE = "run the flow with retire=true"


def run_name() -> str:
    """Name a flow run after its campaign and the minute it began."""
    asked: dict[str, Any] = flow_run.parameters or {}
    name = asked.get("campaign") or PurePosixPath(str(asked.get("sheet", ""))).stem or "campaign"
    return f"{name} {datetime.now(UTC):%Y-%m-%d %H:%M}"


@flow(
    name="campaign",
    description="A campaign sheet becomes finished films in the store.",
    flow_run_name=run_name,
    persist_result=False,
)
async def run_campaign(
    sheet: str,
    campaign: str | None = None,
    budget: float | None = None,
    select: str | None = None,
    max_wait: str | None = None,
    approve: bool = False,
    profile: str | None = None,
    run_budget: float | None = None,
    at_limit: AtLimit | None = None,
    delimiter: str | None = None,
    worksheet: str | None = None,
    new_campaign: bool = False,
    same_campaign: bool = False,
    retire: bool = False,
    hidden_rows: HiddenRows | None = None,
) -> State[dict[str, Any]]:
    """Run a campaign from its sheet.

    Args:
        sheet: a path, an https:// or an s3:// address.
        campaign: a name instead of the sheet's own.
        budget: credits the campaign may cost in all, over every run.
        select: only these rows, as `tag:launch,language:en|de`.
        max_wait: park the run after this long, as `2h`.
        approve: approve the plan as quoted; without it nothing new is paid for.
        profile: settings from a TOML profile.
        run_budget: credits this run alone may set aside.
        at_limit: begin nothing more at the end of a budget (stop), or what still fits (fit).
        delimiter: what separates the cells of a CSV.
        worksheet: which worksheet of an XLSX.
        new_campaign: make films again that another campaign has paid for.
        same_campaign: the campaign goes on with this sheet, though it comes from elsewhere and
            differs.
        retire: retire rows that left the sheet, however many.
        hidden_rows: leave out the rows that a workbook hides (skip), or make films of them (read).
    """
    options = RunOptions(
        sheet=sheet,
        campaign=campaign,
        budget=_amount(budget),
        select=select,
        max_wait=None if max_wait is None else parse_duration(max_wait),
        run_budget=_amount(run_budget),
        at_limit=at_limit,
        delimiter=delimiter,
        worksheet=worksheet,
        new_campaign=new_campaign,
        same_campaign=same_campaign,
        retire=retire,
        hidden_rows=hidden_rows,
    )
    return await ended(_run(options, _approved if approve else _unapproved, profile))


async def _run(options: RunOptions, approval: Approval, profile: str | None) -> State[Any]:
    """Run a campaign, or go along with the run that is open already, and show how far it is."""
    redact_prefect_logs()
    suggest_for(profile)
    settings = load_settings(profile=profile, sheet=options.sheet)
    async with open_run(options, settings, approval) as run:
        # The command line's run does not wait for Prefect, which goes along with it.
        road = run_pipeline if run.taken is None else follow
        async with showing(run), interruptible(run):
            outcome = await road(run, AS_TASKS)
        await publish_report(run)
    return await end(outcome, settings)


def _amount(credits: float | None) -> Decimal | None:
    return None if credits is None else Decimal(str(credits))


async def _approved(plan: Plan) -> str:
    check_retirement(plan, _RETIRE)
    return "approved by the flow's parameter"


async def _unapproved(plan: Plan) -> str:
    check_retirement(plan, _RETIRE)
    raise SpendRefused(
        f"the plan of {plan.campaign} is not approved; nothing was spent",
        remedy="look at it with `callsheet plan SHEET`, then run the flow with approve=true",
    )


@asynccontextmanager
async def run_of(
    campaign: str, *, max_wait: str | None, profile: str | None
) -> AsyncIterator[tuple[Run, Campaign]]:
    """Open a run of what the ledger has of a campaign, for which no sheet is needed.

    Nothing is approved in it. Raises BadInput for a campaign that the ledger does not know.
    """
    redact_prefect_logs()
    suggest_for(profile)
    wait = None if max_wait is None else parse_duration(max_wait)
    options = RunOptions(sheet=campaign, max_wait=wait)
    async with open_run(options, load_settings(profile=profile), no_approval) as run:
        found = await run.at.ledger.read(partial(find_campaign, name=campaign))
        if found is None:
            raise BadInput(f'there is no campaign "{campaign}" in the ledger; nothing was spent')
        yield run, found
