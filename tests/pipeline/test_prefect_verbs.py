"""The verbs that are flows beside the campaign's own, on a real Prefect server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from callsheet.tasks.campaign.plan_document import store_approved
from callsheet.tasks.campaign.propose import line_of
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.values import rows_of
from tests.leasing import acquire_lease
from tests.pipeline.served import call_flows
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]

#: Calls flows as a deployment does: by their module, with plain parameters; a line for each end.
PROGRAM = """
import asyncio, importlib, inspect, json, os, sys

async def call(module, name, parameters, run=None):
    os.environ.pop("PREFECT__RUNTIME__FLOW_RUN__ID", None)
    if run is not None:
        os.environ["PREFECT__RUNTIME__FLOW_RUN__ID"] = run
    flow = getattr(importlib.import_module(module), name)
    state = await flow(**parameters, return_state=True)
    found = state.result(raise_on_failure=False)
    found = await found if inspect.isawaitable(found) else found
    data = getattr(found, "document", None) or found
    data = data if isinstance(data, dict) else str(found)
    print(json.dumps({"state": state.name, "type": state.type.value, "data": data}))

async def main():
    for order in json.loads(sys.argv[1]):
        await call(*order)

asyncio.run(main())
"""
RETAKE = ("callsheet.flows.retake", "retake_rows")
RECONCILE = ("callsheet.flows.reconcile", "reconcile_ledger")
CARRY_ON = ("callsheet.flows.resume", "carry_on")
CAMPAIGN = ("callsheet.flows.campaign", "run_campaign")
APPROVE = ("callsheet.flows.plan", "approve_campaign")
CANCEL = ("callsheet.flows.cancel", "cancel_campaign")
#: The last of it is the id of the flow run, where one is begun anew.
Order = tuple[str, str, Mapping[str, Any]] | tuple[str, str, Mapping[str, Any], str]


@dataclass(frozen=True)
class Told:
    """How the flows of both verbs ended, one after the other, and what was there before them."""

    desk: Desk
    name: str
    before: Mapping[str, Mapping[str, Any]]
    creates: int
    ends: Sequence[Mapping[str, Any]]
    artifacts: Set[str]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, service: Sandbox, server: PrefectServer) -> Told:
    """One process for all calls: it takes seconds to start."""
    # This runs before the fixture that empties the list for each test: without it, these rows may
    # be those of another file's last test, of a lost ledger.
    service.empty_list()
    folder = tmp_path_factory.mktemp("verbs")
    desk, name = Desk(folder, dict(service.environ)), f"c-{abs(hash(str(folder))):x}"
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    assert desk.run(desk.sheet(f"{name}-2.csv", simple_sheet(1, title="Other"))).status == 0
    _leave_under_way(desk, service, f"{name}-4")
    _leave_under_way(desk, service, f"{name}-5")
    desk.sheet(f"{name}-6.csv", simple_sheet(1, title="Waits"))
    desk.sheet("more.csv", simple_sheet(3, title="Waits"))
    asyncio.run(_hold(desk, f"{name}-2"))
    before, creates = desk.rows(name), service.creates()
    service.delete(before["r002"]["video_id"])
    # The sheet need not be there.
    (folder / f"{name}.csv").unlink()
    one = {"campaign": name, "select": "r001"}
    asyncio.run(_note_approval(desk, f"{name}-5", "begun-5"))
    (folder / "trial.toml").write_text('sandbox = "yes"\n')
    desk.sheet(f"{name}-7.csv", simple_sheet(2, title="Own"))
    own = {"sheet": f"{name}-7.csv", "approve": "yes", "run_budget": 20, "at_limit": "fit"}
    later = {"sheet": "more.csv", "campaign": f"{name}-6", "same_campaign": True}
    approve = {"campaign": f"{name}-6", "at_most": 30}
    orders: list[Order] = [
        (*CARRY_ON, {"campaign": f"{name}-4"}),
        (*CARRY_ON, {"campaign": f"{name}-2"}),
        (*RETAKE, one),
        (*RETAKE, {**one, "at_most": 14}),
        (*RETAKE, {**one, "at_most": 15, "because": "the logo is wrong"}, "begun"),
        (*RETAKE, {**one, "at_most": 15}, "begun"),
        (*RETAKE, {"campaign": f"{name}-5", "select": "state:failed", "at_most": 30}, "begun-5"),
        (*RECONCILE, {}),
        (*RECONCILE, {"campaign": name}),
        (*RECONCILE, {"campaign": f"{name}-2"}),
        (*RECONCILE, {"campaign": f"{name}-3"}),
        (*CAMPAIGN, {"sheet": f"{name}-6.csv"}),
        (*APPROVE, approve, "begun-6"),
        (*CAMPAIGN, later),
        (*APPROVE, approve, "begun-6"),
        (*RETAKE, {"campaign": name, "select": "r002", "at_most": 15, "profile": "trial.toml"}),
        (*CAMPAIGN, own, "begun-7"),
        (*CAMPAIGN, own, "begun-7"),
        (*CANCEL, {"campaign": f"{name}-6"}),
        (*CANCEL, {"campaign": f"{name}-3"}),
    ]
    ends = _call(desk, server, orders)
    return Told(desk, name, before, creates, ends, _artifacts(server))


@pytest.mark.safeguard("tasks/campaign/lease.py", "options.run_id or uuid4().hex", "uuid4().hex")
def test_another_take_is_made_at_a_price_that_was_agreed_to(told: Told, service: Sandbox) -> None:
    unapproved, dear, done, again = told.ends[2:6]
    for refused in (unapproved, dear):
        assert (refused["state"], refused["type"]) == ("Refused", "FAILED")
        assert "15 credits for 1 more video are not approved; nothing was spent" in refused["data"]
    assert done["state"] == "Completed", done
    assert done["data"]["rows"] == {"total": 2, "delivered": 2}
    # Prefect may start a flow run again, and nobody asked for yet another take: it reports.
    assert (again["state"], again["data"]["rows"]) == ("Completed", done["data"]["rows"])
    # Beside that one: videos of other tests of this file.
    assert service.creates() == told.creates + 1 + 2
    after = told.desk.rows(told.name)
    assert after["r002"] == told.before["r002"]
    assert after["r001"]["video_id"] != told.before["r001"]["video_id"]
    assert service.charged([after["r001"]["key"]]) == {after["r001"]["key"]: 1}
    assert "the logo is wrong" in told.desk.call("explain", told.name, "r001").out
    assert {f"callsheet-{told.name}-rows", f"callsheet-{told.name}-summary"} <= told.artifacts


def test_a_flow_run_is_one_run_of_the_ledger_that_names_it(told: Told) -> None:
    found = told.desk.call("status", told.name, "--json").json["runs"]
    ends = [(one["kind"], one["door"], one["exit"]) for one in found if one["id"] == "begun"]
    assert ends == [("retake", "flow", 0)], "it was begun twice"
    assert [one["by"] for one in found if one["id"] == "begun"] == ["flow run begun"]


def test_a_run_that_is_begun_anew_has_the_budget_of_one_run(told: Told) -> None:
    """A crash, or a moment that was waited for, is no word for more."""
    for ended in told.ends[16:18]:
        assert ended["data"]["rows"] == {"total": 2, "delivered": 1, "held": 1}, ended
    held = [row for row in told.desk.rows(f"{told.name}-7").values() if row["state"] == "held"]
    assert "5 of the 20 credits of this run's budget are left" in held[0]["reason"]


def test_a_price_of_a_sandbox_is_not_approved_for_videos_that_cost(told: Told) -> None:
    tried = told.ends[15]
    assert (tried["state"], tried["type"]) == ("Refused", "FAILED")
    assert "was made with the real service" in tried["data"]
    assert told.desk.rows(told.name)["r002"] == told.before["r002"]


def test_what_differs_is_reported_and_nothing_is_changed(told: Told) -> None:
    every, gone, agrees, unknown = told.ends[7:11]
    for looked in (every, gone):
        assert (looked["state"], looked["type"]) == ("NeedsPerson", "FAILED")
        # Videos of other tests have keys like ours: they are in no campaign of this ledger.
        found = [one for one in looked["data"]["differences"] if one["campaign"]]
        assert [(one["kind"], one["row"]) for one in found] == [("gone", "r002")]
        assert not found[0]["applied"]
    # The take before the last is still compared.
    assert (every["data"]["compared"], gone["data"]["compared"]) == (8, 3)
    assert agrees["state"] == "Completed"
    assert agrees["data"]["differences"] == []
    assert unknown["state"] == "Invalid"
    assert "there is no campaign" in unknown["data"]
    assert "callsheet-differences" in told.artifacts


def test_videos_under_way_are_carried_on_and_nothing_is_begun(told: Told) -> None:
    carried, attended = told.ends[:2]
    assert carried["state"] == "Completed", carried
    assert carried["data"]["rows"] == {"total": 2, "delivered": 2}
    assert attended["state"] == "Attended"


def test_a_retake_that_is_begun_anew_carries_on_whatever_its_rows_are_by_now(told: Told) -> None:
    begun = told.ends[6]
    assert begun["state"] == "Completed", begun
    assert begun["data"]["rows"] == {"total": 2, "delivered": 2}


def test_an_approval_that_is_begun_anew_is_of_nothing_more(told: Told) -> None:
    shown, approved, more, again = told.ends[11:15]
    assert (shown["state"], more["state"]) == ("NotApproved", "NotApproved")
    assert approved["data"]["rows"] == {"total": 1, "delivered": 1}
    # They were priced later, and would still have been within the amount.
    assert (again["state"], again["data"]["rows"]) == (
        "Completed", {"total": 3, "quoted": 2, "delivered": 1},
    )  # fmt: skip


def test_what_is_cancelled_is_never_made_and_is_shown(told: Told) -> None:
    cancelled, unknown = told.ends[18:20]
    document = {"campaign": f"{told.name}-6", "released": 0, "exit": 0}
    assert (cancelled["state"], cancelled["data"]) == ("Completed", document)
    states = [row["state"] for row in told.desk.rows(f"{told.name}-6").values()]
    assert sorted(states) == ["cancelled", "cancelled", "delivered"]
    assert "callsheet-cancelled" in told.artifacts
    assert (unknown["state"], unknown["type"]) == ("Invalid", "FAILED")


def _leave_under_way(desk: Desk, service: Sandbox, name: str) -> None:
    """Begin two videos, and leave before they are finished."""
    service.plan_fault(on="render", do="slow", seconds=20)
    desk.leave_under_way(desk.sheet(f"{name}.csv", simple_sheet(2, title=name)))
    service.clear_faults()


async def _hold(desk: Desk, name: str) -> None:
    """Have another process at work on a campaign."""
    async with await open_ledger(f"sqlite:///{desk.folder}/.callsheet/ledger.db") as ledger:
        campaign = await ledger.read(find_campaign, name=name)
        assert campaign is not None
        held = partial(acquire_lease, campaign=campaign, owner="elsewhere:1:1:there:1")
        await ledger.write(held, seconds=600)


async def _note_approval(desk: Desk, name: str, run: str) -> None:
    """Have a flow run approved what is under way of a campaign, before it was begun anew."""
    async with await open_ledger(f"sqlite:///{desk.folder}/.callsheet/ledger.db") as ledger:
        campaign = await ledger.read(find_campaign, name=name)
        rows = await ledger.read(rows_of, campaign_id=campaign.id)
        lines = tuple(line_of(row, "retake") for row in rows)
        plan = Plan(campaign=name, sheet="", sheet_digest="", lines=lines, by="Prefect")
        await ledger.write(store_approved, plan=plan, kind="retake", plan_id=run, at=time.time())


def _call(desk: Desk, server: PrefectServer, orders: Sequence[Order]) -> list[dict[str, Any]]:
    """Call flows one after the other; return the state that each ended in, and its result."""
    done = call_flows(PROGRAM, orders, desk=desk, server=server)
    assert desk.environ["CALLSHEET_API_KEY"] not in done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _artifacts(server: PrefectServer) -> set[str]:
    """Return the keys of what the server has to show."""
    with httpx.Client(base_url=server.url) as client:
        return {str(one["key"]) for one in client.post("/artifacts/filter", json={}).json()}
