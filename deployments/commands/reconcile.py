"""`callsheet reconcile`: what the service says, next to what the ledger says."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.aftercare.differences import Comparison, Difference
from callsheet.tasks.aftercare.reconcile import apply_changes, names_of, reconcile
from callsheet.tasks.engine.context import open_service, organisation_of
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns
from callsheet.tasks.ledger.ledger import Ledger
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
        comparison = run_command(_reconcile(args))
    _show(comparison, console_for(args), args)
    if args.json:
        print_json(comparison.as_json())
    return comparison.exit_status


async def _reconcile(args: Namespace) -> Comparison:
    settings = settings_of(args)
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign) if args.campaign else None
        briefs = await _briefs(args, ledger, campaign)
        async with await open_service(settings, ledger, time.time) as service:
            try:
                found = await reconcile(
                    ledger,
                    service,
                    organisation_of(settings),
                    campaign=campaign,
                    briefs=briefs,
                    at_once=settings.polls_at_once,
                    failed=settings.failed_words,
                )
            except ServiceError as error:
                raise _unasked(error) from error
        if not args.apply:
            return found
        sandbox = args.sandbox or settings.sandbox
        return await apply_changes(ledger, found, sandbox=sandbox, clock=time.time)


async def _briefs(
    args: Namespace, ledger: Ledger, campaign: Campaign | None
) -> Mapping[str, Sequence[Brief]]:
    """Return the briefs of the sheet that was named, and of those that campaigns were run from."""
    found: dict[str, Sequence[Brief]] = {}
    known = [campaign] if campaign else await ledger.read(all_campaigns)
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


def _show(comparison: Comparison, console: Console, args: Namespace) -> None:
    if comparison.differences:
        made = table(
            "Differences", ("row", "what", "words", "done" if args.apply else "what to do")
        )
        for one in comparison.differences:
            made.add_row(*(plain(cell) for cell in _cells(one)))
        console.print(made)
    kinds = ", ".join(f"{n} {kind}" for kind, n in names_of(comparison.differences).items())
    console.print(f"{count(comparison.compared, 'video')} compared; {kinds or 'nothing differs'}")
    if comparison.others:
        console.print(
            count(comparison.others, "other video is", "other videos are")
            + " at the service and not of this ledger"
        )
    for words in comparison.advice:
        console.print(plain(words))
    if not args.apply and any(one.change for one in comparison.differences):
        apply = suggest("reconcile", *([args.campaign] if args.campaign else []), "--apply")
        words = "fixes what is certain and free to fix; the rest needs your attention"
        console.print(f"`{apply}` {words}")


def _cells(one: Difference) -> tuple[str, ...]:
    whose = f"{one.campaign} {one.row}" if one.row else one.video_id or "-"
    done = "set right" if one.applied else one.remedy or "-"
    return whose, one.kind, one.words, done
