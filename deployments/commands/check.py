"""`callsheet check`: every problem of a sheet at once. Makes no requests."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.options import options_of, settings_of
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.campaign.catalog import compared_offline
from callsheet.tasks.campaign.quick_check import named_offline
from callsheet.tasks.runtime.errors import SheetError, grouped
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say, unsigned
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.sheet.column_names import keep_answer, parse_map
from callsheet.tasks.sheet.read import FoundSheet, find_sheet
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.names import object_name


def main(args: Namespace) -> int:
    """Read the sheet and say what is in it; SheetError tells what is wrong with it."""
    console = console_for(args)
    found, sheet = run_command(_check(args, settings_of(args)))
    show_sheet(sheet, console)
    if args.json:
        print_json({**_document(sheet), "columns": [one.as_json() for one in found.columns]})
    return 0


def _keep_answer(args: Namespace, found: FoundSheet) -> None:
    """Remember what a person said of the headers, for sheets in that folder that have the same."""
    if args.map and found.written and Path(args.sheet).is_file():
        file = keep_answer(Path(args.sheet), found.written, parse_map(args.map))
        say(f"remembered in {file}, for sheets with the same headers")


async def _check(args: Namespace, settings: Settings) -> tuple[FoundSheet, Sheet]:
    """Read the sheet, and compare it with what the ledger knows: its campaign, what is offered."""
    found = await find_sheet(args.sheet, options_of(args).reading(settings))
    _keep_answer(args, found)
    try:
        sheet = found.good()
    except SheetError as error:
        error = await _with_unlisted(found, error, settings)
        error.document = {"columns": [one.as_json() for one in found.columns]}
        _propose(args, found, error)
        raise error from None
    sheet = await named_offline(sheet, settings, new_campaign=args.new_campaign)
    return found, await compared_offline(sheet, settings)


async def _with_unlisted(found: FoundSheet, error: SheetError, settings: Settings) -> SheetError:
    """Return the error with what rows ask for that the service did not offer when it last told."""
    if found.sheet is None:
        return error
    try:
        await compared_offline(found.sheet, settings)
    except SheetError as more:
        problems = sorted((*error.problems, *more.problems), key=lambda one: one.line or 0)
        return SheetError(problems, notes=error.notes)
    return error


def _propose(args: Namespace, found: FoundSheet, error: SheetError) -> None:
    """Say what the unknown headers may mean, and the command that says so."""
    for one in found.columns:
        if one.doubt:
            say(f"{one.name} {one.doubt}" + (": say which one is, with --map" if one.open else ""))
    columns = found.proposals
    if not columns:
        if found.columns and not any(one.column for one in found.columns):
            named = suggest("check", unsigned(args.sheet), "--map", "NAME=COLUMN")
            error.remedy = f"say what a header of your own means, for each one:\n  {named}"
        return
    for one in found.columns:
        if column := columns.get(one.name):
            own = "" if one.proposed else ", a column that you keep for yourself"
            filled = f"{one.filled:,} of {count(found.rows, 'cell')} filled"
            say(f"{one.name} -> {column}{own} ({filled})")
    if found.first:
        say("the first row, as it would be made:")
        for what, text in found.first:
            say(f"  {what}: {text}")
    asked = frozenset(one for one in error.problems if one.value in columns and one.row is None)
    words = [word for name, column in columns.items() for word in ("--map", f"{name}={column}")]
    typed = [word for one in args.map or () for word in ("--map", one)]
    command = suggest("check", unsigned(args.sheet), *typed, *words)
    remedy = f"if these columns and the first row are right, confirm them once:\n  {command}"
    error.confirm(asked, remedy=remedy)


def show_sheet(sheet: Sheet, console: Console) -> None:
    """Say what is in a sheet that has no problems."""
    show_findings(sheet, console)
    enabled = sum(brief.enabled for brief in sheet.briefs)
    off = len(sheet.briefs) - enabled
    said = f"{plain(sheet.name)}: {count(enabled, 'row')}"
    said += f", {off:,} switched off" if off else ""
    console.print(f"{said}, no problems (campaign {sheet.campaign})")
    if first := next((brief for brief in sheet.briefs if brief.name), None):
        name = object_name(first.name, campaign=sheet.campaign, row=first.row, take=1, kind="mp4")
        console.print(f"the first video is called {plain(name)}")


def show_findings(sheet: Sheet, console: Console) -> None:
    """Say how a sheet was understood, and what could be better."""
    for note in grouped(sheet.notes):
        console.print(f"[cyan]note[/] {plain(note)}")
    for problem in grouped(sheet.advice):
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
