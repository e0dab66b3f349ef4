"""`callsheet verify`: is every video and every caption file still in the store, and intact?"""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.options import sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_of, check_select, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.aftercare.repair import repair, repair_pictures
from callsheet.tasks.aftercare.verify import Audit, AuditedFile, audit_document, verify
from callsheet.tasks.campaign.selection import parse_selection
from callsheet.tasks.engine.context import connect
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.store import open_store
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.values.amounts import count

#: Files no one delivered that are named to people; `--json` names them all.
SHOWN = 20
#: So many files with the same fault have a line each; of more, all or unreadable, there is one.
FEW = 2


def main(args: Namespace) -> int:
    """Look at every delivery, and with `--repair` bring back what is missing; pays nothing."""
    with sandbox_for(args):
        audit = run_command(_verify(args))
    _show(audit, console_for(args))
    if args.json:
        print_json(audit_document(audit, quick=args.quick))
    return audit.exit_status


async def _verify(args: Namespace) -> Audit:
    settings, chosen = settings_of(args), parse_selection(args.select)
    async with reading(args) as ledger, Places() as places:
        campaign = await campaign_of(ledger, args.campaign)
        await check_select(args, ledger, campaign)
        audit = await verify(
            ledger,
            campaign,
            places,
            chosen=chosen,
            store=open_store(settings.store).address,
            spool=settings.spool,
            at_once=settings.at_once,
            quick=args.quick,
            pictures=settings.pictures,
        )
    if args.repair and (audit.bare or not all(one.sound for one in audit.files)):
        async with connect(settings) as at, Places() as places:
            return await repair_pictures(await repair(audit, at, places), at, places)
    return audit


def _show(audit: Audit, console: Console) -> None:
    problems = [one for one in audit.files if one.verdict != "intact"]
    if problems:
        made = table(f"Deliveries of {audit.campaign}", ("row", "take", "file", "is", "what now"))
        for cells in _lines(problems, len(audit.files)):
            made.add_row(*(plain(cell) for cell in cells))
        console.print(made)
    counts = audit.counts()
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n and verdict != "total")
    files = count(counts["total"], "file")
    console.print(f"{plain(audit.campaign)}: {files}; {words or 'none delivered'}")
    if audit.bare:
        renewed = sum(one.made for one in audit.bare)
        lacking = count(len(audit.bare) - renewed, "video")
        console.print(f"pictures: {renewed} made anew; {lacking} without, which `--repair` makes")
    if audit.extra:
        console.print(f"{len(audit.extra)} more files in the campaign's folder, not touched:")
        for file in audit.extra[:SHOWN]:
            console.print(f"  {plain(_short(file.uri))} ({file.bytes} bytes)")
    if audit.exit_status == 3:
        repair = suggest("verify", audit.campaign, "--repair")
        console.print(
            f"`{repair}` fetches again, free, what the service still has"
            if not any(one.left or one.repaired for one in audit.files)
            else "what is left needs your attention: see above"
        )


def _lines(problems: Sequence[AuditedFile], files: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each problem, or one for a fault that many files share: of their store."""
    shared: dict[tuple[str, str], list[AuditedFile]] = defaultdict(list)
    for one in problems:
        shared[one.verdict, _what_now(one)].append(one)
    for (verdict, words), these in shared.items():
        if len(these) > FEW and (verdict == "unknown" or len(these) == files):
            yield "", "", count(len(these), "file"), verdict, words
        else:
            yield from map(_cells, these)


def _cells(one: AuditedFile) -> tuple[str, ...]:
    where = _short(one.file.uri) if one.file else one.kind
    return one.row.row, str(one.take.number), where, one.verdict, _what_now(one)


def _what_now(one: AuditedFile) -> str:
    return one.repaired or one.left or one.words


def _short(uri: str) -> str:
    return uri.removeprefix(f"{Path.cwd()}/")
