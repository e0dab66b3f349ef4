"""Plans: asked for of a sheet, priced in the background, looked at until somebody approves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from callsheet.deployments.board.acts.sheets import kept_sheet, parsed, problem_json
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.moment import iso
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.campaign.board_plan import PlanTerms, spending_rows
from callsheet.tasks.campaign.plan_keeping import ask_plan, replace_plan
from callsheet.tasks.campaign.priced_plan import plan_unpriced
from callsheet.tasks.campaign.selection import parse_selection
from callsheet.tasks.errors import SheetError
from callsheet.tasks.ledger import (
    BoardRun,
    KeptPlan,
    PlanState,
    find_plan,
    latest_plan,
    plan_before,
    plans_of,
    run_for,
)


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """A plan as it is now: `state` says whether it has expired, `run` is there once approved.

    `replaces` is the plan whose place it took, `latest` the one that stands in its own by now.
    """

    plan: KeptPlan
    state: PlanState
    run: BoardRun | None = None
    replaces: KeptPlan | None = None
    latest: str | None = None

    @property
    def document(self) -> Mapping[str, Any]:
        """What it says; nothing while it is quoted."""
        return self.plan.document or {}

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Its lines, as `plan --json` has them."""
        found: Sequence[Mapping[str, Any]] = self.document.get("rows", ())
        return found

    @property
    def spending(self) -> int:
        """How many rows it pays for."""
        return len(spending_rows(self.document)) if self.document else 0

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows there are of each action."""
        return Counter(line["action"] for line in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the answer of `GET /plans/ID`."""
        plan, credits = self.plan, self.document.get("credits", {})
        return {
            "plan": plan.id,
            "state": self.state,
            "kind": plan.kind,
            "campaign": plan.campaign,
            "sheet": plan.sheet_id,
            "rows": [_line(line) for line in self.rows],
            "counts": dict(self.counts),
            "total": credits.get("total"),
            "unpriced": credits.get("unpriced"),
            "budget": credits.get("budget"),
            "left": credits.get("left"),
            "balance": credits.get("balance"),
            "elsewhere": self.document.get("elsewhere", []),
            "retiring": self.document.get("retiring", []),
            "notes": self.document.get("notes", []),
            "because": self.document.get("because"),
            "expires_at": _moment(plan.expires_at),
            "words": plan.words,
            "refusal": self.document.get("refusal"),
            "made_by": plan.made_by,
            "made_at": _moment(plan.made_at),
            "approved_by": plan.approved_by,
            "approved_at": _moment(plan.approved_at),
            "replaced_by": self.latest,
            "replaces": self.replaces.id if self.replaces else None,
            "run": self.run.id if self.run else None,
        }


async def plan_of_sheet(board: Board, person: Person, sheet_id: str, terms: PlanTerms) -> str:
    """Have a plan made of a sheet; return its id, while it is being quoted.

    Raises BadInput for a selection that cannot be read, ProblemDetails (422) with the problems of
    the sheet, or where a workbook hides rows and nobody said whether they are wanted.
    """
    kept = await kept_sheet(board, sheet_id)
    parse_selection(terms.select)
    terms = PlanTerms.read({**terms.as_json(), "sandbox": board.sandbox})
    try:
        sheet = await parsed(board, kept, terms, person)
    except SheetError as error:
        problems = [problem_json(one) for one in error.problems]
        raise ProblemDetails(
            422, str(error), title="The sheet has problems", remedy=error.remedy, problems=problems
        ) from error
    if sheet.hidden:
        raise ProblemDetails(
            422,
            f"the workbook hides rows ({', '.join(sorted(sheet.hidden)[:5])})",
            title="Are hidden rows wanted?",
            remedy='say "hidden_rows": "skip" to leave them out, "read" to make videos of them too',
        )
    options = terms.options(kept)
    named = await plan_unpriced(board.ledger, sheet, options, board.settings)
    change = partial(ask_plan, kind="run", campaign=named.sheet.campaign, sheet_id=kept.id)
    return await _begin(board, person, change, terms)


async def see_plan(board: Board, person: Person, plan_id: str) -> PlanView:
    """Return a plan; raises ProblemDetails (404) for none."""
    plan = await kept_plan(board, plan_id)
    return PlanView(
        plan=plan,
        state=plan.state_at(board.clock()),
        run=await board.read(partial(run_for, plan_id=plan_id)),
        replaces=await board.read(partial(plan_before, plan_id=plan_id)),
        latest=await latest_of(board, plan),
    )


async def latest_of(board: Board, plan: KeptPlan) -> str | None:
    """Return the plan that stands in the place of a plan by now; None where it was not replaced."""
    if plan.replaced_by is None:
        return None
    return await board.read(partial(latest_plan, plan_id=plan.replaced_by))


async def see_plans(
    board: Board, person: Person, campaign: str | None, *, limit: int = 50
) -> list[PlanView]:
    """Return the newest plans, of a campaign or of all, without their rows."""
    found = await board.read(partial(plans_of, campaign=campaign, limit=limit))
    return [PlanView(plan=plan, state=plan.state_at(board.clock())) for plan in found]


async def plan_anew(
    board: Board, person: Person, old: KeptPlan, *, words: str, sheet_id: str | None = None
) -> str:
    """Have a plan made in the place of one that no longer holds; return the new one's id."""
    change = partial(
        replace_plan,
        old=old,
        plan_id=board.token(),
        terms=old.terms,
        words=words,
        by=person.name,
        at=board.clock(),
        sheet_id=sheet_id,
    )
    new = await board.write(change)
    board.attention.set()
    return new


async def kept_plan(board: Board, plan_id: str) -> KeptPlan:
    """Return a plan as the ledger has it; raises ProblemDetails (404) for none."""
    plan = await board.read(partial(find_plan, plan_id=plan_id))
    if plan is None:
        raise ProblemDetails(404, "there is no such plan")
    return plan


async def _begin(board: Board, person: Person, change: Any, terms: PlanTerms) -> str:
    plan_id = board.token()
    begun = partial(change, plan_id=plan_id, terms=terms.as_json())
    await board.write(partial(begun, by=person.name, at=board.clock()))
    board.attention.set()
    return plan_id


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: value for name, value in line.items() if name not in ("id", "take_id", "nth")}
    return {**more, "credits": line["quoted"]}


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)
