"""`callsheet prune`: delete videos at the service that are not needed there any more."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import consent, console_for, plain, print_json, table, user_name
from callsheet.tasks.aftercare.prune import Prune, PruneOut, doomed, say_done, say_wanted
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.deletions import OldVideo
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import as_text, count


def main(args: Namespace) -> int:
    """List the videos, ask, delete them, and say for each what was done."""
    with sandbox_for(args):
        document = run_command(prune(args, settings_of(args)))
    if args.json:
        print_json(document)
    return int(document["exit"])


async def prune(args: Namespace, settings: Settings) -> dict[str, Any]:
    """Delete what a command names, once that is confirmed; return the document of `--json`."""
    console = console_for(args)
    wanted = Prune(
        by=user_name(), undelivered=args.undelivered, store=args.prune_store, retired=True
    )
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        found = await wanted.find(ledger, campaign, settings, time.time())
    _show(campaign.name, found, console, store=args.prune_store)
    if not (videos := doomed(found)):
        return PruneOut.of(campaign.name, found).model_dump()
    question = say_wanted(campaign.name, videos, store=args.prune_store)
    await consent(args, question, what=f"to delete videos of {campaign.name} is")
    async with connect(settings) as at:
        done = await wanted.execute(at, campaign, videos)
    told = PruneOut.of(campaign.name, done)
    console.print(f"{count(told.deleted, 'video')} {say_done(told, store=args.prune_store)}")
    for one in done:
        for words in [*([one.kept] if one.kept else []), *one.kept_files]:
            console.print(plain(f"{one.row.row}: not deleted: {words}"))
    kept = [one for one in found if one.kept is not None]
    return PruneOut.of(campaign.name, [*done, *kept]).model_dump()


def _show(campaign: str, found: Sequence[OldVideo], console: Console, *, store: bool) -> None:
    if not found:
        console.print(plain(f"{campaign}: nothing to delete"))
        return
    columns = ("row", "take", "video", "credits", "why", "what now")
    numbers = ("take", "credits")
    made = table(f"Videos of {campaign} at the service", columns, numbers=numbers)
    for one in found:
        take = one.take
        cost = "-" if take.charged is None else as_text(take.charged)
        gone = "deleted before" if take.deleted_at is not None else take.video_id
        kept = "stays: " + one.kept if one.kept else "delete"
        made.add_row(*map(plain, (one.row.row, take.number, gone, cost, one.because, kept)))
    console.print(made)
    files = [file.uri for one in doomed(found) if one.left for file in one.files]
    if store and files:
        console.print("files in the store to delete, with the pictures of their videos:")
        for uri in files:
            console.print(plain(f"  {uri}"), soft_wrap=True)
