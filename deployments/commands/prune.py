"""`callsheet prune`: delete videos at the service that are not needed there any more."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field
from rich.console import Console

from callsheet.deployments.at import At
from callsheet.deployments.commands.options import sandbox_for
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import consent, console_for, plain, print_json, table
from callsheet.tasks.aftercare.prune import Prune, PruneOut, doomed, say_done, say_wanted
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.deletions import OldVideo
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import CreditPrice, count, in_table

VideoId = Annotated[str, Field(min_length=1, max_length=200)]


async def list_old_videos(at: At, campaign: str | None = None, store: bool = False) -> PruneOut:
    """List the videos that may be deleted at the service. Deletes nothing.

    With `store`, also those of which only files in the store are left.
    """
    known = await at.campaign(campaign)
    return PruneOut.of(known.name, await find_old_videos(at, known.name, store=store))


async def delete_old_videos(
    at: At,
    campaign: str,
    videos: Annotated[list[VideoId], Field(min_length=1, max_length=1000)],
    undelivered: Annotated[bool, Field(description="also those that are not in the store")] = False,
    store: Annotated[bool, Field(description="also the files of rows that left the sheet")] = False,
) -> PruneOut:
    """Delete these videos at the service, each after its files were found in the store."""
    done = await delete_videos(at, campaign, videos, undelivered=undelivered, store=store)
    return PruneOut.of(campaign, done)


async def find_old_videos(
    at: At, campaign: str, *, undelivered: bool = False, store: bool = False
) -> list[OldVideo]:
    """Return the videos of a campaign that may be deleted, and those that have to stay."""
    wanted = Prune(by=at.by, undelivered=undelivered, store=store)
    return await wanted.find(at.ledger, await at.campaign(campaign), at.settings, at.clock())


async def delete_videos(
    at: At,
    campaign: str,
    videos: Collection[str],
    *,
    undelivered: bool = False,
    store: bool = False,
) -> list[OldVideo]:
    """Delete these videos (by the service's ids), as far as they may be deleted.

    Raises BadInput for a video that is not among those shown, Parked while a run has the campaign.
    """
    known = await at.campaign(campaign)
    wanted = Prune(by=at.by, undelivered=undelivered, store=store)
    shown = await wanted.find(at.ledger, known, at.settings, at.clock())
    there = {str(one.take.video_id): one for one in shown}
    if unknown := sorted(set(videos) - there.keys()):
        raise BadInput(
            f"{unknown[0]} is not a video of {campaign} that may be deleted; nothing was deleted",
            remedy="look at the list again",
        )
    async with connect(at.settings, clock=at.clock) as context:
        done = await wanted.execute(context, known, [there[one] for one in videos])
    told = PruneOut.of(campaign, done)
    act = partial(note_act, act="prune", by=at.by, campaign=campaign, rows=told.deleted)
    await at.write(act, at=at.clock(), words=say_done(told, store=store))
    return done


def main(args: Namespace) -> int:
    """List the videos, ask, delete them, and say for each what was done."""
    with sandbox_for(args):
        found = run_command(prune(args))
    if args.json:
        print_json(found.model_dump())
    return found.exit


async def prune(args: Namespace) -> PruneOut:
    """Delete what a command names, once that is confirmed; say what was done."""
    console, store = console_for(args), args.prune_store
    which = {"undelivered": args.undelivered, "store": store}
    async with reading(args) as at:
        name = (await at.campaign(args.campaign)).name
        found = await find_old_videos(at, name, **which)
        _show(name, found, console, store=store, price=at.settings.credit_price)
        if not (videos := doomed(found)):
            return PruneOut.of(name, found)
        question = say_wanted(name, videos, store=store)
        await consent(args, question, what=f"to delete videos of {name} is")
        done = await delete_videos(at, name, [str(one.take.video_id) for one in videos], **which)
    told = PruneOut.of(name, done)
    console.print(f"{count(told.deleted, 'video')} {say_done(told, store=store)}")
    for one in done:
        for words in [*([one.kept] if one.kept else []), *one.kept_files]:
            console.print(plain(f"{one.row.row}: not deleted: {words}"))
    return PruneOut.of(name, [*done, *(one for one in found if one.kept is not None)])


def _show(
    campaign: str,
    found: Sequence[OldVideo],
    console: Console,
    *,
    store: bool,
    price: CreditPrice | None,
) -> None:
    if not found:
        console.print(plain(f"{campaign}: nothing to delete"))
        return
    columns = ("row", "take", "video", "credits", "why", "what now")
    numbers = ("take", "credits")
    made = table(f"Videos of {campaign} at the service", columns, numbers=numbers)
    for one in found:
        take = one.take
        cost = in_table(take.charged, price)
        gone = "deleted before" if take.deleted_at is not None else take.video_id
        kept = "stays: " + one.kept if one.kept else "delete"
        made.add_row(*map(plain, (one.row.row, take.number, gone, cost, one.because, kept)))
    console.print(made)
    files = [file.uri for one in doomed(found) if one.left for file in one.files]
    if store and files:
        console.print("files in the store to delete, with the pictures of their videos:")
        for uri in files:
            console.print(plain(f"  {uri}"), soft_wrap=True)
