"""A plan for people: who is needed, what would be made of each row and for how much, and the sums.

What is the same in every row is said once above the table, so that it fits into 80 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from rich.console import Console
from rich.text import Text

from deployments.listing import ListedLine, show_lines
from deployments.terminal import plain
from tasks.brief import CREATE
from tasks.campaign.values import Plan, PlanLine
from tasks.credits import as_text, in_credits
from tasks.ledger import ACTIONS
from tasks.plural import count
from tasks.suggest import suggest

#: Rows of a plan that are shown one by one; the rest is counted.
SHOWN = 40
#: Terminals from this width on have room for the titles of films.
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


def warnings_of(plan: Plan) -> list[str]:
    """Return what a person may not have meant, a sentence each."""
    found = [
        f"{count(len(one.costs), 'of these rows is', 'of these rows are')} campaign "
        f"{one.campaign}'s, already paid for there ({in_credits(one.credits)}): a run makes "
        f"{'it' if len(one.costs) == 1 else 'them'} again"
        for one in plan.elsewhere
    ]
    if plan.needs_word:
        gone = len(plan.retiring)
        found.append(
            f"{gone:,} of the campaign's {count(plan.live, 'row')} {'is' if gone == 1 else 'are'} "
            "not in the sheet any more: is it whole? A run asks, and without a terminal takes "
            "--retire or a saved plan"
        )
    return found


def sums_of(plan: Plan) -> list[str]:
    """Return what a plan comes to, a sentence each: films, lengths, account and budget."""
    words = [_films(plan), _lengths(plan), _account(plan), _budget(plan)]
    return [one for one in words if one]


def _people(person: int, plan: Plan) -> str:
    words = count(person, "row needs a person", "rows need a person")
    if all(line.state in (None, "planned") for line in plan.lines if line.action == "person"):
        return f"{words} first: see why below"
    return f"{words} first: see why below, or `{suggest('explain', plan.campaign, 'ROW')}`"


def _show_table(plan: Plan, touched: Sequence[PlanLine], console: Console) -> None:
    columns = {name: [show(line) for line in touched] for name, show in _COLUMNS.items()}
    why = [_why(line) for line in touched]
    same = {name: cells[0] for name, cells in columns.items() if _is_said_once(name, cells)}
    if console.is_terminal and console.width < WIDE:
        del columns["film"]
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
        console.print(f"... and {rest} (all of them with --json)")
    if any(AUTO in cells for name, cells in columns.items() if name not in same):
        console.print(f"({AUTO}: the row does not say, the service decides)")
    console.print()


def _is_said_once(name: str, cells: Sequence[str]) -> bool:
    return name in _SAID_ONCE and len(cells) > 1 and len(set(cells)) == 1 and cells[0] != "-"


def _same(name: str, cell: str) -> str:
    if cell == AUTO:
        return f"{name}: the service's choice"
    return cell if name == "what" else f"{name} {cell}"


def _what(line: PlanLine) -> str:
    return line.action


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


def _why(line: PlanLine) -> str:
    """Explain what is not plain from the word itself, and what was paid for the row before."""
    words = line.why or ("" if line.action == "make" else ACTIONS[line.action])
    before = f"{in_credits(line.charged)} paid before" if line.spends and line.charged else ""
    return "; ".join(filter(None, (words, before)))


_COLUMNS: dict[str, Callable[[PlanLine], str]] = {
    "row": lambda line: line.row,
    "what": _what,
    "by": _made_by,
    "length": _length,
    "ratio": lambda line: _chosen(line.ratio, line),
    "lang": lambda line: _chosen(line.language, line),
    "credits": _credits,
    "film": lambda line: line.title,
}
_SAID_ONCE = ("what", "by", "length", "ratio", "lang")


def _films(plan: Plan) -> str:
    actions = dict.fromkeys(ACTIONS, 0)
    for line in plan.lines:
        actions[line.action] += 1
    if not plan.moves_anything:
        words = "nothing to do, 0 credits"
    else:
        words = f"{count(len(plan.spending), 'film')} for {in_credits(plan.total)}"
    if plan.unpriced:
        words += f" and {plan.unpriced:,} at a price the service did not say"
    if actions["continue"]:
        carried = count(actions["continue"], "row is", "rows are")
        words += f"; {carried} paid for before and carried on, 0 credits"
    if actions["nothing"]:
        words += f"; {actions['nothing']:,} delivered before, 0 credits"
    return words


def _lengths(plan: Plan) -> str:
    """Say whose length, and so whose price, the sheet leaves to the service."""
    left = [line for line in plan.spending if line.length is None and line.leaves_length]
    if not left:
        return ""
    words = count(len(left), "row leaves", "rows leave") + " the length to the service; "
    words += "its price is" if len(left) == 1 else "their prices are"
    told = sorted({line.priced_for for line in left if line.priced_for is not None})
    if not told:
        return f"{words} for a length it did not say"
    span = f"{told[0]:g}" if len(told) == 1 else f"{told[0]:g} to {told[-1]:g}"
    some = any(line.priced_for is None for line in left)
    return f"{words} for {span} s" + (" where it said so" if some else "")


def _account(plan: Plan) -> str:
    """Say what the service's account holds, and what it lacks for this plan."""
    if plan.balance is None or not plan.spending:
        return ""
    words = f"the service's account has {in_credits(plan.balance)}"
    short = plan.total - plan.balance
    return f"{words}: {in_credits(short)} short for this plan" if short > 0 else words


def _budget(plan: Plan) -> str:
    if plan.budget is None:
        return ""
    words = f"budget for the campaign's whole life: {in_credits(plan.budget)}"
    if plan.committed:
        words += f", {as_text(plan.committed)} charged or set aside before"
    left = plan.budget - plan.committed - (plan.total if plan.spending else Decimal(0))
    after = " after this plan" if plan.spending else ""
    return f"{words}, " + (
        f"{as_text(left)} left{after}" if left >= 0 else f"{as_text(-left)} over it{after}"
    )
