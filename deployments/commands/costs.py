"""`callsheet costs`: what all campaigns cost, in credits and in money."""

from __future__ import annotations

from argparse import Namespace

from rich.console import Console

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.aftercare.costs import CostsLine, CostsOut, costs, period_of
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import CreditPrice, as_text, in_credits


def main(args: Namespace) -> int:
    """Show a line for every brand, month or whatever was asked for, and the total."""
    settings = settings_of(args)
    sandbox = args.sandbox or settings.sandbox
    found = run_command(_read(args, settings, sandbox=sandbox))
    _show(found, settings.credit_price, console_for(args), sandbox=sandbox)
    if args.json:
        print_json({**found.model_dump(exclude_unset=True), "exit": 0})
    return 0


async def _read(args: Namespace, settings: Settings, *, sandbox: bool) -> CostsOut:
    named = ("--since", "--until")
    wanted = period_of(args.since, args.until, sandbox=sandbox, named=named)
    async with reading(args) as ledger:
        return await ledger.read(costs, wanted=wanted, by=args.by, price=settings.credit_price)


def _show(found: CostsOut, price: CreditPrice | None, console: Console, *, sandbox: bool) -> None:
    if not found.costs:
        other = "" if sandbox else "; `--sandbox` adds up the campaigns of the sandbox"
        console.print(f"no videos were made in this time{other}")
        return
    money = [price.currency] if price else []
    columns = (found.by.replace("_", " "), "videos", "takes", "reserved", "charged", *money)
    lines = [ListedLine(_cells(line)) for line in found.costs]
    show_lines(console, (*columns, ""), lines, numbers=columns[1:])
    console.print(plain(f"total: {in_credits(found.total.charged, price)}"))
    if found.note:
        console.print(f"({found.note})")


def _cells(line: CostsLine) -> tuple[str, ...]:
    amounts = (as_text(line.reserved), as_text(line.charged))
    money = () if line.money is None else (f"{line.money:,f}",)
    return (line.name or "-", f"{line.videos:,}", f"{line.takes:,}", *amounts, *money)
