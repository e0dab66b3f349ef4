"""`callsheet reconcile`: what the service says, next to what the ledger says."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from callsheet.deployments.at import At
from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.aftercare.findings import Finding, Repairs
from callsheet.tasks.aftercare.repairs import correct_ledger, plan_repairs
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns
from callsheet.tasks.runtime.errors import Parked, ServiceError, SheetError
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.sheet import read_sheet
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import Brief

#: How long to leave a service alone that could not be asked, in seconds.
LATER = 300


def main(args: Namespace) -> int:
    """Report every difference; with `--apply` set right what is free and certain."""
    with sandbox_for(args):
        found = run_command(_reconcile(args))
    _show(found, console_for(args), args)
    if args.json:
        print_json(found.as_differences())
    return found.exit_status


async def _reconcile(args: Namespace) -> Repairs:
    settings = settings_of(args)
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign) if args.campaign else None
        briefs = await _briefs(args, at, campaign)
        async with await open_service(settings, at.ledger, time.time) as service:
            try:
                plan = partial(plan_repairs, at.ledger, settings, campaign)
                found = await plan(service=service, briefs=briefs)
            except ServiceError as error:
                raise _unasked(error) from error
        if not args.apply:
            return found
        sandbox = args.sandbox or settings.sandbox
        return await correct_ledger(at.ledger, found, sandbox=sandbox, clock=time.time)


async def _briefs(
    args: Namespace, at: At, campaign: Campaign | None
) -> Mapping[str, Sequence[Brief]]:
    """Return the briefs of the sheet that was named, and of those that campaigns were run from."""
    found: dict[str, Sequence[Brief]] = {}
    known = [campaign] if campaign else await at.read(all_campaigns)
    for one in known:
        # Only what lies on this machine: a report fetches nothing from elsewhere by itself.
        if one.sheet and Path(one.sheet).is_file():
            try:
                found[one.name] = (await read_sheet(one.sheet)).briefs
            except SheetError:
                continue
    if args.sheet:
        sheet = await read_sheet(args.sheet)
        found[sheet.campaign] = sheet.briefs
    return found


def _unasked(error: ServiceError) -> Parked:
    later = datetime.fromtimestamp(time.time() + LATER, UTC)
    return Parked(
        f"the service could not be asked, so nothing is known: {error}",
        until=error.retry_at or later,
        remedy=error.remedy or "run the same command again later; nothing was changed",
    )


def _show(found: Repairs, console: Console, args: Namespace) -> None:
    if found.findings:
        made = table(
            "Differences", ("row", "what", "words", "done" if args.apply else "what to do")
        )
        for one in found.findings:
            made.add_row(*(plain(cell) for cell in _cells(one)))
        console.print(made)
    compared = count(found.compared, "video")
    console.print(f"{compared} compared; {found.kinds or 'nothing differs'}")
    if found.others:
        console.print(
            count(found.others, "other video is", "other videos are")
            + " at the service and not of this ledger"
        )
    for words in found.advice:
        console.print(plain(words))
    if not args.apply and any(one.repair for one in found.findings):
        apply = suggest("reconcile", *([args.campaign] if args.campaign else []), "--apply")
        words = "fixes what is certain and free to fix; the rest needs your attention"
        console.print(f"`{apply}` {words}")


def _cells(one: Finding) -> tuple[str, ...]:
    campaign, row = one.owner
    whose = f"{campaign} {row}" if row else one.video_id or "-"
    return whose, one.verdict, one.words, "set right" if one.done else one.remedy or "-"
