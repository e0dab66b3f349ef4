"""`callsheet costs`: what all campaigns cost, in credits and in money."""

from __future__ import annotations

from argparse import Namespace

from rich.console import Console

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.aftercare.costs import CostLine, Costs, costs, period_of
from callsheet.tasks.values.amounts import CreditPrice, as_text, in_credits


def main(args: Namespace) -> int:
    """Show a line for every brand, month or whatever was asked for, and the total."""
    settings = settings_of(args)
    price = settings.credit_price
    found = run_command(_read(args))
    _show(found, price, console_for(args), sandbox=args.sandbox or settings.sandbox)
    if args.json:
        print_json({**found.as_json(price), "exit": 0})
    return 0


async def _read(args: Namespace) -> Costs:
    sandbox = args.sandbox or settings_of(args).sandbox
    named = ("--since", "--until")
    wanted = period_of(args.since, args.until, sandbox=sandbox, named=named)
    async with reading(args) as ledger:
        return await ledger.read(costs, wanted=wanted, by=args.by)


def _show(found: Costs, price: CreditPrice | None, console: Console, *, sandbox: bool) -> None:
    if not found.lines:
        other = "" if sandbox else "; `--sandbox` adds up the campaigns of the sandbox"
        console.print(f"no videos were made in this time{other}")
        return
    money = [price.currency] if price else []
    columns = (found.by.replace("_", " "), "videos", "takes", "reserved", "charged", *money)
    lines = [ListedLine(_cells(line, price)) for line in found.lines]
    show_lines(console, (*columns, ""), lines, numbers=columns[1:])
    console.print(plain(f"total: {in_credits(found.total.charged, price)}"))
    if found.note:
        console.print(f"({found.note})")


def _cells(line: CostLine, price: CreditPrice | None) -> tuple[str, ...]:
    amounts = (as_text(line.reserved), as_text(line.charged))
    money = (f"{price.of(line.charged):,f}",) if price else ()
    return (line.name or "-", f"{line.videos:,}", f"{line.takes:,}", *amounts, *money)
