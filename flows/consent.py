"""Approval of a flow run: none, in a form on Prefect's page, or in advance.

The approval is stored in the rows of the ledger. A restarted run asks only for rows that are not
approved yet, and asks again if the plan has changed since it was shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal, cast

from prefect.client.schemas.objects import FlowRunInput
from prefect.exceptions import Pause
from prefect.flow_runs import apause_flow_run, asuspend_flow_run
from prefect.input import RunInput
from prefect.input.actions import afilter_flow_run_input
from pydantic import Field

from callsheet.flows.endings import is_called_back
from callsheet.flows.interface import QUESTION, Approve, Credits, amount_of
from callsheet.flows.shown import publish_plan
from callsheet.flows.shown.artifacts import cell
from callsheet.flows.shown.flow_page import PAGE
from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.plan import check_retirement
from callsheet.tasks.campaign.plan_document import SavedPlan
from callsheet.tasks.campaign.quotes import check_budget, shortage
from callsheet.tasks.campaign.report import sums_of, warnings_of
from callsheet.tasks.campaign.run_record import run_left
from callsheet.tasks.campaign.validity import check_not_taken_back, check_valid
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.accounts import AtLimit
from callsheet.tasks.runtime.errors import NotApproved, SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.values.amounts import as_text, count, in_credits

#: How long a run that cannot be suspended waits for an answer, in seconds: a day.
PATIENCE = 86_400
#: What you can do about this plan, in addition to the usual ways.
_WAYS: Mapping[Approve, Sequence[str] | None] = {
    "no": None,
    "ask": ["**answer on this run's page**: Resume has a form, with a budget where one is needed"],
    "yes": [],
}


class PlanApproval(RunInput):
    """The form on Prefect's page; its defaults approve nothing."""

    approve: Literal["yes", "no"] = Field(description="make these videos at this price, or none")
    budget: Credits | None = Field(
        default=None,
        description="most credits the campaign may cost, over every run; empty: unchanged",
    )
    note: str = Field(default="", description="why, for the history of the rows")


class Consent(Approver):
    """Approves or refuses the plan of a run, by its parameters or by asking a person."""

    def __init__(
        self,
        approve: Approve,
        settings: Settings,
        *,
        at_limit: AtLimit | None = None,
        saved: SavedPlan | None = None,
    ) -> None:
        self._approve = approve
        self._tolerance = settings.quote_tolerance
        self._at_limit = at_limit
        self._saved = saved
        # The form asks about the first round alone.
        self.approves_later = approve == "yes" and saved is None
        #: The plan as a person has approved it, if asked early.
        self._answered: Plan | None = None

    async def see(self, plan: Plan) -> Plan:
        """Publish the plan, and end a run that may not spend.

        Raise NotApproved, or SpendRefused where edits of a saved plan were taken back since. If the
        budget is too small, the approver may enter another one.
        """
        if self._saved is not None:
            check_not_taken_back(self._saved.plan, plan)
        if plan.spending or plan.adopting or plan.needs_word:
            await publish_plan(PAGE, plan, _WAYS.get(self._approve))
        short = shortage(plan, self._at_limit)
        if not plan.unapproved:
            return await _with_given_budget(plan) if self._approve == "ask" and short else plan
        if self._approve not in ("ask", "yes"):
            raise _refusal(plan)
        if self._approve == "ask" and not plan.unpriced and short:
            self._answered = plan = await self._ask(plan)
        return plan

    async def approve(self, plan: Plan) -> Plan:
        """Return the plan as approved. Raise NotApproved, or SpendRefused if it has changed."""
        if self._approve not in ("ask", "yes"):
            raise _refusal(plan)
        if self._saved is not None:
            check_valid(self._saved.plan, plan, tolerance=self._tolerance)
        if self._approve == "ask":
            return self._answered or await self._ask(plan)
        if self._saved is not None:
            return plan.approved(f"approved with the plan {self._saved.path}")
        check_retirement(plan, "run the flow with retire=true")
        return plan.approved("approved by the flow's parameter")

    async def _ask(self, plan: Plan) -> Plan:
        """Return the plan with the approver's name and budget."""
        while True:
            answer = await _answer(plan, refusal=shortage(plan, self._at_limit))
            note = f": {redact(answer.note)}" if answer.note else ""
            if answer.approve == "no":
                raise NotApproved(f"{_price_of(plan)} not approved{note}; nothing was spent")
            asked, plan = plan, replace(plan, budget=_budget_of(answer, plan.budget))
            # If the plan still does not fit, it is checked once more with the new budget.
            if not shortage(plan, self._at_limit) or plan == asked:
                break
        check_budget(plan, self._at_limit)
        return plan.approved(f"approved on Prefect's page{note}")


async def _with_given_budget(plan: Plan) -> Plan:
    """Use the budget of an earlier approval of this run."""
    for answer in await _answers():
        if answer.approve == "yes":
            plan = replace(plan, budget=_budget_of(answer, plan.budget))
    return plan


def _refusal(plan: Plan) -> NotApproved:
    return NotApproved(
        f"{_price_of(plan)} not approved; nothing was spent",
        remedy="check the plan, then run the flow with approve=yes or approve=ask",
    )


async def _answer(plan: Plan, *, refusal: SpendRefused | None) -> PlanApproval:
    """Wait for the answer to exactly this plan and return it.

    The run is suspended until then: its process ends, and another one starts it again. A run
    without a deployment, or inside another flow, waits in its process instead.
    """
    form = PlanApproval.with_initial_data(description=question_of(plan, refusal))
    key = f"{QUESTION}{digest_of(plan)}"
    if is_called_back():
        try:
            return await asuspend_flow_run(wait_for_input=form, key=key)
        except Pause:
            run_left(4, "it is suspended until someone answers on its page in Prefect")
            raise
    return await apause_flow_run(wait_for_input=form, key=key, timeout=PATIENCE)


async def _answers() -> list[PlanApproval]:
    """Return every answer that this flow run got, oldest first."""
    asking = afilter_flow_run_input(key_prefix=f"suspended-{QUESTION}", limit=200)
    return answers_in(cast(list[FlowRunInput], await asking))


def answers_in(inputs: Sequence[FlowRunInput]) -> list[PlanApproval]:
    """Return the answers among the inputs of a flow run, in Prefect's order.

    Prefect orders them by time; their ids have no order.
    """
    given = [one for one in inputs if one.key.endswith("-response")]
    return [PlanApproval.load_from_flow_run_input(one) for one in given]


def _budget_of(answer: PlanApproval, planned: Decimal | None) -> Decimal | None:
    return planned if answer.budget is None else amount_of(answer.budget)


def digest_of(plan: Plan) -> str:
    """Return a key that is equal for plans that an approver would consider the same."""
    asked = [
        plan.campaign,
        as_text(plan.budget),
        [
            (
                line.row,
                line.action,
                line.digest,
                line.found[0] if line.found else as_text(line.priced),
            )
            for line in (*plan.spending, *plan.adopting)
        ],
        list(plan.retiring) if plan.needs_word else [],
        [(one.campaign, sorted(one.costs)) for one in plan.elsewhere],
        *(["sandbox"] if plan.sandbox else []),
        *([[one.words for one in plan.changes]] if plan.changes else []),
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]


def _price_of(plan: Plan) -> str:
    """Return the cost of a plan: `126 credits for 42 videos are`."""
    videos = count(len(plan.spending), "video")
    words = f"{in_credits(plan.total, plan.credit_price)} for {videos}" if plan.spending else ""
    if plan.unpriced:
        words += f" ({plan.unpriced:,} without a readable price)"
    if plan.adopting:
        words += (" and " if words else "") + f"{count(len(plan.adopting), 'video')} to take over"
    if plan.needs_word:
        words += (" and " if words else "") + f"{count(len(plan.retiring), 'row')} to be retired"
    if not words:
        return "what the plan changes is"
    return f"{words} {'is' if words.startswith('1 credit ') else 'are'}"


def question_of(plan: Plan, refusal: SpendRefused | None) -> str:
    """Return the text above the form, in Markdown."""
    videos, *rest = sums_of(plan)
    said = [cell(words) for words in (*rest, *warnings_of(plan))]
    if refusal is not None:
        needed = in_credits(plan.committed + plan.total, plan.credit_price)
        said.append(f"**this needs a budget of {needed}, which you enter below**")
    said.append("every row with its price is in the run's artifacts")
    head = f"**{cell(plan.campaign)}: {cell(videos)}**"
    return "\n".join([head, "", *(f"- {words}" for words in said)])
