"""`callsheet costs`: what all campaigns cost, in credits and in money."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from callsheet.deployments.at import At
from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import plain, tell
from callsheet.tasks.aftercare.costs import (
    By,
    CostsLine,
    CostsOut,
    costs,
    period_of,
    write_costs,
)
from callsheet.tasks.aftercare.export import format_of
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import whole_file
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.values.amounts import CreditPrice, as_text, count, in_credits

Day = Annotated[str | None, Field(description="a day or month (UTC), such as 2026-11")]


async def get_costs(at: At, by: By = "month", since: Day = None, until: Day = None) -> CostsOut:
    """Add up what campaigns cost, a line for each name."""
    wanted = period_of(since, until, sandbox=at.sandbox)
    return await at.read(costs, wanted=wanted, by=by, price=at.settings.credit_price)


def main(args: Namespace) -> int:
    """Show a line for every brand, month or column that was asked for, and the total."""
    if args.json and args.output == "-":
        raise BadInput(
            "--json and -o - would both write to stdout", remedy=again_with("-o", "FILE")
        )
    sandbox = args.sandbox or settings_of(args).sandbox
    found, price = run_command(_read(args, sandbox=sandbox))
    if args.output:
        return _write(args, found)
    return tell(args, found, partial(_show, price=price, sandbox=sandbox))


def _write(args: Namespace, found: CostsOut) -> int:
    """Write the lines to a file, or to stdout."""
    if args.output == "-":
        write_costs(found, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return 0
    with whole_file(Path(args.output)) as file:
        lines = write_costs(found, file, format_of(args.output))
    words = plain(f"{count(lines, 'line')} in {args.output}")
    return tell(args, found, lambda _, console: console.print(words))


async def _read(args: Namespace, *, sandbox: bool) -> tuple[CostsOut, CreditPrice | None]:
    async with reading(args) as at:
        asked = replace(at, sandbox=sandbox)
        found = await get_costs(asked, args.by, args.since, args.until)
        return found, at.settings.credit_price


def _show(found: CostsOut, console: Console, *, price: CreditPrice | None, sandbox: bool) -> None:
    if not found.costs:
        other = "" if sandbox else "; `--sandbox` adds up the campaigns of the sandbox"
        console.print(f"no videos were made in this time{other}")
        return
    money = [price.currency] if price else []
    by = "cost center" if found.by == "cost_center" else found.by
    columns = (by, "videos", "takes", "reserved", "charged", *money)
    lines = [ListedLine(_cells(line)) for line in found.costs]
    show_lines(console, (*columns, ""), lines, numbers=columns[1:])
    console.print(plain(f"total: {in_credits(found.total.charged, price)}"))
    if found.note:
        console.print(f"({found.note})")


def _cells(line: CostsLine) -> tuple[str, ...]:
    amounts = (as_text(line.reserved), as_text(line.charged))
    money = () if line.money is None else (f"{line.money:,f}",)
    return (line.name or "-", f"{line.videos:,}", f"{line.takes:,}", *amounts, *money)
