"""The flow people run: a campaign's sheet becomes videos, seen and scheduled by Prefect.

The road itself is in `flows.pipeline`; this gives each step to Prefect as a task and shows how far
it is. Prefect's records are not a ledger and are never read back.
"""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from callsheet.flows.consent import Consent
from callsheet.flows.endings import ShownDoor, end, ended
from callsheet.flows.executor import run_rows, run_sheet
from callsheet.flows.flow_runs import AS_TASKS, run_name, set_up_prefect_logs
from callsheet.flows.interface import Approve, CampaignResult, Credits, NeedsPerson
from callsheet.flows.workers import worker_runs
from callsheet.tasks.campaign.canary import Canary
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import said_in
from callsheet.tasks.campaign.run import Door, run_at_hand
from callsheet.tasks.campaign.workers import check_workers
from callsheet.tasks.ledger.accounts import AtLimit
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.runtime.suggest import suggest_for
from callsheet.tasks.values.briefs import HiddenRows
from callsheet.tasks.webhooks.listener import check_address


@flow(
    name="campaign",
    description="A campaign sheet becomes finished videos in the store.",
    flow_run_name=run_name,
    retries=0,
)
async def run_campaign(
    sheet: str,
    approve: Approve = "no",
    budget: Credits | None = None,
    campaign: str | None = None,
    select: str | None = None,
    first: int | None = None,
    canary: Canary | None = None,
    run_budget: Credits | None = None,
    at_limit: AtLimit | None = None,
    max_wait: str | None = None,
    plan: str | None = None,
    if_running: Literal["wait", "leave"] = "wait",
    wait: Literal["auto", "poll", "webhook"] = "auto",
    worksheet: str | None = None,
    delimiter: str | None = None,
    hidden_rows: HiddenRows | None = None,
    new_campaign: bool = False,
    same_campaign: bool = False,
    retire: bool = False,
    pay_again: bool = False,
    workers: int | None = None,
    needs_person: NeedsPerson | None = None,
    profile: str | None = None,
) -> CampaignResult:
    """Run a campaign from its sheet.

    Args:
        sheet: a path, an https:// or an s3:// address.
        approve: whether the plan may be paid for. no: it is shown, and nothing new is paid for.
            ask: it is shown, and the run waits for an answer on Prefect's page. yes: as quoted.
        budget: credits the campaign may cost in all, over every run.
        campaign: a name instead of the sheet's own.
        select: only these rows, as `tag:launch,language:en|de`.
        first: only so many rows from the top of the sheet.
        canary: make one video of each kind first; the others once somebody keeps it (yes), or once
            its checks pass (auto).
        run_budget: credits this run alone may set aside, however often Prefect begins it anew.
        at_limit: begin nothing more at the end of a budget (stop), or what still fits (fit).
        max_wait: park the run after this long, as `2h`.
        plan: the file of a plan saved with `callsheet plan -o`; what is approved is what it says,
            or nothing.
        if_running: while another run has the campaign, wait for it, or leave.
        wait: find videos by webhooks where they come through (auto), by looking (poll), or not
            without webhooks (webhook).
        worksheet: which worksheet of an XLSX.
        delimiter: what separates the cells of a CSV.
        hidden_rows: leave out the rows that a workbook hides (skip), or make videos of them (read).
        new_campaign: make videos again that another campaign has paid for.
        same_campaign: the campaign goes on with this sheet, though it comes from elsewhere and
            differs.
        retire: retire rows that left the sheet, however many.
        pay_again: pay again for rows that another ledger may have paid for.
        workers: so many workers carry it, each on a machine of the work pool that has the
            deployment `worker`; needs a PostgreSQL ledger.
        needs_person: how the run ends where rows need attention: failed, unless you say otherwise;
            what ends failed raises in a flow that calls this one.
        profile: settings from a TOML profile.
    """
    # However often Prefect begins it anew, its own budget is counted by the id of its run.
    options = RunOptions.of(locals(), run_id=flow_run.id, saved_plan=plan is not None)
    saved = None if plan is None else Path(plan)
    running = _run(options, approve, saved, needs_person, profile)
    # A flow may return a state; whoever calls it gets its data.
    return cast(CampaignResult, await ended(running))


async def _run(
    options: RunOptions,
    approve: Approve,
    saved: Path | None,
    needs_person: NeedsPerson | None,
    profile: str | None,
) -> State[Any]:
    """Run a campaign, or go along with the run that is open already, and show how far it is."""
    set_up_prefect_logs()
    already = run_at_hand()
    settings = (
        already.at.settings if already else load_settings(profile=profile, sheet=options.sheet)
    )
    if already is None:
        options = _whole(options, saved, settings)
        suggest_for(profile, flow=True)
    door = Consent(approve, saved=saved)
    if options.workers is not None:
        door.find_starter = partial(worker_runs, profile)
    return await end(await run_sheet(options, settings, door, AS_TASKS), needs_person or "failed")


def _whole(options: RunOptions, saved: Path | None, settings: Settings) -> RunOptions:
    """Return the options with what was said when the plan was saved.

    Raises BadInput where that fails, ConfigurationError for options that the settings rule out.
    """
    if options.wait == "webhook":
        check_address(settings)
    if options.workers is not None:
        check_workers(options.workers, settings)
    said = [] if saved is None else said_in(saved)
    return options.but(**dict.fromkeys(said, True))


#: Chooses rows of a campaign once its run is open.
ChooseOf = Callable[..., Awaitable[Collection[str]]]


async def run_of(
    campaign: str,
    choose: ChooseOf,
    *,
    max_wait: str | None,
    profile: str | None,
    door: Door | None = None,
) -> State[Any]:
    """Run what the ledger has of a campaign, for which no sheet is needed.

    `choose` has the rows approved that it chooses, where that is wanted. Raises BadInput for a
    campaign that the ledger does not know.
    """
    set_up_prefect_logs()
    suggest_for(profile, flow=True)
    options = RunOptions.of({"sheet": campaign, "max_wait": max_wait})
    settings = load_settings(profile=profile)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        found = await ledger.read(partial(find_campaign, name=campaign))
    if found is None:
        raise BadInput(f'there is no campaign "{campaign}" in the ledger; nothing was spent')
    choosing = partial(choose, campaign=found)
    door = door or ShownDoor()
    return await end(await run_rows(found, choosing, options, settings, door, AS_TASKS))
