"""A plan spends and writes nothing; a saved one is applied as approved, or not at all.

What a person sets with a plan takes effect when it is approved: a refused run sets nothing. What a
later run goes by is in the ledger, so every refused run here is followed by one that would obey it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.databases import take_ledger
from tests.programs import Desk, Finished, Sandbox, simple_sheet

RUN_PLAN = ("run", "--plan", "plan.json", "--without-prefect", "--json")


def save(desk: Desk, name: str, rows: int = 2, *words: str, title: str = "Video") -> str:
    """Write a sheet, and save its plan."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(rows, title=title))
    desk.call("plan", sheet, "-o", "plan.json", *words)
    return sheet


def test_a_plan_makes_no_ledger(desk: Desk, service: Sandbox, name: str) -> None:
    take_ledger(desk.folder)
    ended = desk.call("plan", desk.sheet(f"{name}.csv", simple_sheet(2)), "--json")
    assert ended.status == 0
    credits = {"total": 30, "most": 30, "later": 0, "unpriced": 0, "committed": 0}
    limits = {"budget": None, "left": None, "balance": service.balance()}
    rates = {"keep_rate": None, "expected": None}
    assert ended.json["credits"] == {**credits, **limits, **rates}
    assert [row["quoted"] for row in ended.json["rows"]] == [15, 15]
    assert not (desk.folder / ".callsheet").exists()


def test_a_saved_plan_is_carried_out_once_and_without_a_question(desk: Desk, name: str) -> None:
    detailed = ("--detailed-exitcode",)
    sheet = save(desk, name)
    ends = [desk.call("plan", sheet, *detailed).status]
    for charged in (30, 0):
        ended = desk.call(*RUN_PLAN)
        assert (ended.status, ended.json["rows"]) == (0, {"total": 2, "delivered": 2}), ended.err
        assert ended.json["credits"]["charged_this_run"] == charged
    ends += [desk.call("plan", one, *detailed).status for one in (sheet, "missing.csv")]
    assert ends == [2, 0, 1], "changes, none, an error"


def test_a_plan_that_no_longer_holds_names_the_row_that_moved(desk: Desk, name: str) -> None:
    sheet = save(desk, name)
    desk.sheet(sheet, simple_sheet(2).replace("Video 2,5", "Video 2,9"))
    ended = desk.call("run", sheet, "--plan", "plan.json", "--without-prefect")
    assert (ended.status, "r002: the row was edited since" in ended.err) == (4, True)
    assert "r001" not in ended.err
    assert desk.rows(name)["r001"]["state"] == "quoted"


@pytest.mark.merge
def test_a_plan_as_a_page_is_carried_out_without_its_sheet_being_named(
    desk: Desk, name: str
) -> None:
    title = "</script><b>Video</b>"
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3, title=title))
    saved = desk.call("plan", sheet, "--select", "r001,r003", "-o", "plan.html")
    page = (desk.folder / "plan.html").read_text()
    assert "`callsheet run --plan plan.html` runs exactly this plan" in saved.err
    assert "callsheet run --plan plan.html" in page
    for words in (title, " src=", " href="):
        assert words not in page
    shown = desk.call("show-plan", "plan.html", "--json").json
    assert (shown["holds"], shown["credits"]["total"], len(shown["rows"])) == (True, 30, 2)
    ended = desk.call("run", "--plan", "plan.html", "--without-prefect", "--json")
    assert ended.status == 0, ended.err
    states = {"r001": "delivered", "r002": "planned", "r003": "delivered"}
    assert desk.states(name) == states
    desk.sheet(sheet, simple_sheet(3, title="Other"))
    shown = desk.call("show-plan", "plan.html", "--json").json
    moved = 'r001: the row was edited since: "</script><b>Video</b> 1" then; "Other 1" now'
    assert (shown["holds"], shown["moved"][0]) == (False, moved)
    (desk.folder / sheet).unlink()
    assert desk.call("show-plan", "plan.html", "--json").json["holds"] is None


def test_a_plan_that_was_edited_by_hand_is_refused(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    for file in ("plan.json", "plan.html"):
        desk.call("plan", sheet, "-o", file)
        text = (desk.folder / file).read_text()
        desk.sheet(file, re.sub(r'"retry_failed": ?0', '"retry_failed": 5', text))
        assert (desk.folder / file).read_text() != text
        for command in (("run", "--plan", file, "--without-prefect"), ("show-plan", file)):
            ended = desk.call(*command)
            assert ended.status == 2
            assert f"{file} was changed after it was saved; nothing was spent" in ended.err
    assert desk.call("rows", name).status == 2
    nothing = desk.call("run", "--without-prefect")
    assert (nothing.status, "the run needs a sheet" in nothing.err) == (2, True)


@pytest.mark.merge
def test_a_plan_holds_after_a_run_that_did_nothing(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    save(desk, name, 3)
    assert desk.run(desk.sheet(sheet, simple_sheet(2))).json["credits"]["charged_this_run"] == 0
    desk.sheet(sheet, simple_sheet(3))
    ended = desk.call(*RUN_PLAN)
    assert (ended.status, ended.json["credits"]["charged_this_run"]) == (0, 15), ended.err


@pytest.mark.safeguard(
    "tasks/campaign/validity.py",
    'others = ("retire",) if now.budget == shown.budget else ("retire", "budget")',
    'others = ("retire", "budget")',
)
def test_a_saved_plan_gives_no_budget_back_that_was_lowered_since(desk: Desk, name: str) -> None:
    sheet = save(desk, name, 3, "--budget", "90")
    assert desk.run(sheet, "--first", "1", "--budget", "30").status == 0
    refused = desk.call(*RUN_PLAN)
    assert refused.status == 4
    lowered = "the budget of the campaign becomes 90 credits (so far: 30 credits)"
    assert f"not in the plan: {lowered}" in refused.err
    credits = desk.call("status", name, "--json").json["credits"]
    assert (credits["budget"], credits["charged"]) == (30, 15)
    # Whoever types another one has said so.
    assert desk.call(*RUN_PLAN, "--budget", "45").json["credits"]["charged"] == 45


#: A cell that changes a row's video.
OTHER = {"fields": {"product": "Pot"}}


class Place:
    """A sheet of three rows, delivered in a campaign with a budget."""

    def __init__(self, desk: Desk, sandbox: Sandbox, name: str) -> None:
        self.desk, self.sandbox, self.name = desk, sandbox, name
        self.sheet = f"{name}.json"
        self.write("a", "b", "c")
        self.run("--yes", "--budget", "100")
        self.bought = len(sandbox.bought())

    def write(self, *rows: str | dict[str, Any], **head: Any) -> None:
        base = {"tool": "product-launch", "duration_seconds": 5, "title": self.name}
        several = [{"id": one} if isinstance(one, str) else one for one in rows]
        said = [{**base, "fields": {"product": f"Kettle {one['id']}"}, **one} for one in several]
        self.desk.sheet(self.sheet, json.dumps({**head, "rows": said}))

    def run(self, *words: str) -> Finished:
        return self.desk.call("run", self.sheet, "--json", "--without-prefect", *words)

    def refused(self, *words: str) -> Finished:
        ended = self.run(*words)
        assert ended.status == 4, ended.err
        assert len(self.sandbox.bought()) == self.bought
        return ended

    def budget(self) -> float:
        return float(self.desk.call("status", self.name, "--json").json["credits"]["budget"])


@pytest.fixture
def stage(shared: Desk, service: Sandbox, name: str) -> Place:
    return Place(shared, service, name)


@pytest.mark.safeguard(
    "tasks/campaign/sheet_verb.py",
    "at=at, sandbox=options.sandbox)",
    "at=at, sandbox=options.sandbox, origin=sheet.origin)",
)
@pytest.mark.merge
def test_a_refused_run_leaves_the_sheet_to_its_campaign(stage: Place) -> None:
    other = f"{stage.name}-2"
    stage.refused("--new-campaign", "--campaign", other, "--budget", "9999")
    again = stage.run("--yes")
    assert (again.status, again.json["campaign"], stage.budget()) == (0, stage.name, 100)
    # Nor was it a word on these rows being paid for again.
    assert "already paid for 3 of 3 rows" in stage.refused("--campaign", other).err
    # Approved, it is all of that.
    approved = stage.run("--new-campaign", "--campaign", other, "--yes", "--select", "a")
    assert (approved.status, approved.json["campaign"]) == (0, other), approved.err
    assert stage.desk.call("plan", stage.sheet, "--json").json["elsewhere"] == []
    assert stage.run("--yes").json["campaign"] == other
    assert len(stage.sandbox.bought()) == stage.bought + 3


@pytest.mark.safeguard(
    "tasks/campaign/match.py",
    'rows = [row for row in rows if row.take or row.state == "approved"] or rows',
    "rows = list(rows)",
)
@pytest.mark.merge
def test_a_refused_run_retires_no_row(stage: Place) -> None:
    stage.write({"id": "a", **OTHER})
    for words in ([], ["--retire"]):
        stage.refused(*words)
        states = stage.desk.states(stage.name)
        assert [states[row] for row in "bc"] == ["delivered", "delivered"]
    (stage.desk.folder / "elsewhere").mkdir()
    stage.sheet = f"elsewhere/{stage.sheet}"
    stage.write("x", "y")
    stage.refused("--campaign", stage.name, "--same-campaign")
    states = stage.desk.states(stage.name)
    assert [states[row] for row in "bc"] == ["delivered", "delivered"]
    assert "--same-campaign" in stage.refused("--campaign", stage.name, "--yes").err


@pytest.mark.safeguard(
    "tasks/campaign/steps.py",
    "if run.settled or not (any(changes) or raises_budget(run.campaign, plan)):",
    "if True:",
)
@pytest.mark.merge
def test_a_refused_run_sets_no_budget_and_no_retention(stage: Place) -> None:
    for part in ("a", {"id": "a", **OTHER}):
        stage.write(part, "b", "c", keep_at_service="1s")
        assert "not approved" in stage.refused("--budget", "9999").err
        assert stage.budget() == 100
    # A run that a person lets delete finds nothing that is due.
    stage.write("a", "b", "c")
    assert stage.run("--yes").status == 0
    pruned = stage.desk.call("prune", stage.name, "--yes", "--json")
    assert pruned.json["videos"] == [], pruned.out


@pytest.mark.safeguard(
    "tasks/campaign/sheet_verb.py",
    "if plan.by:\n        set_retention",
    "if True:\n        set_retention",
)
@pytest.mark.merge
def test_what_a_run_saw_that_had_nothing_to_approve_is_shown_with_the_first_plan(
    stage: Place,
) -> None:
    head: dict[str, Any] = {"campaign": f"{stage.name}-2", "keep_at_service": "1s"}
    stage.sheet = f"{stage.name}-2.json"
    stage.write({"id": "x", "enabled": False}, **head)
    assert stage.run("--yes").status == 0
    stage.write("x", **head)
    plan = stage.desk.call("plan", stage.sheet, "--json").json
    assert [one["what"] for one in plan["changes"]] == ["retention"]


@pytest.mark.safeguard(
    "tasks/campaign/sheet_verb.py", "files=not changes_files(plan),", "files=True,"
)
@pytest.mark.merge
def test_a_refused_run_copies_nothing_later(stage: Place) -> None:
    copies = stage.desk.folder / "copies"
    head = {"copies": f"file:{copies}/{{name}}.mp4"}
    for part in ("a", {"id": "a", **OTHER}):
        stage.write(part, "b", "c", **head)
        assert "are copied to" in stage.refused().err
    retake = ("retake", stage.name, "b", "--because", "wording", "--run", "--yes", "--json")
    assert stage.desk.call(*retake, here=True).status == 0
    assert not copies.exists()
    stage.write("a", "b", "c", **head)
    assert stage.run("--yes").status == 0
    assert copies.exists()


@pytest.mark.merge
def test_an_id_of_a_refused_run_is_taken_back_at_no_cost(stage: Place) -> None:
    stage.write({"id": "x", "was": "a", **OTHER}, "b", "c")
    stage.refused()
    stage.write("a", "b", "c")
    again = stage.run("--yes")
    assert (again.status, len(stage.sandbox.bought())) == (0, stage.bought), again.err
    assert stage.desk.states(stage.name) == dict.fromkeys("abc", "delivered")
