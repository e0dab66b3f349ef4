"""Plans and reports as tables on Prefect's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callsheet.flows.shown.artifacts import (
    LINES,
    VideoLinks,
    cell,
    key_of,
    link,
    out_of_the_way,
    put_table,
    put_words,
    table_in_words,
    words_cell,
)
from callsheet.flows.shown.page import Page
from callsheet.tasks.aftercare.explain import commands_for
from callsheet.tasks.campaign.report import (
    row_documents,
    say_charged,
    sums_of,
    warnings_of,
    why_of,
)
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.campaigns import Tally, tally_of
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.values import NEEDS_PERSON, CampaignRow
from callsheet.tasks.notices.action_items import campaign_page
from callsheet.tasks.runtime.redact import unsigned
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.values.amounts import as_number, as_text, count, in_credits


@out_of_the_way
async def publish_plan(page: Page, plan: Plan, ways: Sequence[str] | None = None) -> None:
    """Publish a plan with its prices: a table of rows and a summary.

    `ways` are sentences on what you can do about a plan that is not approved (None: all ways).

    Spends nothing, and changes nothing.
    """
    key = key_of(plan.campaign, "plan")
    shown = sorted(plan.lines, key=_turn)[:LINES]
    words = f"Plan for {plan.campaign}: what each row would be, and its price in credits"
    if len(plan.lines) > len(shown):
        words += f". {len(plan.lines) - len(shown):,} more rows: `callsheet plan SHEET --json`"
    table = await put_table(page, key, [_line(line) for line in shown], words=words)
    lines = plan_in_words(plan, ways_on(plan) if ways is None else ways)
    if table is not None:
        lines += ["", f"Row by row: {link('the table of the plan', table)}"]
    await put_words(page, f"{key}-summary", lines)


def plan_in_words(plan: Plan, ways: Sequence[str]) -> list[str]:
    """Return lines of Markdown: the total of a plan, its warnings, and what to do."""
    videos, *rest = sums_of(plan)
    lines = [f"# Plan for {cell(plan.campaign)}", "", f"**{cell(videos)}**", ""]
    lines += [f"- {cell(words)}" for words in rest]
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
    """Return sentences on what you can do about a plan that is not approved."""
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
    """Return the sort key of a row: rows that need attention first, finished ones last."""
    return {"person": 0, "none": 2}.get(line.action, 1)


def _line(line: PlanLine) -> dict[str, Any]:
    return {
        "row": cell(line.row),
        "action": line.action,
        "price": as_number(line.priced) if line.spends else None,
        "video": cell(line.title),
        "why": words_cell(why_of(line)),
    }


# The status of a campaign at the end of a run on Prefect's page: every row, and what to do.


#: Maximum rows that need attention to name in the summary; the table has all.
NAMED = 20


def table_of_rows(page: Page, campaign: str) -> str | None:
    """Return the address of the table of a campaign's rows, with all its versions."""
    return page.address("artifacts/key", key_of(campaign, "rows"))


@out_of_the_way
async def publish_report(page: Page, run: Run) -> None:
    """Publish the table of a run's rows and a summary of its end or current status."""
    assert run.campaign is not None, "the rows are planned first"
    key = key_of(run.campaign.name, "rows")
    urgent, count = await run.urgent(LINES)
    # Rows that need attention come first; both parts are in sheet order.
    rows = sorted(urgent, key=lambda row: (row.state not in NEEDS_PERSON, row.position))
    words = f"The rows of {cell(run.campaign.name)}; amounts in credits, "
    words += f"videos below `{run.at.store.address}`"
    if count > len(rows):
        rest = f"`{suggest('rows', run.campaign.name)}` shows all"
        words += f". {count - len(rows):,} more rows are not in this table: {rest}"
    table = await put_table(page, key, await _table(run, rows), words=words)
    tally = await run.at.ledger.read(tally_of, campaign=run.campaign)
    lines = _summary(run, tally, rows, table)
    await put_words(page, key_of(run.campaign.name, "summary"), lines)


async def _table(run: Run, rows: Sequence[CampaignRow]) -> list[dict[str, Any]]:
    assert run.campaign is not None
    table, links = list[dict[str, Any]](), _links(run)
    for page in pages_of(rows):
        numbers = [row.id for row in page]
        document = await run.at.ledger.read(
            row_documents, campaign_id=run.campaign.id, numbers=numbers
        )
        table += (
            {
                "row": cell(row["row"]),
                "state": row["state"],
                "charged": row["charged"],
                "quoted": row["quoted"],
                "set aside": row["reserved"],
                "reason": "" if row["state"] == "delivered" else words_cell(row["reason"] or ""),
                "video": links.video(row),
            }
            for row in map(document, page)
        )
    return table


def _links(run: Run) -> VideoLinks:
    assert run.campaign is not None
    return VideoLinks.of(run.campaign.name, run.at.store.address, run.at.settings)


def _summary(run: Run, tally: Tally, rows: Sequence[CampaignRow], table: str | None) -> list[str]:
    assert run.campaign is not None
    name, links = run.campaign.name, _links(run)
    lines = [f"# {cell(name)}", ""]
    lines += table_in_words(("state", "rows"), tally.rows.items())
    lines += ["", _money(run, tally)]
    if run.outcome is None:
        lines += ["", "The run did not finish. This is the current state of the campaign."]
    elif run.outcome.words:
        lines += ["", cell(run.outcome.words)]
    lines += _for_somebody(run, [row for row in rows if row.state in NEEDS_PERSON])
    lines += ["", f"Row by row: {link('the table of rows', table)}"] if table else []
    if page := campaign_page(links.board, name):
        lines += ["", f"On the board: {link(name, page)}"]
    return [*lines, "", f"Videos: `{run.at.store.address}`"]


def _money(run: Run, tally: Tally) -> str:
    budget = "none" if tally.budget is None else as_text(tally.budget)
    price = run.at.settings.credit_price
    words = f"The campaign has cost {in_credits(tally.charged, price)}"
    if tally.reserved:
        words += f" with {in_credits(tally.reserved, price)} reserved"
    words += f"; its budget for all runs is {budget}."
    if run.outcome is None:
        return words
    charged = say_charged(run.outcome)
    return f"{charged[:1].upper()}{charged[1:]}. {words}"


def _for_somebody(run: Run, rows: Sequence[CampaignRow]) -> list[str]:
    """Return the rows that need attention, with reasons and the first command to type."""
    if not rows:
        return []
    assert run.campaign is not None
    links = _links(run)
    lines = ["", "## What needs attention", ""]
    for row in rows[:NAMED]:
        first = commands_for(run.campaign, row)[0]
        why = cell(row.reason or "no reason is known")
        lines.append(f"- **{links.row(row.row)}** is {row.state}: {why}")
        if first.line not in (row.reason or ""):
            lines.append(f"  - `{first.line}`: {cell(first.does)}")
    if len(rows) > NAMED:
        lines += ["", f"... and {len(rows) - NAMED:,} more, first in the table of rows."]
    return lines
