"""`callsheet verify`: is every video and every caption file still in the store, and intact?"""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.findings import Finding, Repairs
from callsheet.tasks.aftercare.repairs import plan_repairs, repair
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count

#: Files no one delivered that are named to people; `--json` names them all.
SHOWN = 20
#: So many files with the same fault have a line each; of more, all or unreadable, there is one.
FEW = 2


def main(args: Namespace) -> int:
    """Look at every delivery, and with `--repair` bring back what is missing; pays nothing."""
    with sandbox_for(args):
        found = run_command(_verify(args))
    _show(found, console_for(args))
    if args.json:
        print_json(found.as_files(quick=args.quick))
    return found.exit_status


async def _verify(args: Namespace) -> Repairs:
    settings = settings_of(args)
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign)
        which = RowFilter.parse(args.select)
        await at.read(check_chosen, campaign=campaign, which=which)
        plan = partial(plan_repairs, at.ledger, settings, campaign, files=True)
        found = await plan(select=args.select, quick=args.quick)
    if args.repair and found.findings:
        async with connect(settings) as at:
            return await repair(found, at)
    return found


def _show(found: Repairs, console: Console) -> None:
    assert found.campaign is not None
    name, problems = found.campaign.name, found.problems
    if problems:
        made = table(f"Deliveries of {name}", ("row", "take", "file", "is", "what now"))
        for cells in _lines(problems, found.files):
            made.add_row(*(plain(cell) for cell in cells))
        console.print(made)
    counts = found.counts()
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n and verdict != "total")
    files = count(counts["total"], "file")
    console.print(f"{plain(name)}: {files}; {words or 'none delivered'}")
    missing, renewed = found.pictures
    if missing or renewed:
        lacking = count(missing, "video")
        console.print(f"pictures: {renewed} made anew; {lacking} without, which `--repair` makes")
    if found.extra:
        console.print(f"{len(found.extra)} more files in the campaign's folder, not touched:")
        for file in found.extra[:SHOWN]:
            console.print(f"  {plain(_short(file.uri))} ({file.bytes} bytes)")
    if found.exit_status == 3:
        again = suggest("verify", name, "--repair", *service_of(found.campaign))
        console.print(
            f"`{plain(again)}` fetches again, free, what the service still has"
            if not any(one.left or one.done for one in problems)
            else "what is left needs your attention: see above"
        )


def _lines(problems: Sequence[Finding], files: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each problem, or one for a fault that many files share: of their store."""
    shared: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for one in problems:
        shared[one.verdict, _what_now(one)].append(one)
    for (verdict, words), these in shared.items():
        if len(these) > FEW and (verdict == "unknown" or len(these) == files):
            yield "", "", count(len(these), "file"), verdict, words
        else:
            yield from map(_cells, these)


def _cells(one: Finding) -> tuple[str, ...]:
    row, take = one.attempt
    where = _short(one.file.uri) if one.file else one.kind
    return row.row, str(take.number), where, one.verdict, _what_now(one)


def _what_now(one: Finding) -> str:
    return one.done or one.left or one.words


def _short(uri: str) -> str:
    return uri.removeprefix(f"{Path.cwd()}/")
