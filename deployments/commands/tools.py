"""`callsheet tools` and `schema`: what the service offers, and the JSON Schema of sheets."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import settings_for
from callsheet.deployments.direct.session import ending, show_records
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.campaign.catalog import ask_again, day_told, is_young, known_catalogue
from callsheet.tasks.campaign.comparison import example_csv, example_yaml, meant
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say, visible
from callsheet.tasks.sheet.json_schema import sheet_schema
from callsheet.tasks.values.amounts import as_number, as_text, in_credits
from callsheet.tasks.values.catalog import PARTS, Catalogue, Tool, ToolField

#: The lists besides the tools, and what their entries are likely to say of themselves.
LISTS = {
    "characters": ("id", "name", "description"),
    "templates": ("id", "name", "description"),
}


def main(args: Namespace) -> int:
    """Show the tools, one of them, or another list; ask the service where that is due."""
    console = console_for(args)
    with settings_for(args) as settings:
        catalogue = run_command(open_catalogue(settings, args.name, refresh=args.refresh))
    name = args.name
    if name in LISTS and catalogue.tool(name) is None:
        document = _show_list(name, catalogue, console)
    elif name is None:
        document = _show_tools(catalogue, console)
    else:
        document = _show_tool(_named(name, catalogue), console)
    told_at = datetime.fromtimestamp(catalogue.told_at, UTC)
    if args.json:
        about = {"told_at": f"{told_at:%Y-%m-%dT%H:%M:%SZ}", "base_url": catalogue.base_url}
        print_json({**document, **about, "exit": 0})
    return 0


async def open_catalogue(
    settings: Settings, name: str | None = None, *, refresh: bool = False
) -> Catalogue:
    """Return what the service offers (`find_catalogue`), with the ledger that the settings name."""
    prepare_ledger(settings, sandbox=settings.sandbox)
    async with await open_ledger(settings.ledger) as ledger:
        return await find_catalogue(ledger, settings, name=name, refresh=refresh)


async def find_catalogue(
    ledger: Ledger, settings: Settings, *, name: str | None = None, refresh: bool = False
) -> Catalogue:
    """Return what the service offers: from the ledger where that is young, else asked now.

    `name` is a tool that has to be in it, or one of `LISTS`; `refresh` always asks. Raises what
    keeps the service from being asked where nothing is known.
    """
    known = await known_catalogue(ledger, settings.base_url)
    wanted = name is None or name in LISTS or (known and known.tool(name))
    if known is not None and is_young(known, time.time()) and wanted and not refresh:
        return known
    async with AsyncExitStack() as stack:
        try:
            service = await open_service(settings, ledger, time.time)
        except BadInput:
            if known is None or refresh:
                raise
            return known
        await stack.enter_async_context(service)
        found, trouble = await ask_again(service, settings, ledger, known, clock=time.time)
    if trouble is not None and (found is None or found.tools is None):
        raise ending(trouble, time.time()) from trouble
    assert found is not None, "the rest is listed"
    if trouble is not None:
        say(f"{str(trouble).rstrip('.')}; this is its list of {day_told(found)}")
    elif refresh and known is not None:
        say("nothing is new" if found.body == known.body else "there is something new")
    return found


def _named(name: str, catalogue: Catalogue) -> Tool:
    tool = catalogue.tool(name)
    if tool is None:
        hint = meant(name, (*(catalogue.tools or ()), *LISTS), of="there is")
        raise BadInput(f'"{name}" is not a tool that the service lists', remedy=hint)
    return tool


def _show_tools(catalogue: Catalogue, console: Console) -> dict[str, Any]:
    tools = list((catalogue.tools or {}).values())
    priced = any(tool.credits is not None for tool in tools)
    columns = ["tool", "what it makes", "fields"] + ["credits"] * priced
    made = table("Tools", columns, numbers=("credits",))
    for tool in tools:
        about = ": ".join(filter(None, (tool.name, tool.words)))
        fields = ", ".join(f"{one.name}*" if one.required else one.name for one in _fields(tool))
        cells = [tool.id, about, fields or "not told"]
        price = "-" if tool.credits is None else as_text(tool.credits)
        made.add_row(*(plain(cell) for cell in cells + [price] * priced))
    console.print(made)
    if any(one.required for tool in tools for one in _fields(tool)):
        console.print("* the tool needs it")
    console.print(f"from {plain(catalogue.base_url)}, {day_told(catalogue)}")
    console.print("`callsheet tools NAME` shows what one takes, and a row to begin with")
    return {"tools": [tool_document(tool) for tool in tools]}


def _show_tool(tool: Tool, console: Console) -> dict[str, Any]:
    console.print(plain(": ".join(filter(None, (tool.id, tool.name, tool.words)))))
    if tool.credits is not None:
        console.print(f"{in_credits(tool.credits)}, as its list says; a plan asks for the price")
    fields = _fields(tool)
    if fields:
        limited = any(map(_limits, fields))
        made = table("Fields", ["field", "needed", "what it is"] + ["limits"] * limited)
        for one in fields:
            cells = [one.name, "yes" if one.required else "no", one.words or "-"]
            made.add_row(*(plain(cell) for cell in cells + [_limits(one) or "-"] * limited))
        console.print(made)
    else:
        console.print("the service does not list its fields")
    examples = {"csv": example_csv(tool), "yaml": example_yaml(tool)}
    for kind, text in examples.items():
        console.print(f"a sheet to begin with, as {kind.upper()}:\n")
        # As it is: a line that is broken, or read as markup, would be another sheet.
        print(visible(text), file=console.file)
    return {"tool": tool_document(tool), "example": examples}


def _show_list(name: str, catalogue: Catalogue, console: Console) -> dict[str, Any]:
    assert name in PARTS
    if name not in catalogue.body:
        raise BadInput(f"the service does not list its {name}")
    entries = catalogue.body[name]
    show_records(name.capitalize(), entries, LISTS[name], console)
    console.print(f"from {plain(catalogue.base_url)}, {day_told(catalogue)}")
    return {name: entries}


def _fields(tool: Tool) -> list[ToolField]:
    return list((tool.fields or {}).values())


def _limits(one: ToolField) -> str:
    """Return what limits a value, in words."""
    numbers = one.least, one.most
    words = [one.kind] if one.kind not in (None, "string", "text", "str") else []
    words += [f"one of {', '.join(one.allowed)}"] if one.allowed else []
    words += [f"at most {one.longest:,g} characters"] if one.longest is not None else []
    if numbers != (None, None):
        words.append(" to ".join("..." if n is None else f"{n:,g}" for n in numbers))
    return "; ".join(filter(None, words))


def tool_document(tool: Tool) -> dict[str, Any]:
    """Return a tool and its fields as JSON."""
    fields = None
    if tool.fields is not None:
        fields = [
            {
                "name": one.name,
                "required": one.required,
                "description": one.words,
                "type": one.kind,
                "allowed": list(one.allowed) or None,
                "least": one.least,
                "most": one.most,
                "longest": one.longest,
            }
            for one in _fields(tool)
        ]
    return {
        "id": tool.id,
        "name": tool.name,
        "description": tool.words,
        "credits": as_number(tool.credits),
        "fields": fields,
    }


# `callsheet schema`: the JSON Schema of YAML and JSON sheets, for editors and validators.


def schema(args: Namespace) -> int:
    """Write the schema to a file, or to stdout."""
    text = json.dumps(sheet_schema(), ensure_ascii=False, indent=1) + "\n"
    if args.output in (None, "-"):
        sys.stdout.write(text)
        return 0
    from callsheet.tasks.runtime.files import whole_file

    with whole_file(Path(args.output)) as file:
        file.write(text.encode())
    console_for(args).print(f"the schema of YAML and JSON sheets is in {plain(args.output)}")
    if args.json:
        print_json({"file": args.output, "exit": 0})
    return 0
