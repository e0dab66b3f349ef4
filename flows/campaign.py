"""The main flow: turns the sheet of a campaign into videos, shown and scheduled by Prefect.

The steps are in `flows.executor`; this module runs each one as a Prefect task and shows progress.
Prefect's records are not a ledger and are never read back.
"""

from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from prefect.runtime import flow_run

from callsheet.flows.consent import Consent
from callsheet.flows.endings import callsheet_flow, end
from callsheet.flows.executor import run_sheet
from callsheet.flows.flow_runs import run_name, set_up_flow
from callsheet.flows.interface import Approve, CampaignResult, Credits, NeedsPerson
from callsheet.flows.perform import perform
from callsheet.flows.watch import shown
from callsheet.flows.workers import worker_runs
from callsheet.tasks.campaign.approve import Verb
from callsheet.tasks.campaign.approver import ApprovePlan
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import SavedPlan, read_plan
from callsheet.tasks.campaign.run import Watch
from callsheet.tasks.campaign.values import Canary
from callsheet.tasks.campaign.workers import check_workers
from callsheet.tasks.ledger.accounts import AtLimit
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.briefs import HiddenRows
from callsheet.tasks.values.edits import Edits
from callsheet.tasks.webhooks.listener import check_address


@callsheet_flow("campaign", "A campaign sheet becomes finished videos in the store.", run_name)
async def run_campaign(
    sheet: str,
    approve: Approve = "no",
    budget: Credits | None = None,
    campaign: str | None = None,
    select: str | None = None,
    first: int | None = None,
    canary: Canary | None = None,
    edits: Edits | None = None,
    waves: str | None = None,
    retry_failed: int | None = None,
    adopt: bool = False,
    repair: bool = False,
    run_budget: Credits | None = None,
    at_limit: AtLimit | None = None,
    max_wait: str | None = None,
    plan: str | None = None,
    if_running: Literal["wait", "leave"] = "wait",
    wait: Literal["auto", "poll", "webhook"] = "auto",
    worksheet: str | None = None,
    map: list[str] | None = None,
    delimiter: str | None = None,
    hidden_rows: HiddenRows | None = None,
    new_campaign: bool = False,
    same_campaign: bool = False,
    retire: bool = False,
    yes_many: bool = False,
    pay_again: bool = False,
    workers: int | None = None,
    needs_person: NeedsPerson | None = None,
    profile: str | None = None,
) -> CampaignResult:
    """Run a campaign from its sheet.

    Args:
        sheet: a path, an https:// or an s3:// address.
        approve: whether to pay for the plan. no: show the plan and pay for nothing new.
            ask: show the plan and wait for an answer on Prefect's page. yes: pay as quoted.
        budget: the most credits that the campaign may cost, over all its runs.
        campaign: a name that replaces the one of the sheet.
        select: only these rows, as `tag:launch,language:en|de`.
        first: only this many rows from the top of the sheet.
        canary: make one video of each kind first; the others after you keep it (yes), or after its
            checks pass (auto).
        edits: edit the video of a changed row if that is enough (cheapest), or always make a
            new one (retake).
        waves: make parts of the rows first, as `10%,50%`; each after you keep the one before.
        retry_failed: new attempts of each row whose render fails, within its max_credits and the
            budget.
        adopt: take over videos that exist at the service, and make none.
        repair: fix what changed outside since delivery, if that is free.
        run_budget: the most credits that this run may reserve, even if Prefect restarts it.
        at_limit: at the end of the budget start nothing more (stop), or what still fits (fit).
        max_wait: park the run after this long, as `2h`.
        plan: a plan file saved with `callsheet plan -o`; the run executes exactly that plan or
            nothing. Options that the plan was made with need not be given again.
        if_running: wait for another run of the campaign, or exit.
        wait: use webhooks if they arrive (auto), polling only (poll), or refuse to run without
            webhooks (webhook).
        worksheet: which worksheet of an XLSX.
        map: which column a header of the sheet means, each as `Headline=title`.
        delimiter: what separates the cells of a CSV.
        hidden_rows: skip the hidden rows of a workbook (skip), or make their videos (read).
        new_campaign: make videos again that another campaign has already paid for.
        same_campaign: continue the campaign with this sheet, although it is another file with
            other content.
        retire: retire rows that left the sheet, however many.
        yes_many: accept a matrix of more than 10,000 videos.
        pay_again: pay again for rows that another ledger may have paid for.
        workers: number of workers to split the campaign across, each a run of the deployment
            `worker`; needs a PostgreSQL ledger.
        needs_person: state of the run if rows need attention; failed by default.
            A failed run raises in a flow that calls this one.
        profile: settings from a TOML profile.
    """
    # If Prefect restarts the run, its own budget is counted by the same run id.
    options = RunOptions.of(locals(), run_id=flow_run.id, saved_plan=plan is not None)
    settings = set_up_flow(profile, sheet=options.sheet)
    saved = None if plan is None else read_plan(Path(plan))
    options = _whole(options, saved, settings)
    consent = Consent(approve, settings, at_limit=options.at_limit, saved=saved)
    find_starter = None if options.workers is None else partial(worker_runs, profile)
    running = partial(run_sheet, options, settings, consent)
    outcome = await running(watch=shown, find_starter=find_starter)
    return cast(CampaignResult, await end(outcome, needs_person or "failed"))


def _whole(options: RunOptions, saved: SavedPlan | None, settings: Settings) -> RunOptions:
    """Return the options, completed from the saved plan.

    Raise ConfigurationError for options that the settings forbid.
    """
    if options.wait == "webhook":
        check_address(settings)
    if options.workers is not None:
        check_workers(options.workers, settings)
    if saved is None:
        return options
    return RunOptions.of({**saved.terms, **options.kept()})


async def performed(
    verb: Verb,
    ask: RunOptions,
    approve_plan: ApprovePlan,
    profile: str | None,
    watch: Watch = shown,
) -> Any:
    """Perform a verb as this flow run, which approves once, however often Prefect starts it."""
    settings, plan_id = set_up_flow(profile), str(flow_run.id)
    performing = partial(perform, verb, ask, settings, approve_plan, watch=watch)
    done = await performing(plan_id=plan_id)
    assert done.outcome is not None, "a flow makes what it approves"
    return await end(done.outcome)
