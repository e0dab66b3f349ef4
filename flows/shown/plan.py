"""A plan on Prefect's page: what every row would be and cost, what it comes to, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callsheet.flows.shown.artifacts import (
    LINES,
    cell,
    key_of,
    link,
    out_of_the_way,
    put_table,
    put_words,
    words_cell,
)
from callsheet.tasks.campaign.plan_words import sums_of, warnings_of, why_of
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.credits import as_number, as_text, in_credits
from callsheet.tasks.plural import count
from callsheet.tasks.redact import unsigned
from callsheet.tasks.suggest import suggest_run


@out_of_the_way
async def publish_plan(plan: Plan, ways: Sequence[str] | None = None) -> None:
    """Publish a plan with its prices: a table of rows, and what it comes to in words.

    `ways` say in sentences what a person can do about it, who has not approved it (None: all).

    Spends nothing, and changes nothing.
    """
    key = key_of(plan.campaign, "plan")
    shown = sorted(plan.lines, key=_turn)[:LINES]
    words = f"Plan for {plan.campaign}: what each row would be, and its price in credits"
    if len(plan.lines) > len(shown):
        words += f". {len(plan.lines) - len(shown):,} more rows: `callsheet plan SHEET --json`"
    page = await put_table(key, [_line(line) for line in shown], words=words)
    lines = plan_in_words(plan, ways_on(plan) if ways is None else ways)
    if page is not None:
        lines += ["", f"Row by row: {link('the table of the plan', page)}"]
    await put_words(f"{key}-summary", lines)


def plan_in_words(plan: Plan, ways: Sequence[str]) -> list[str]:
    """Return lines of Markdown: what a plan comes to, what is odd about it, and what to do."""
    videos, *rest = sums_of(plan)
    lines = [f"# Plan for {cell(plan.campaign)}", "", f"**{cell(videos)}**", ""]
    lines += [f"- {cell(words)}" for words in rest]
    lines += [
        f"- {as_text(one.left)} of the {in_credits(one.budget)} of {cell(one)} are left"
        for one in plan.accounts
    ]
    people = sum(line.action == "person" for line in plan.lines)
    if people:
        words = count(people, "row needs attention", "rows need attention")
        lines.append(f"- {words} first: the table says why")
    lines += [f"- **warning**: {cell(words)}" for words in warnings_of(plan)]
    if ways:
        lines += ["", "## What to do", "", "Nothing is spent until a person approves.", ""]
        lines += [f"- {words}" for words in ways]
    return lines


def ways_on(plan: Plan) -> list[str]:
    """Return what a person can do about a plan that is not approved, a sentence each."""
    typed = suggest_run(unsigned(plan.sheet), plan.campaign)
    return [
        "**approve it**: run the deployment again with `approve` set to `yes`; with `ask` a run "
        "waits on its page for an answer",
        "**spend less**: `budget` is what the campaign may cost in all its runs, `run_budget` what "
        "this run may, `select` names the rows",
        f"**at a terminal**: `{typed}` shows the same plan, and asks",
        "**do nothing**: nothing starts without an approval",
    ]


def _turn(line: PlanLine) -> int:
    """Return whose turn it is in a table: rows that need somebody come first, what is done last."""
    return {"person": 0, "nothing": 2}.get(line.action, 1)


def _line(line: PlanLine) -> dict[str, Any]:
    return {
        "row": cell(line.row),
        "action": line.action,
        "price": as_number(line.priced) if line.spends else None,
        "video": cell(line.title),
        "why": words_cell(why_of(line)),
    }
