"""`callsheet export`: rows, takes, events or costs of a campaign, for spreadsheets and programs."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import cast

from deployments.commands.ledger import campaign_of, reading
from deployments.signals import run_command
from deployments.terminal import console_for, plain, print_json
from tasks.aftercare.export.export import Format, export, whole_file
from tasks.errors import BadInput


def main(args: Namespace) -> int:
    """Write the export to a file, or to stdout."""
    if args.json and args.output in (None, "-"):
        raise BadInput(
            "--json tells how an export went, so the export itself needs a file",
            remedy="add -o FILE, or leave --json out and use --format jsonl",
        )
    console = console_for(args)
    campaign, count, format = run_command(_export(args))
    if args.output not in (None, "-"):
        console.print(f"{count} lines ({args.what} of {plain(campaign)}) in {plain(args.output)}")
    if args.json:
        document = {"campaign": campaign, "what": args.what, "format": format, "lines": count}
        print_json({**document, "file": args.output, "exit": 0})
    return 0


async def _export(args: Namespace) -> tuple[str, int, Format]:
    format = _format(args)
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        query = partial(export, campaign=campaign, what=args.what, format=format)
        if args.output in (None, "-"):
            out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
            count = await ledger.read(partial(query, out=out))
            # Flushed and let go, not closed: stdout is not ours to close.
            out.detach()
        else:
            with whole_file(Path(args.output)) as file:
                count = await ledger.read(partial(query, out=file))
    return campaign.name, count, format


def _format(args: Namespace) -> Format:
    if args.format:
        return cast("Format", args.format)
    lines = args.output is not None and Path(args.output).suffix in (".jsonl", ".ndjson")
    return "jsonl" if lines else "csv"
