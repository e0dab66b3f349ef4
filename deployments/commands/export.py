"""`callsheet export` and `contact-sheet`: a campaign as files to send."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.aftercare.archive import VideosZip, rows_to_take
from callsheet.tasks.aftercare.contact_sheet import SheetVideo, as_html, videos_on_sheet
from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.export import (
    BINARY,
    Format,
    export,
    format_of,
    link_maker,
)
from callsheet.tasks.aftercare.pictures import Pictures
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import check_not_sheet, whole_file
from callsheet.tasks.runtime.redact import say
from callsheet.tasks.runtime.suggest import again_with, suggest
from callsheet.tasks.store import open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.values.amounts import count, say_bytes


def main(args: Namespace) -> int:
    """Write the export to a file, or to stdout."""
    if args.zip:
        return _zip(args)
    if args.select is not None or args.kept:
        raise BadInput("--select and --kept are for --zip", remedy=again_with("--zip", "FILE.zip"))
    if args.json and args.output in (None, "-"):
        raise BadInput(
            "--json tells how an export went, so the export itself needs a file",
            remedy=again_with("-o", "FILE"),
        )
    if args.format in BINARY and args.output in (None, "-"):
        raise BadInput(f"{args.format} is no text for a screen", remedy=again_with("-o", "FILE"))
    console = console_for(args)
    campaign, lines, format = run_command(_export(args))
    if args.output not in (None, "-"):
        what = f"{args.what} of {plain(campaign)}"
        console.print(f"{count(lines, 'line')} ({what}) in {plain(args.output)}")
    if args.json:
        document = {"campaign": campaign, "what": args.what, "format": format, "lines": lines}
        print_json({**document, "file": args.output, "exit": 0})
    return 0


async def _export(args: Namespace) -> tuple[str, int, Format]:
    format = args.format or format_of(args.output)
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign)
        query = partial(export, campaign=campaign, what=args.what, format=format)
        query = partial(query, link=link_maker(args.what, at.settings))
        if args.output in (None, "-"):
            lines = await at.read(query, out=sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            check_not_sheet(args.output, campaign.sheet)
            with whole_file(Path(args.output)) as file:
                lines = await at.read(query, out=file)
    return campaign.name, lines, format


# `callsheet export --zip`: the videos themselves, with captions and status sheet.


def _zip(args: Namespace) -> int:
    """Write the ZIP; exit status 3 where files are missing in it."""
    if args.output or args.format:
        raise BadInput("--zip names the file of the videos", remedy="leave out -o and the format")
    if args.zip == "-" and (args.json or sys.stdout.isatty()):
        raise BadInput("a ZIP is no text for a screen", remedy=again_with("--zip", "FILE.zip"))
    made = run_command(_write_zip(args))
    name, missing = made.campaign.name, len(made.missing)
    place = "stdout" if args.zip == "-" else args.zip
    say(f"{count(made.videos, 'video')} of {name} in {place} ({say_bytes(made.size)})")
    if missing:
        remedy = suggest("verify", name, "--repair", *service_of(made.campaign))
        say(f"{count(missing, 'file is', 'files are')} missing: {', '.join(made.missing[:5])}")
        say(f"status.csv in the ZIP says why; `{remedy}` fetches them again, free")
    if args.json:
        document = {"campaign": name, "what": "videos", "file": args.zip, "videos": made.videos}
        exit = 3 if missing else 0
        print_json({**document, "bytes": made.size, "missing": made.missing, "exit": exit})
    return 3 if missing else 0


async def _write_zip(args: Namespace) -> VideosZip:
    settings = settings_of(args)
    which = RowFilter.parse(args.select) & RowFilter.of(review="keep" if args.kept else None)
    async with reading(args) as at, Places() as places:
        campaign = await at.campaign(args.campaign)
        await at.read(check_chosen, campaign=campaign, which=which)
        made = VideosZip(
            ledger=at.ledger,
            campaign=campaign,
            rows=await at.read(rows_to_take, campaign=campaign, which=which),
            places=places,
            spool=settings.spool,
            store=open_store(settings.store).address,
            at=time.time(),
        )
        to_file = whole_file(Path(args.zip)) if args.zip != "-" else nullcontext(sys.stdout.buffer)
        with to_file as out:
            async with aclosing(made.chunks()) as chunks:
                async for chunk in chunks:
                    out.write(chunk)
            out.flush()
        return made


# `callsheet contact-sheet`: a campaign's videos on one page, to be sent to someone.


def contact_sheet(args: Namespace) -> int:
    """Write the sheet; contacts no service, and the store only where videos are in a bucket."""
    if Path(args.output).suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"{args.output} is not a web page", remedy=again_with("-o", "FILE.html"))
    campaign, videos = run_command(_videos(args))
    if not videos:
        raise BadInput(
            f"{campaign} has no videos to show", remedy=f"`{suggest('rows', campaign)}` says why"
        )
    data = as_html(campaign, videos, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    with whole_file(Path(args.output)) as out:
        out.write(data)
    words = f"{count(len(videos), 'video')} of {campaign} in {args.output} ({len(data)} bytes)"
    console_for(args).print(plain(words))
    if args.json:
        document = {"campaign": campaign, "videos": len(videos), "bytes": len(data)}
        print_json({**document, "file": args.output, "exit": 0})
    return 0


async def _videos(args: Namespace) -> tuple[str, list[SheetVideo]]:
    settings = settings_of(args)
    async with reading(args) as at, Places() as places:
        campaign = await at.campaign(args.campaign)
        folder = settings.home / "board" / "pictures"
        pictures = Pictures(places, spool=settings.spool, folder=folder)
        return campaign.name, await videos_on_sheet(at.ledger, campaign, pictures, args.select)
