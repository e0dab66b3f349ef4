"""`callsheet export`: rows, takes, events or costs of a campaign, for spreadsheets and programs."""

from __future__ import annotations

import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.aftercare.export import BINARY, Format, export, format_of, whole_file
from callsheet.tasks.errors import BadInput
from callsheet.tasks.plural import count


def main(args: Namespace) -> int:
    """Write the export to a file, or to stdout."""
    if args.json and args.output in (None, "-"):
        raise BadInput(
            "--json tells how an export went, so the export itself needs a file",
            remedy="add -o FILE, or leave --json out and use --format jsonl",
        )
    if args.format in BINARY and args.output in (None, "-"):
        raise BadInput(f"{args.format} is no text for a screen", remedy="add -o FILE")
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
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        query = partial(export, campaign=campaign, what=args.what, format=format)
        if args.output in (None, "-"):
            lines = await ledger.read(partial(query, out=sys.stdout.buffer))
            sys.stdout.buffer.flush()
        else:
            with whole_file(Path(args.output)) as file:
                lines = await ledger.read(partial(query, out=file))
    return campaign.name, lines, format
