"""`callsheet retake`: another video of a row, at a price somebody agreed to, paid once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from callsheet.flows.perform import perform
from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.settings import load_settings
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Finished, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: A sandbox where things go wrong, for all tests of this file.
own_sandbox = sandbox_fixture("--credits", "1000000")


def keys(desk: Desk, name: str, row: str) -> list[str]:
    return [take["key"] for take in desk.call("explain", name, row, "--json").json["takes"]]


def retake(desk: Desk, name: str, *words: str) -> Finished:
    return desk.call("retake", name, *words, "--yes", "--json")


def test_a_delivered_row_is_taken_again_by_the_next_run(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    first = Path(desk.rows(name)["r001"]["deliveries"][0]["uri"])
    before = first.read_bytes()
    assert desk.call("retake", name, "r001").status == 4
    assert desk.rows(name)["r001"]["state"] == "delivered"
    told = retake(desk, name, "r001", "--because", "the logo is old")
    nothing = dict.fromkeys(("words", "review", "review_reason", "review_note"))
    made = {"row": "r001", "from": "delivered", "to": "approved", "credits": 15}
    assert told.json["rows"] == [{**made, **nothing}]
    ended = desk.run(sheet)
    assert ended.json["rows"] == {"total": 2, "delivered": 2}
    assert ended.json["credits"]["charged"] == 45
    again = desk.rows(name)["r001"]
    assert (again["take"], again["deliveries"][0]["uri"][-9:]) == (2, "take2.mp4")
    assert first.read_bytes() == before
    assert studio.charged(keys(desk, name, "r001")) == dict.fromkeys(keys(desk, name, "r001"), 1)
    history = desk.call("explain", name, "r001").out
    assert "the logo is old" in history
    # Each start is a plan of its own, by whose number the history names it.
    assert len(set(re.findall(r"approved by .+ with --yes, plan (\w{32})", history))) == 2
    # The sheet is unchanged, and so there is nothing more to do.
    assert desk.run(sheet).json["credits"]["charged"] == 45


@pytest.mark.always
def test_a_retake_needs_no_sheet_and_asks_the_budget(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    desk.run(sheet, "--budget", "20")
    (desk.folder / sheet).unlink()
    desk.environ["CALLSHEET_DAY_BUDGET"] = "31"
    refused = desk.call("retake", name, "r001", "--yes", "--run")
    ended = retake(desk, name, "r001", "--run", "--budget", "30")
    assert (refused.status, "budget of 20" in refused.err) == (4, True)
    # What campaigns share is shown before it is approved.
    assert "16 of the 31 credits of the budget of " in " ".join(refused.out.split())
    assert ended.status == 0, ended.err
    assert [(r["from"], r["to"]) for r in ended.json["rows"]] == [("delivered", "delivered")]
    assert desk.rows(name)["r001"]["take"] == 2


def test_a_retake_above_the_limit_of_its_row_is_shown_and_not_approved(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    for limit in (20, 10):
        text = simple_sheet(1, columns=",max_credits", cells=f",{limit}")
        assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    told = retake(desk, name, "r001", "--run")
    (line,) = told.json["rows"]
    assert told.status == 3, told.err
    assert (line["from"], line["to"], line["credits"]) == ("delivered", "delivered", None)
    assert "it costs 15 credits, and max_credits is 10" in line["words"]
    assert "max_credits is 10" in " ".join(told.err.split())
    assert desk.rows(name)["r001"]["take"] == 1


def test_a_killed_retake_is_carried_on_and_paid_once(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    words = ("retake", name, "r001", "--yes", "--run")
    desk.kill(*words, at="service: after the answer (create)")
    # Beside it a row that could be taken again: what broke off is carried on, and no more.
    ended = retake(desk, name, "r001", "r002", "--run")
    assert ended.status == 0, ended.err
    told = {row["row"]: row["words"][:9] for row in ended.json["rows"]}
    assert told == {"r001": "approved ", "r002": "not retak"}
    assert [row["take"] for row in desk.rows(name).values()] == [2, 1]
    made = keys(desk, name, "r001")
    assert len(made) == 2
    assert studio.charged(made) == dict.fromkeys(made, 1)
    assert desk.run(sheet).json["credits"]["charged"] == 45


def test_failed_and_rejected_rows_get_new_keys(desk: Desk, studio: Sandbox, name: str) -> None:
    studio.plan_fault(on="render", do="fail", nth=1)
    studio.plan_fault(on="create", do="status", status=400, nth=2)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    assert sorted(desk.run(sheet).json["rows"]) == ["delivered", "failed", "rejected", "total"]
    chosen = ("--select", "state:failed|rejected")
    approved = retake(desk, name, *chosen)
    assert {line["to"] for line in approved.json["rows"]} == {"approved"}
    assert desk.run(sheet).json["rows"] == {"total": 3, "delivered": 3}
    nothing = desk.call("retake", name, *chosen, "--yes")
    assert (nothing.status, "nothing to take again" in nothing.out) == (0, True)
    for row in approved.json["rows"]:
        assert len(set(keys(desk, name, row["row"]))) == 2


def test_a_stalled_take_stays_booked_and_an_unwanted_retake_is_taken_back(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ["CALLSHEET_DEADLINE"] = "1s"
    studio.plan_fault(on="render", do="never", nth=1)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).json["rows"] == {"total": 1, "stalled": 1}
    told, ended = (retake(desk, name, "r001", "--run", "--budget", most) for most in ("29", "30"))
    assert told.status == 4, "what the old take has set aside counts"
    assert ended.status == 0, ended.err
    assert "may still finish and be charged" in ended.err
    takes = desk.call("explain", name, "r001", "--json").json["takes"]
    assert [(take["reserved"], take["charged"]) for take in takes] == [(15, None), (0, 15)]
    retake(desk, name, "r001", "--budget", "45")
    back = desk.call("cancel", name, "r001", "--yes", "--json")
    assert [(r["from"], r["to"]) for r in back.json["rows"]] == [("approved", "delivered")]
    assert desk.run(sheet).json["rows"] == {"total": 1, "delivered": 1}


def test_a_retake_that_is_on_hold_is_taken_back_too(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).status == 0
    desk.environ["CALLSHEET_MONTH_BUDGET"] = "20"
    held = retake(desk, name, "r001", "--run")
    assert (held.status, desk.states(name)) == (3, {"r001": "held"}), held.err

    back = desk.call("cancel", name, "r001", "--yes")

    assert "the retake was cancelled: delivered as before" in back.out
    assert desk.run(sheet).json["rows"] == {"total": 1, "delivered": 1}


@pytest.mark.safeguard("flows/perform.py", "first = make and plan_id is None", "first = make")
async def test_a_retake_leaves_rows_that_are_under_way(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.run(sheet, "--first", "1").status == 0
    studio.plan_fault(on="render", do="slow", seconds=600)
    # How long it takes to send the row is the machine's business.
    while desk.rows(name)["r002"]["state"] != "rendering":
        assert desk.run(sheet, "--max-wait", "2s").status == 5
    studio.clear_faults()
    for words in (["r002"], ["r9"], []):
        refused = desk.call("retake", name, *words, "--yes")
        assert (refused.status, "nothing was spent" in refused.err) == (2, True), refused
    settings = load_settings(environ=desk.environment(), folder=desk.folder)
    ask = RunOptions.of({"campaign": name, "select": "state:delivered|rendering", "max_wait": "1s"})
    # The id of a flow run tells what it has approved; a command has only the states of the rows.
    done = await perform(RETAKE, ask, settings, _nobody_minds, plan_id=f"flow-{name}")
    assert [line.row for line in done.plan.spending] == ["r001"]
    assert [len(keys(desk, name, row)) for row in ("r001", "r002")] == [2, 1]


async def _nobody_minds(plan: Plan) -> Plan:
    return plan.approved("approved by a test")
