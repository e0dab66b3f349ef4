"""Tables of a plan and of a campaign's rows for the terminal.

What is the same in every row is said once above the table, so that it fits into 80 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.terminal import COLOURS, plain, table
from callsheet.tasks.campaign.report import sums_of, warnings_of, why_of
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.row_views import ShownRow, rows_by_id
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import CreditPrice, as_text, count, with_money
from callsheet.tasks.values.briefs import CREATE

if TYPE_CHECKING:
    # Anyone who shows rows need not pay for what a run is made of.
    from callsheet.tasks.aftercare.findings import Repairs
    from callsheet.tasks.campaign.run import Run

#: Rows of a plan that are shown one by one; the rest is counted.
SHOWN = 40
#: Terminals from this width on have room for the titles of videos.
WIDE = 120
#: Characters of a brand or of tags.
LABEL = 12
#: What a row leaves to the service.
AUTO = "auto"


def show_plan(plan: Plan, console: Console, *, whole: bool = False) -> None:
    """Show who is needed, a line for every row that is touched, and what it all comes to.

    `whole`: every row, however many there are.
    """
    person = sum(line.action == "person" for line in plan.lines)
    if person:
        console.print(f"[yellow]{plain(_people(person, plan))}[/]")
    touched = [
        line for line in plan.lines if line.action != "none" or line.switched_off or line.was
    ]
    if touched:
        _show_table(plan, touched, console, len(touched) if whole else SHOWN)
    for words in warnings_of(plan):
        console.print(f"[yellow]warning[/] {plain(words)}")
    for words in sums_of(plan):
        console.print(plain(words))


def show_drift(found: Repairs, console: Console, price: CreditPrice | None = None) -> None:
    """Show what changed outside since delivery, and what you can do about it."""
    drift = found.drift
    if not drift:
        console.print("nothing changed outside since delivery")
        return
    made = table("Changed outside since delivery", _DRIFT, numbers=("credits",))
    for one in drift[:SHOWN]:
        done = one.done or one.remedy or "nothing to do"
        cost = "-" if one.remedy is None else with_money(as_text(one.cost), one.cost, price)
        made.add_row(*map(plain, (one.owner[1] or "-", one.where, one.words, done, cost)))
    console.print(made)
    if len(drift) > SHOWN:
        console.print(f"... and {len(drift) - SHOWN:,} more (--json lists all)")


_DRIFT = ("row", "where", "what", "what to do", "credits")


def _people(person: int, plan: Plan) -> str:
    words = count(person, "row needs attention", "rows need attention")
    told = [line for line in plan.lines if line.action == "person" and not line.on_hold]
    if all(line.state in (None, "planned") for line in told):
        return f"{words} first: see why below"
    return f"{words} first: see why below, or `{suggest('explain', plan.campaign, 'ROW')}`"


def _show_table(plan: Plan, touched: Sequence[PlanLine], console: Console, most: int) -> None:
    columns = {name: [show(line) for line in touched] for name, show in _COLUMNS.items()}
    if plan.credit_price is not None:
        columns[plan.credit_price.currency] = [_money(line, plan.credit_price) for line in touched]
    columns["video"] = [line.title for line in touched]
    why = [why_of(line) for line in touched]
    same = {name: cells[0] for name, cells in columns.items() if _is_said_once(name, cells)}
    narrow = console.is_terminal and console.width < WIDE
    if narrow:
        del columns["video"]
    for name in _without_labels(columns, narrow=narrow):
        columns.pop(name)
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
    numbers = ("length", "credits", (plan.credit_price and plan.credit_price.currency) or "")
    show_lines(console, (*kept, last), lines[:most], numbers=numbers)
    if len(touched) > most:
        rest = count(len(touched) - most, "more row", "more rows")
        console.print(f"... and {rest} (`callsheet plan SHEET --all` shows every row)")
    if any(AUTO in cells for name, cells in columns.items() if name not in same):
        console.print(f"({AUTO}: not set in the row, the service decides)")
    console.print()


def _without_labels(columns: Mapping[str, Sequence[str]], *, narrow: bool) -> list[str]:
    """Return the columns for people that have nothing, or no room next to another one."""
    filled = [name for name in _LABELS if set(columns[name]) != {"-"}]
    return [name for name in _LABELS if name not in (filled[:1] if narrow else filled)]


def _is_said_once(name: str, cells: Sequence[str]) -> bool:
    return name in _SAID_ONCE and len(cells) > 1 and len(set(cells)) == 1 and cells[0] != "-"


def _same(name: str, cell: str) -> str:
    if cell == AUTO:
        return f"{name}: the service's choice"
    return cell if name == "what" else f"{name} {cell}"


def _what(line: PlanLine) -> str:
    return "on hold" if line.on_hold else "off" if line.switched_off else line.action


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
    if line.above_limit:
        return f"{as_text(line.priced)} (max {as_text(line.max_credits)})"
    return as_text(line.priced) if line.spends or line.action == "adopt" else "-"


def _money(line: PlanLine, price: CreditPrice) -> str:
    return f"{price.of(line.priced):,f}" if line.spends and line.priced is not None else "-"


_COLUMNS: dict[str, Callable[[PlanLine], str]] = {
    "row": lambda line: line.row,
    "what": _what,
    "by": _made_by,
    "length": _length,
    "ratio": lambda line: _chosen(line.ratio, line),
    "lang": lambda line: _chosen(line.language, line),
    "brand": lambda line: shorten(line.brand or "-", LABEL),
    "tags": lambda line: shorten(", ".join(line.tags) or "-", LABEL),
    "credits": _credits,
}
_LABELS = ("brand", "tags")
_SAID_ONCE = ("what", "by", "length", "ratio", "lang", "brand", "tags")


# The one table of a campaign's rows: how each stands, what it has cost, where its video is.


COLUMNS = ("row", "state", "credits", "seconds", "video, or why there is none")
#: Rows that are shown at the end of a run; the others are counted.
ROWS_SHOWN = 30


def show_rows(
    title: str,
    rows: Sequence[ShownRow],
    console: Console,
    *,
    more: int = 0,
    rest: str = "",
) -> None:
    """Show a line for every row; `more` rows are not among them, and `rest` says where they are."""
    lines = [_line(row) for row in rows]
    folder = _shared_folder(lines, console)
    lines = [_below(folder, line) for line in lines]
    console.print(Text(title, style="italic"))
    show_lines(console, COLUMNS, lines, numbers=("credits", "seconds"))
    if any("(" in line.cells[2] for line in lines):
        console.print("(in brackets: reserved, not charged)")
    if folder:
        console.print(Text(f"videos are in {folder}"), soft_wrap=True)
    if more:
        console.print(f"... and {count(more, 'more row', 'more rows')}: {rest}")
    console.print()


async def show_urgent_rows(run: Run, console: Console) -> None:
    """Show the rows that matter most at the end of a run, and say where the rest are."""
    assert run.campaign is not None
    campaign = run.campaign
    rows, count = await run.urgent(ROWS_SHOWN)
    numbers = [row.id for row in rows]
    shown = await run.at.ledger.read(rows_by_id, campaign_id=campaign.id, numbers=numbers)
    rest, more = f"`{suggest('rows', campaign.name)}` shows all", count - len(rows)
    show_rows(campaign.name, [shown[one] for one in numbers], console, more=more, rest=rest)


def _shared_folder(lines: Sequence[ListedLine], console: Console) -> str:
    """Return the folder of all videos, with its slash, where their paths are too long to show."""
    paths = [line.path for line in lines if line.path is not None]
    if not console.is_terminal or max(map(cell_len, paths), default=0) <= console.width - 4:
        return ""
    # Cut back to a slash; `commonpath` would make one of the two in s3:// .
    return commonprefix(paths).rpartition("/")[0] + "/" if len(paths) > 1 else ""  # noqa: RUF071


def _below(folder: str, line: ListedLine) -> ListedLine:
    if not folder or line.path is None:
        return line
    return replace(line, path=line.path.removeprefix(folder), folder=folder)


def _line(row: ShownRow) -> ListedLine:
    file = row.files.get("mp4")
    # Below the current folder, as people would type it.
    video = file.uri.removeprefix(f"{Path.cwd()}/") if file else None
    words = row.reason or ""
    if row.state == "delivered" and video:
        words = ""
    elif video:
        words = "; ".join(filter(None, (words, f"the video of take {row.video_take} stays")))
    colour = COLOURS.get(row.state)
    return ListedLine(
        (row.row, row.state, _row_credits(row), _seconds(row)),
        words or ("" if video else "-"),
        video,
        ((1, colour),) if colour else (),
    )


def _row_credits(row: ShownRow) -> str:
    """Return what the row has cost over all its takes, and what is set aside for it."""
    parts = [] if row.charged is None else [as_text(row.charged)]
    parts += [f"({as_text(row.figures.reserved)})"] if row.reserved_micro else []
    return " ".join(parts) or "-"


def _seconds(row: ShownRow) -> str:
    """Return how long the present take took, from intent to delivery."""
    if row.take != row.video_take or row.sent_at is None or row.delivered_at is None:
        return "-"
    return f"{row.delivered_at - row.sent_at:.1f}"
