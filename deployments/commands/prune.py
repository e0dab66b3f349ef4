"""`callsheet prune`: delete videos at the service that are not needed there any more."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import consent, console_for, plain, print_json, table, user_name
from callsheet.tasks.aftercare.prune import Prune, Pruning, say_wanted
from callsheet.tasks.engine.context import connect
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
    _show(found, console, store=args.prune_store)
    if not found.wanted:
        return found.as_json()
    question = say_wanted(found, store=args.prune_store)
    await consent(args, question, what=f"to delete videos of {campaign.name} is")
    async with connect(settings) as at:
        takes = [one.old.take.id for one in found.wanted]
        done = await wanted.execute(at, campaign, takes)
    deleted = sum(one.deleted for one in done.videos)
    files = sum(len(one.files) for one in done.videos)
    console.print(
        f"{count(deleted, 'video')} deleted at the service"
        + (f", {count(files, 'file')} in the store" if args.prune_store else "")
    )
    for one in done.videos:
        for words in [*([one.kept] if one.kept else []), *one.kept_files]:
            console.print(plain(f"{one.old.row.row}: not deleted: {words}"))
    kept = [one for one in found.videos if one.kept is not None]
    return Pruning(campaign=campaign, videos=[*done.videos, *kept]).as_json()


def _show(found: Pruning, console: Console, *, store: bool) -> None:
    if not found.videos:
        console.print(plain(f"{found.campaign.name}: nothing to delete"))
        return
    columns = ("row", "take", "video", "credits", "why", "what now")
    made = table(f"Videos of {found.campaign.name} at the service", columns,
                 numbers=("take", "credits"))  # fmt: skip
    for one in found.videos:
        take = one.old.take
        cost = "-" if take.charged is None else as_text(take.charged)
        gone = "deleted before" if take.deleted_at is not None else str(take.video_id)
        cells = (one.old.row.row, str(take.number), gone, cost, one.because)
        kept = "stays: " + one.kept if one.kept else "delete"
        made.add_row(*(plain(cell) for cell in (*cells, kept)))
    console.print(made)
    files = [file.uri for one in found.wanted if one.old.left for file in one.old.files]
    if store and files:
        console.print("files in the store to delete, with the pictures of their videos:")
        for uri in files:
            console.print(plain(f"  {uri}"), soft_wrap=True)
