"""A plan for people: who is needed, what would be made of each row and for how much, and the sums.

What is the same in every row is said once above the table, so that it fits into 80 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.terminal import plain
from callsheet.tasks.brief import CREATE
from callsheet.tasks.campaign.plan_words import sums_of, warnings_of, why_of
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.credits import as_text
from callsheet.tasks.plural import count
from callsheet.tasks.suggest import suggest

#: Rows of a plan that are shown one by one; the rest is counted.
SHOWN = 40
#: Terminals from this width on have room for the titles of videos.
WIDE = 120
#: What a row leaves to the service.
AUTO = "auto"


def show_plan(plan: Plan, console: Console) -> None:
    """Show who is needed, a line for every row that is touched, and what it all comes to."""
    person = sum(line.action == "person" for line in plan.lines)
    if person:
        console.print(f"[yellow]{plain(_people(person, plan))}[/]")
    touched = [line for line in plan.lines if line.action != "nothing"]
    if touched:
        _show_table(plan, touched, console)
    for words in warnings_of(plan):
        console.print(f"[yellow]warning[/] {plain(words)}")
    for words in sums_of(plan):
        console.print(plain(words))


def _people(person: int, plan: Plan) -> str:
    words = count(person, "row needs attention", "rows need attention")
    told = [line for line in plan.lines if line.action == "person" and not line.on_hold]
    if all(line.state in (None, "planned") for line in told):
        return f"{words} first: see why below"
    return f"{words} first: see why below, or `{suggest('explain', plan.campaign, 'ROW')}`"


def _show_table(plan: Plan, touched: Sequence[PlanLine], console: Console) -> None:
    columns = {name: [show(line) for line in touched] for name, show in _COLUMNS.items()}
    why = [why_of(line) for line in touched]
    same = {name: cells[0] for name, cells in columns.items() if _is_said_once(name, cells)}
    if console.is_terminal and console.width < WIDE:
        del columns["video"]
    kept = [name for name in columns if name not in same]
    lines = [
        ListedLine(cells, words)
        for cells, words in zip(zip(*(columns[n] for n in kept), strict=True), why, strict=True)
    ]
    console.print(Text(f"Plan for {plan.campaign}", style="italic"))
    if same:
        named = ", ".join(_same(name, cell) for name, cell in same.items())
        console.print(plain(f"all {count(len(touched), 'row')}: {named}"))
    last = "why" if any(why) else ""
    show_lines(console, (*kept, last), lines[:SHOWN], numbers=("length", "credits"))
    if len(touched) > SHOWN:
        rest = count(len(touched) - SHOWN, "more row", "more rows")
        console.print(f"... and {rest} (--json lists all)")
    if any(AUTO in cells for name, cells in columns.items() if name not in same):
        console.print(f"({AUTO}: not set in the row, the service decides)")
    console.print()


def _is_said_once(name: str, cells: Sequence[str]) -> bool:
    return name in _SAID_ONCE and len(cells) > 1 and len(set(cells)) == 1 and cells[0] != "-"


def _same(name: str, cell: str) -> str:
    if cell == AUTO:
        return f"{name}: the service's choice"
    return cell if name == "what" else f"{name} {cell}"


def _what(line: PlanLine) -> str:
    return "on hold" if line.on_hold else line.action


def _made_by(line: PlanLine) -> str:
    if line.operation != CREATE:
        return line.operation
    return line.tool or "script"


def _length(line: PlanLine) -> str:
    if line.length is not None:
        return f"{line.length} s"
    return AUTO if line.spends and line.leaves_length else "-"


def _chosen(value: str | None, line: PlanLine) -> str:
    return value or (AUTO if line.spends and line.operation == CREATE else "-")


def _credits(line: PlanLine) -> str:
    return as_text(line.priced) if line.spends else "-"


_COLUMNS: dict[str, Callable[[PlanLine], str]] = {
    "row": lambda line: line.row,
    "what": _what,
    "by": _made_by,
    "length": _length,
    "ratio": lambda line: _chosen(line.ratio, line),
    "lang": lambda line: _chosen(line.language, line),
    "credits": _credits,
    "video": lambda line: line.title,
}
_SAID_ONCE = ("what", "by", "length", "ratio", "lang")
