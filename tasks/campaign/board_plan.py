"""A plan as the board keeps it: what was asked for, what it said, and whether that still holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from callsheet.tasks.campaign.plan import at_price, plan_document
from callsheet.tasks.campaign.priced_plan import PricedPlan
from callsheet.tasks.campaign.values import Plan, PlanLine, RunOptions
from callsheet.tasks.credits import as_text, parse_credits
from callsheet.tasks.engine.lanes.price import Price
from callsheet.tasks.ledger import KeptPlan, KeptSheet
from callsheet.tasks.settings import Settings
from callsheet.tasks.sheet import HiddenRows, SheetOptions

#: Rows that are named where something has moved on; of more the number is said.
NAMED = 20


@dataclass(frozen=True, kw_only=True)
class PlanTerms:
    """What a plan was asked for, of a sheet or, with `rows`, of other takes of a campaign's rows.

    `sandbox` says whether it was priced by a sandbox of the board's own. With `keep_budget` the
    person who approves gave no budget: one that the campaign has stays.
    """

    campaign: str | None = None
    select: str | None = None
    budget: Decimal | None = None
    keep_budget: bool = False
    hidden_rows: HiddenRows | None = None
    new_campaign: bool = False
    same_campaign: bool = False
    sandbox: bool = False
    rows: tuple[str, ...] | None = None
    because: str | None = None
    even_kept: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the terms as they are kept."""
        rows = None if self.rows is None else list(self.rows)
        budget = None if self.budget is None else str(self.budget)
        return {**self.__dict__, "budget": budget, "rows": rows}

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> PlanTerms:
        """Read terms that were kept."""
        rows = kept.get("rows")
        known = {name: kept[name] for name in cls.__dataclass_fields__ if name in kept}
        budget = parse_credits(kept.get("budget"))
        return cls(**{**known, "budget": budget, "rows": None if rows is None else tuple(rows)})

    def options(self, sheet: KeptSheet) -> RunOptions:
        """Return what a run of the sheet is asked for: what is retired is approved with it."""
        return RunOptions(
            sheet=sheet.place,
            campaign=self.campaign,
            budget=self.budget,
            keep_budget=self.keep_budget,
            select=self.select,
            hidden_rows=self.hidden_rows,
            new_campaign=self.new_campaign,
            same_campaign=self.same_campaign,
            sandbox=self.sandbox,
            saved_plan=True,
        )

    def sheet_options(self, settings: Settings) -> SheetOptions:
        """Return how the sheet is to be read."""
        return SheetOptions(
            campaign=self.campaign,
            budget=self.budget,
            hidden_rows=self.hidden_rows or settings.hidden_rows,
            name_template=settings.names,
        )


def run_document(found: PricedPlan) -> dict[str, Any]:
    """Return what a plan of a sheet says: as `plan --json`, and what the page shows beside it."""
    refusal = found.match.refusal
    return {
        **plan_document(found.plan),
        "advice": [str(one) for one in found.sheet.advice],
        "notes": [str(one) for one in found.sheet.notes],
        "needs_word": found.plan.needs_word,
        "live": found.plan.live,
        "refusal": None if refusal is None else str(refusal),
        "remedy": None if refusal is None else refusal.remedy,
    }


def differences(document: Mapping[str, Any], now: Plan) -> list[str]:
    """Say what is no longer as a plan said, in a sentence each: rows, briefs, prices, who leaves.

    A line of `now` with a price that nobody asked for anew has the one of the document
    (`with_known_prices`).
    """
    moved = []
    if document["campaign"] != now.campaign:
        moved.append(f"the plan was for campaign {document['campaign']}, not {now.campaign}")
    before = {line["row"]: line for line in paid_lines(document)}
    after = {line.row: line for line in now.spending}
    for row in [*before, *(row for row in after if row not in before)]:
        if said := _difference(before.get(row), after.get(row)):
            moved.append(f"{row}: {said}")
    left = set(now.retiring) ^ set(document.get("retiring", ()))
    moved += [f"{row}: in the sheet only before or only now" for row in sorted(left)]
    if len(moved) > NAMED:
        moved = [*moved[:NAMED], f"and {len(moved) - NAMED:,} more"]
    return moved


def with_known_prices(document: Mapping[str, Any], now: Plan, asked: Mapping[str, Price]) -> Plan:
    """Return a plan at the prices just asked for, else at those of the document."""
    known = {line["row"]: parse_credits(line["quoted"]) for line in document["rows"]}

    def put_in(line: PlanLine) -> PlanLine:
        if not line.spends:
            return line
        return at_price(line, asked.get(line.row) or Price(known.get(line.row)))

    return replace(now, lines=tuple(map(put_in, now.lines)))


def words_of_approval(plan: KeptPlan) -> str:
    """Say by whom a plan was approved, as it stands in the history of its rows."""
    return f"approved by {plan.approved_by} on the board, plan {plan.id}"


def as_credits(document: Mapping[str, Any], name: str) -> Decimal | None:
    """Return one of the amounts of a plan's document."""
    return parse_credits(document["credits"][name])


def spending_rows(document: Mapping[str, Any]) -> list[str]:
    """Return the rows that a plan pays for."""
    return [line["row"] for line in paid_lines(document)]


def paid_lines(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the lines of a plan's document that it pays for."""
    return [line for line in document["rows"] if line["action"] in ("make", "remake", "retake")]


def _difference(before: Mapping[str, Any] | None, now: PlanLine | None) -> str | None:
    if before is None:
        return "not paid for in the plan, but now it would be"
    if now is None:
        return "no longer paid for"
    if before["digest"] != now.digest:
        return "edited since"
    price = parse_credits(before["quoted"])
    if price != now.priced:
        then, today = (as_text(amount) for amount in (price, now.priced))
        return f"{then} credits then, {today} now"
    return None
