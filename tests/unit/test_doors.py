"""Every command and every option of a run at every door, or the reason why it is not there."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pytest
from fastapi import FastAPI

import callsheet
from callsheet.deployments.board import refusals
from callsheet.deployments.board.app import _routes
from callsheet.deployments.board.services.plans import PlanAsked
from callsheet.deployments.mcp import plans
from callsheet.deployments.mcp.server import TOOLS, VIDEOS
from callsheet.deployments.parser import COMMANDS, parser_of

#: Where each command is in the API (the name of a call) and among an agent's tools; or why not.
HERE = "about this machine or its processes"
SERVER = "starts a server, which the board is"
BY_HAND = "the service by hand, for engineers"
READING = "`sheet_columns` and the page of columns say it"
AT_LINKS = "a guest link shows it live"
BY_PLAN = "a plan that is approved starts a run"
AGENT = "a person decides"
DOORS: Mapping[str, tuple[str, str]] = {
    "init": (READING, "sheet_columns"),
    "check": ("upload_sheet", "check_sheet"),
    "plan": ("make_plan", "plan"),
    "show-plan": ("get_plan", "status"),
    "run": ("approve_plan", "run_plan"),
    "adopt": ("make_plan", "plan"),
    "tools": ("the board's columns page has them", "service_capabilities"),
    "schema": (READING, "sheet_columns"),
    "status": ("get_campaign", "status"),
    "rows": ("list_rows", "rows"),
    "explain": ("get_row", "explain_row"),
    "resolve": ("resolve_row", AGENT),
    "verify": ("get_drift", AGENT),
    "reconcile": ("get_drift", AGENT),
    "export": ("get_videos_zip", "resource report.csv"),
    "costs": ("get_costs", "costs"),
    "review": ("review_row", "record_review"),
    "contact-sheet": (AT_LINKS, "show_videos"),
    "approve": (BY_PLAN, AGENT),
    "retake": ("plan_retakes", "retake"),
    "ledger": (HERE, HERE),
    "cancel": ("cancel_rows", "cancel"),
    "prune": ("delete_old_videos", AGENT),
    "nightly": (HERE, HERE),
    "nights": (HERE, HERE),
    "video": (BY_HAND, BY_HAND),
    "webhooks": (BY_HAND, BY_HAND),
    "login": (HERE, HERE),
    "logout": (HERE, HERE),
    "whoami": ("who_am_i", HERE),
    "up": (SERVER, SERVER),
    "board": ("invite_person", AGENT),
    "allow": ("only who has the ledger lets a program spend", AGENT),
    "mcp": (SERVER, SERVER),
    "receive": (SERVER, SERVER),
    "sandbox": (SERVER, SERVER),
    "doctor": ("get_health", HERE),
    "help": (READING, READING),
    "completion": (HERE, HERE),
}

#: Options of `callsheet run` that a door does not take, each with its reason.
TERMINAL = "how the terminal speaks"
BY_SERVER = "the server's settings say it"
UPLOADED = "an uploaded sheet is a file; its headers are mapped when it is uploaded"
APPROVED = "approving is a call of its own"
RUN = "a run on the board waits, repairs and ends as its settings say"
SHOWN = "the plan shows it, and approving the plan approves it"
WITHOUT: Mapping[str, Mapping[str, str]] = {
    "api": {
        **dict.fromkeys(("help", "json", "verbose", "without_prefect"), TERMINAL),
        **dict.fromkeys(("profile", "sandbox", "time_scale", "wait"), BY_SERVER),
        **dict.fromkeys(("map", "delimiter"), UPLOADED),
        **dict.fromkeys(("yes", "plan"), APPROVED),
        **dict.fromkeys(("max_wait", "if_running", "repair", "workers", "run_budget"), RUN),
        "at_limit": RUN,
        **dict.fromkeys(("retire", "pay_again"), SHOWN),
        **dict.fromkeys(("prune", "undelivered", "prune_store"), "a call of its own"),
    },
    "flow": {
        **dict.fromkeys(("help", "json", "verbose", "without_prefect"), TERMINAL),
        **dict.fromkeys(("sandbox", "time_scale"), BY_SERVER),
        "yes": "`approve` says it",
        **dict.fromkeys(("prune", "undelivered", "prune_store"), "it asks a person first"),
    },
}
#: An agent takes fewer: what a person answers, and how a file is read, are not its to say.
AGENTS_WITHOUT = {
    **WITHOUT["api"],
    **dict.fromkeys(("new_campaign", "same_campaign", "yes_many", "hidden_rows"), AGENT),
    "worksheet": UPLOADED,
}


def calls() -> set[str]:
    app = FastAPI(title="Callsheet")
    app.router.routes.extend(_routes())
    paths = refusals.describe(app)["paths"].values()
    return {one["operationId"] for operations in paths for one in operations.values()}


def tools() -> set[str]:
    assert VIDEOS
    return {tool.__name__ for _, tool, _ in TOOLS} | {"show_videos"}


@pytest.mark.merge
def test_every_command_is_at_every_door_or_has_its_reason():
    assert list(DOORS) == list(COMMANDS)
    there = (calls(), tools())
    for command, doors in DOORS.items():
        for said, names in zip(doors, there, strict=True):
            is_name = said.replace("_", "").isalpha() and said.islower()
            assert not is_name or said in names, (command, said)
    # Tools have no command of their own where they only look.
    named = {agent for _, agent in DOORS.values()}
    assert tools() - named == {"list_campaigns"}


@pytest.mark.parametrize(
    ("door", "takes", "without"),
    [
        ("api", set(PlanAsked.model_fields), WITHOUT["api"]),
        ("agent", set(inspect.signature(plans.plan).parameters), AGENTS_WITHOUT),
        ("flow", set(inspect.signature(callsheet.run_campaign.fn).parameters), WITHOUT["flow"]),
    ],
)
def test_every_option_of_a_run_is_at_a_door_or_has_its_reason(door, takes, without):
    options = {action.dest for action in parser_of("run")._actions}

    assert len(options) > 30
    assert {one for one in options if one not in takes and one not in without} == set(), door
    assert set(without) <= options - takes, door
