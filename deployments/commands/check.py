"""`callsheet check`: every problem of a sheet at once. Contacts nobody."""

from __future__ import annotations

from argparse import Namespace

from rich.console import Console

from callsheet.deployments.commands.options import options_of, settings_of
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.campaign.catalog import compared_offline
from callsheet.tasks.campaign.quick_check import named_offline
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.sheet import Sheet, read_sheet
from callsheet.tasks.values.amounts import count


def main(args: Namespace) -> int:
    """Read the sheet and say what is in it; SheetError tells what is wrong with it."""
    console = console_for(args)
    sheet = run_command(_check(args, settings_of(args)))
    show_sheet(sheet, console)
    if args.json:
        print_json(_document(sheet))
    return 0


async def _check(args: Namespace, settings: Settings) -> Sheet:
    """Read the sheet, and compare it with what the ledger knows: its campaign, what is offered."""
    sheet = await read_sheet(args.sheet, options_of(args).reading(settings))
    sheet = await named_offline(sheet, settings, new_campaign=args.new_campaign)
    return await compared_offline(sheet, settings)


def show_sheet(sheet: Sheet, console: Console) -> None:
    """Say what is in a sheet that has no problems."""
    show_findings(sheet, console)
    enabled = sum(brief.enabled for brief in sheet.briefs)
    off = len(sheet.briefs) - enabled
    said = f"{plain(sheet.name)}: {count(enabled, 'row')}"
    said += f", {off:,} switched off" if off else ""
    console.print(f"{said}, no problems (campaign {sheet.campaign})")


def show_findings(sheet: Sheet, console: Console) -> None:
    """Say how a sheet was understood, and what could be better."""
    for note in sheet.notes:
        console.print(f"[cyan]note[/] {plain(note)}")
    for problem in sheet.advice:
        console.print(f"[yellow]advice[/] {plain(problem)}")


def _document(sheet: Sheet) -> dict[str, object]:
    return {
        "campaign": sheet.campaign,
        "sheet": {"address": sheet.address, "sha256": sheet.digest},
        "rows": len(sheet.briefs),
        "problems": [],
        "advice": [str(problem) for problem in sheet.advice],
        "notes": [str(note) for note in sheet.notes],
        "exit": 0,
    }
