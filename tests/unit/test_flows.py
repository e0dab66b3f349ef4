"""Flows as Prefect handles them: sent to another process by value, shown as a form, named."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import runpy
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import cloudpickle
import pytest
from prefect import Flow
from prefect.client.schemas.objects import FlowRunInput
from prefect.exceptions import ParameterTypeError
from prefect.settings import (
    PREFECT_FLOWS_DEFAULT_RETRIES,
    PREFECT_TASKS_DEFAULT_RETRIES,
    temporary_settings,
)
from prefect.utilities.callables import parameter_schema
from prefect.utilities.names import generate_slug

from callsheet.deployments.parser import parse
from callsheet.flows.consent import Consent, answers_in, digest_of, question_of
from callsheet.flows.flow_runs import is_made_up
from callsheet.flows.interface import Approve, amount_of
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import plan_document, read_plan, save_plan
from callsheet.tasks.campaign.quotes import shortage
from callsheet.tasks.campaign.steps import read_step
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.prefect_tasks import as_task
from callsheet.tasks.runtime.errors import BadInput, MovedOn, NotApproved
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.runtime.suggest import again_with, suggest_for
from callsheet.tasks.values.amounts import CreditPrice

ROOT = Path(__file__).parents[2]


def _flows() -> dict[str, Flow[Any, Any]]:
    modules = [
        importlib.import_module(f"callsheet.flows.{p.stem}") for p in (ROOT / "flows").glob("*.py")
    ]
    found = [value for one in modules for value in vars(one).values() if isinstance(value, Flow)]
    return {one.name: one for one in found}


FLOWS = _flows()
#: What each flow cannot do without, of the type that it is.
NEEDED: dict[str, Any] = {"at_most": 1, "worker": 1}


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_knows_its_parameters_in_another_process(name):
    arrived = cloudpickle.loads(cloudpickle.dumps(FLOWS[name]))

    needed = parameter_schema(arrived).required
    given = {one: NEEDED.get(one, "x") for one in needed}
    assert given.items() <= arrived.validate_parameters(given).items()


@pytest.mark.parametrize("name", FLOWS)
def test_the_form_says_what_each_parameter_is(name):
    properties = parameter_schema(FLOWS[name]).properties

    assert [one for one, shown in properties.items() if not shown.get("description")] == []


def test_the_word_on_an_approval_may_be_a_truth_value():
    campaign = FLOWS["campaign"]

    def understood(said: object) -> object:
        return campaign.validate_parameters({"sheet": "s", "approve": said})["approve"]

    assert [understood(said) for said in (True, False, "ask")] == ["yes", "no", "ask"]


#: Above a flow.
MADE = re.compile(r"^@(callsheet_)?flow\(", re.MULTILINE)


@pytest.mark.merge
def test_prefect_retries_nothing_by_itself():
    # Prefect leaves it waiting, and whoever carries it says that it crashed.
    defaults = {PREFECT_FLOWS_DEFAULT_RETRIES: 2, PREFECT_TASKS_DEFAULT_RETRIES: 2}
    with temporary_settings(defaults):
        files = [one for one in (ROOT / "flows").glob("*.py") if MADE.search(one.read_text())]
        modules = [runpy.run_path(str(file)) for file in files]
        step = as_task("read-sheet", read_step)

    found = [one for module in modules for one in module.values() if isinstance(one, Flow)]
    assert len(found) >= len(FLOWS)
    assert step.retries == 0
    # Some are imported from where they were made before.
    assert {one.name: one.retries for one in found if one.retries} == {}


#: The flows that spend, and what each takes as an amount.
AMOUNTS = [
    ("approve", "at_most"),
    ("approve", "budget"),
    ("campaign", "budget"),
    ("campaign", "run_budget"),
    ("nightly", "approve_up_to"),
    ("nightly", "budget"),
    ("nightly", "per_sheet"),
    ("retake", "at_most"),
]


@pytest.mark.safeguard(
    "flows/interface.py",
    "if amount is None:\n        raise BadInput(",
    "if False:\n        raise BadInput(",
)
@pytest.mark.parametrize("said", [float("nan"), float("inf"), -1, 10**13, "lots", [1]])
@pytest.mark.parametrize(("name", "parameter"), AMOUNTS)
def test_what_is_no_amount_of_credits_begins_no_flow(name, parameter, said):
    flow = FLOWS[name]
    given = {one: NEEDED.get(one, "x") for one in parameter_schema(flow).required}

    with pytest.raises(ParameterTypeError):
        flow.validate_parameters({**given, parameter: said})
    # Nor where a flow is called without a look at its parameters.
    with pytest.raises(BadInput, match="is not an amount of credits; nothing was spent"):
        amount_of(said)
    assert amount_of(None) is None


@pytest.mark.safeguard(
    "flows/consent.py", "check_valid(self._saved.plan, plan, tolerance=self._tolerance)", "pass"
)
async def test_a_flow_pays_for_its_saved_plan_and_for_no_other(tmp_path):
    line = PlanLine(row="a", title="Tea", action="make", digest="d", priced=Decimal(12))
    shown = Plan(campaign="spring", sheet="s.csv", sheet_digest="d", lines=(line,))
    save_plan(plan_document(shown), tmp_path / "plan.json")
    saved = read_plan(tmp_path / "plan.json")
    consent = Consent("yes", load_settings(environ={}), saved=saved)

    approved = await consent.approve(shown)

    assert approved.by == f"approved with the plan {tmp_path / 'plan.json'}"
    dearer = replace(shown, lines=(line._replace(priced=Decimal(13)),))
    with pytest.raises(MovedOn, match="a: 12 credits then, 13 now"):
        await consent.approve(dearer)


@pytest.mark.safeguard(
    "flows/consent.py",
    'not in ("ask", "yes"):\n            raise _refusal(plan)\n        if self._saved',
    '== "no":\n            raise _refusal(plan)\n        if self._saved',
)
@pytest.mark.safeguard(
    "flows/consent.py",
    'not in ("ask", "yes"):\n            raise _refusal(plan)\n        if self._saved',
    "in ():\n            raise _refusal(plan)\n        if self._saved",
)
@pytest.mark.parametrize("said", ["no", False, None, "NO", "Yes, please"])
async def test_a_run_that_may_not_spend_approves_nothing_whatever_it_is_asked(said):
    line = PlanLine(row="r1", title="Video", action="make", digest="d", priced=Decimal(15))
    plan = Plan(campaign="spring", sheet="spring.csv", sheet_digest="d", lines=(line,))
    with pytest.raises(NotApproved, match="15 credits for 1 video are not approved"):
        await Consent(cast(Approve, said), load_settings(environ={})).approve(plan)


async def test_the_question_on_prefects_page_has_the_price_in_money_too():
    line = PlanLine(row="r1", title="Video", action="make", digest="d", priced=Decimal(15))
    plan = Plan(
        campaign="spring", sheet="spring.csv", sheet_digest="d", lines=(line,),
        budget=Decimal(10), credit_price=CreditPrice(Decimal("0.12"), "USD"),
    )  # fmt: skip

    question = question_of(plan, shortage(plan))

    assert "1 video for 15 credits (1.80 USD)" in question
    assert "needs a budget of 15 credits (1.80 USD), which you enter below" in question
    with pytest.raises(NotApproved, match=r"15 credits \(1\.80 USD\) for 1 video are not approved"):
        await Consent("no", load_settings(environ={})).approve(plan)


@pytest.mark.safeguard("flows/consent.py", '*(["sandbox"] if plan.sandbox else []),', "")
def test_an_answer_about_a_trial_is_none_about_videos_that_cost():
    plan = Plan(campaign="spring", sheet="spring.csv", sheet_digest="d", lines=())

    assert digest_of(replace(plan, sandbox=True)) != digest_of(plan)


def test_of_several_answers_the_last_that_was_given_counts():
    def given(number: int, key: str, **answer: object) -> FlowRunInput:
        run, value = UUID(int=7), json.dumps(answer)
        named = {"flow_run_id": run, "key": f"suspended-plan-{key}", "value": value}
        return FlowRunInput(id=UUID(int=number), **named)

    # As Prefect returns them: the oldest first, with ids that were drawn.
    inputs = [
        given(3, "a-schema", title="PlanApproval"),
        given(9, "a-response", approve="yes", budget=100),
        given(5, "b-schema", title="PlanApproval"),
        given(2, "b-response", approve="yes", budget=40),
    ]

    assert [answer.budget for answer in answers_in(inputs)] == [100, 40]


@pytest.mark.parametrize(
    ("name", "made_up"),
    [
        ("lambda3-vega-cloud", True),
        ("theta-coronae-borealis", True),
        ("spring-launch", False),
        ("spring 2026-11-22 02:00", False),
        ("Black Friday", False),
        ("demo-2", False),
    ],
)
def test_a_name_that_somebody_typed_is_told_from_one_that_prefect_made(name, made_up):
    assert is_made_up(name) == made_up
    assert all(is_made_up(generate_slug(2)) for _ in range(50))


@pytest.mark.parametrize(
    ("words", "typed", "started"),
    [
        ((), "run the same command again", "run the flow again"),
        (("--budget", "50"), "with `--budget 50`", "with `budget=50`"),
        (("--pay-again",), "with `--pay-again`", "with `pay_again=true`"),
        (("--at-limit", "fit"), "with `--at-limit fit`", "with `at_limit=fit`"),
    ],
)
def test_advice_names_an_option_to_who_types_and_a_parameter_to_who_starts_a_flow(
    words, typed, started
):
    parameters = inspect.signature(_flows()["campaign"].fn).parameters
    try:
        suggest_for(None, flow=True)
        assert started in again_with(*words)
        assert not words or started.split("`")[1].partition("=")[0] in parameters
    finally:
        suggest_for(None)
    assert typed in again_with(*words)


@pytest.mark.parametrize(
    ("command", "flow"), [("run", "campaign.run_campaign"), ("plan", "plan.plan_campaign")]
)
def test_a_flow_can_be_asked_for_what_its_command_can(command, flow):
    module, _, name = flow.partition(".")
    known = getattr(importlib.import_module(f"callsheet.flows.{module}"), name)
    typed = vars(parse([command, "a.csv"]))
    shown = set(typed) & set(RunOptions.model_fields) - {"sandbox"}
    lacking = shown - set(inspect.signature(known.fn).parameters)
    assert not lacking
