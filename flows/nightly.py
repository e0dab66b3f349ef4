"""Nightly runs and digests as Prefect flows.

The scan itself is in `flows.nightly_run`; this module adds what Prefect knows: when the run was
due and whether a newer one is due. Prefect starts missed runs one after the other, oldest first:
all but the newest end immediately.
"""

import logging
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from prefect import get_client, get_run_logger
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.runtime import flow_run

from callsheet.flows.endings import NOT_APPROVED, callsheet_flow, completed, ending
from callsheet.flows.flow_runs import is_made_up, set_up_flow, stopping_with_flow
from callsheet.flows.interface import Credits, amount_of
from callsheet.flows.nightly_run import hold_night
from callsheet.flows.shown.artifacts import cell, key_of, link, out_of_the_way, put_table
from callsheet.flows.shown.flow_page import PAGE
from callsheet.flows.watch import showing
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import OpenRuns
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import skip_night
from callsheet.tasks.nights.calendar import night_of
from callsheet.tasks.nights.inboxes import Inbox, find_inboxes, with_terms
from callsheet.tasks.nights.reports import NightReport, SheetReport
from callsheet.tasks.notices import digest
from callsheet.tasks.runtime.errors import BadInput, CallsheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import utc_now
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.values.amounts import as_number, in_credits

#: States of a run that did not scan, with the reason, and of one that started too late.
SKIPPED, SUPERSEDED = "Skipped", "Superseded"
#: States of a run that has scanned, or will.
_COUNTS = [
    StateType.SCHEDULED,
    StateType.PENDING,
    StateType.RUNNING,
    StateType.COMPLETED,
    StateType.FAILED,
]


def night_name() -> str:
    """Name a flow run after its inbox and night, unless a person has named it."""
    if flow_run.name and not is_made_up(flow_run.name):
        return str(flow_run.name)
    asked: dict[str, Any] = flow_run.parameters or {}
    named, due = str(asked.get("inbox", "inbox")), flow_run.scheduled_start_time
    with suppress(CallsheetError):
        inbox = _find(named, asked.get("nights"), load_settings(profile=asked.get("profile")))
        at = due.timestamp()
        night = night_of(at, cron=inbox.cron, timezone=inbox.timezone, due=at)
        return f"{Path(inbox.name).name}, night of {night.date}"
    return f"{Path(named).name} {due:%Y-%m-%d %H:%M}"


@callsheet_flow(
    "nightly",
    "The sheets of an inbox become videos, on the terms of its standing approval.",
    night_name,
)
async def sweep_inbox(
    inbox: str,
    nights: str | None = None,
    approve_up_to: Credits | None = None,
    per_sheet: Credits | None = None,
    plan_only: bool = False,
    canary: bool = False,
    waves: str | None = None,
    budget: Credits | None = None,
    max_wait: str | None = None,
    profile: str | None = None,
) -> State[dict[str, Any]]:
    """Scan an inbox of sheets once.

    Args:
        inbox: a name in nights.toml, a folder, or s3://bucket/prefix.
        nights: another file than nights.toml.
        approve_up_to: approve automatically, up to this many credits a night.
        per_sheet: approve automatically, up to this many credits a night for one sheet.
        plan_only: approve nothing; ask a person.
        canary: make one video of each kind of row first, the others after you keep it.
        waves: make parts of the rows first, as `10%,50%`; each after you keep the one before.
        budget: the most credits that a campaign may cost, over all nights.
        max_wait: park the nightly run after this long, as `2h`.
        profile: settings from a TOML profile.
    """
    terms = partial(
        with_terms,
        approve_up_to=amount_of(approve_up_to),
        per_sheet=amount_of(per_sheet),
        plan_only=plan_only,
        canary=canary,
        waves=RunOptions.of({"waves": waves}).waves,
        budget=amount_of(budget),
        max_wait=max_wait,
    )
    settings = set_up_flow(profile)
    swept = terms(_find(inbox, nights, settings))
    due = flow_run.scheduled_start_time
    if newer := await _newer_run():
        return await _superseded(swept, settings, due, newer)
    runs = OpenRuns()
    async with stopping_with_flow(runs):
        report = await hold_night(
            swept,
            settings,
            due=due.timestamp(),
            watch=showing,
            tell=_say,
            runs=runs,
        )
        await publish_night(swept, report)
    return _ending(report)


def _find(named: str, nights: str | None, settings: Settings) -> Inbox:
    inboxes = find_inboxes(named, folder=Path.cwd(), file=nights or settings.nights)
    if len(inboxes) != 1:
        raise BadInput(f"{named} lists {len(inboxes)} inboxes; a run scans one, by its name")
    return inboxes[0]


async def _newer_run() -> FlowRun | None:
    """Return the newest other run of this deployment that is due, with the same parameters.

    A run that was cancelled or has crashed does not count: it may not have scanned.
    """
    here = FlowRunContext.get()
    own = None if here is None else here.flow_run
    if own is None or own.deployment_id is None or own.expected_start_time is None:
        return None
    later = own.expected_start_time + timedelta(seconds=1)
    due = {"after_": later, "before_": utc_now()}
    wanted = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[own.deployment_id]),
        expected_start_time=FlowRunFilterExpectedStartTime.model_validate(due),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_COUNTS)),
    )
    async with get_client() as client:
        newer = [
            (run.expected_start_time, run)
            for run in await client.read_flow_runs(flow_run_filter=wanted, limit=200)
            if _asked(run) == _asked(own) and run.expected_start_time is not None
        ]
    return max(newer, key=lambda found: found[0])[1] if newer else None


def _asked(run: FlowRun) -> dict[str, Any]:
    """Return the parameters of a run: only a run with the same ones replaces another."""
    return {name: value for name, value in run.parameters.items() if value}


async def _superseded(
    inbox: Inbox, settings: Settings, due: datetime, newer: FlowRun
) -> State[dict[str, Any]]:
    """End a run whose night has passed: the newest due run scans once for all of them."""
    at = due.timestamp()
    night = night_of(at, cron=inbox.cron, timezone=inbox.timezone, due=at)
    words = (
        f"superseded: the run that was due at {newer.expected_start_time:%Y-%m-%d %H:%M} UTC scans"
    )
    now = night_of(time.time(), cron=inbox.cron, timezone=inbox.timezone)
    if night.date != now.date:
        skip = partial(skip_night, inbox=inbox.name, date=night.date, zone=night.zone, why=words)
        async with await open_ledger(settings.ledger) as ledger:
            await ledger.write(skip, at=time.time())
    document = {"night": night.date, "sheets": [], "charged": 0, "exit": 0, "skipped": words}
    return completed(SUPERSEDED, words, document)


def _say(sheet: SheetReport) -> None:
    """Log the outcome of a sheet as soon as it is known."""
    level = logging.INFO if sheet.exit_status in (0, 5) else logging.WARNING
    words = "; ".join((sheet.outcome, *_why(sheet)))
    get_run_logger().log(level, "%s: %s", sheet.name, words)


@out_of_the_way
async def publish_night(inbox: Inbox, report: NightReport) -> None:
    """Show the outcome of each sheet in a table on the page of the run."""
    if report.skipped is not None:
        get_run_logger().info("nothing was scanned: %s", report.skipped)
        return
    await put_table(
        PAGE,
        key_of(inbox.name, "night"),
        [_line(sheet) for sheet in report.sheets],
        words=f"The night of {report.night} ({report.zone}): {_summary(report)}",
    )


def _ending(report: NightReport) -> State[Any]:
    """Return the final state of a nightly run: that of its worst sheet.

    Waiting for approval, or parked, is not an alarm: the notice asks, the next night continues.
    """
    document, words = report.as_json(), report.skipped or _summary(report)
    if report.skipped is not None:
        return completed(SKIPPED, words, document)
    if report.exit_status == 4:
        return completed(NOT_APPROVED, words, document)
    return ending(report.exit_status, words, document)


def _summary(report: NightReport) -> str:
    """Return outcomes and cost in words: `2 delivered, 1 invalid; 9 credits`"""
    found = Counter(sheet.outcome for sheet in report.sheets)
    told = ", ".join(f"{number} {outcome}" for outcome, number in found.items())
    return f"{told or 'no sheets'}; {in_credits(report.charged)}"


def _line(sheet: SheetReport) -> dict[str, Any]:
    rows = {state: number for state, number in sheet.rows.items() if state != "total"}
    return {
        "sheet": cell(sheet.name),
        "outcome": sheet.outcome,
        "rows": ", ".join(f"{number} {state}" for state, number in rows.items()),
        "charged": as_number(sheet.charged),
        "why": cell("; ".join(_why(sheet))),
        "board": link(sheet.campaign or sheet.sheet, sheet.link) if sheet.link else "",
    }


def _why(sheet: SheetReport) -> list[str]:
    """Return the problems of a sheet with their cells and the remedy."""
    said = [words for words in (sheet.words, sheet.unanswered) if words]
    return [redact(words) for words in (*said, *sheet.problems)]


# The digest of an inbox as a Prefect flow, for example at eight after a nightly run at two.
#
# `tasks.notices` decides what to send and sends it once.


@callsheet_flow(
    "digest", "Sends the digest of an inbox's last nightly run, once.", "digest {inbox}"
)
async def tell_digest(
    inbox: str, nights: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Send the due digest of an inbox, if there is news.

    Args:
        inbox: a name in nights.toml.
        nights: another file than nights.toml.
        profile: settings from a TOML profile.
    """
    settings = set_up_flow(profile)
    inboxes = find_inboxes(inbox, folder=Path.cwd(), file=nights or settings.nights)
    async with await open_ledger(settings.ledger) as ledger:
        sent = await digest(ledger, settings, inboxes, clock=time.time)
    told = [one.subject for one in sent if one.failed is None]
    failed = [f"to {one.address}: {one.failed}" for one in sent if one.failed is not None]
    words = "; ".join(failed or told) or "nothing is due"
    return ending(1 if failed else 0, words, {"sent": told})
