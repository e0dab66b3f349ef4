"""A plan spends nothing and writes nothing; a saved one is applied as approved, or not at all."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.databases import PostgresServer, take_ledger
from tests.programs import Desk, Finished, Sandbox, simple_sheet


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


@pytest.mark.merge
def test_the_detailed_exit_status_tells_changes_from_none(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))

    changes = desk.call("plan", sheet, "--detailed-exitcode").status
    desk.run(sheet)
    none = desk.call("plan", sheet, "--detailed-exitcode").status
    error = desk.call("plan", "missing.csv", "--detailed-exitcode").status

    assert (none, error, changes) == (0, 1, 2)


def test_a_saved_plan_is_carried_out_without_a_question(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.call("plan", sheet, "-o", "plan.json")

    ended = desk.call("run", sheet, "--plan", "plan.json", "--without-prefect", "--json")

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}


def test_a_plan_that_no_longer_holds_names_the_row_that_moved(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.call("plan", sheet, "-o", "plan.json")
    desk.sheet(f"{name}.csv", simple_sheet(2).replace("Video 2,5", "Video 2,9"))

    ended = desk.call("run", sheet, "--plan", "plan.json", "--without-prefect")

    assert ended.status == 4
    assert "r002: the row was edited since" in ended.err
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
    assert title not in page
    assert " src=" not in page
    assert " href=" not in page
    shown = desk.call("show-plan", "plan.html", "--json").json
    assert (shown["holds"], shown["credits"]["total"], len(shown["rows"])) == (True, 30, 2)

    ended = desk.call("run", "--plan", "plan.html", "--without-prefect", "--json")

    assert ended.status == 0, ended.err
    states = {row: line["state"] for row, line in desk.rows(name).items()}
    assert states == {"r001": "delivered", "r002": "planned", "r003": "delivered"}
    desk.sheet(f"{name}.csv", simple_sheet(3, title="Other"))
    shown = desk.call("show-plan", "plan.html", "--json").json
    assert not shown["holds"]
    assert shown["moved"][0] == (
        'r001: the row was edited since: "</script><b>Video</b> 1" then; "Other 1" now'
    )
    (desk.folder / sheet).unlink()
    assert desk.call("show-plan", "plan.html", "--json").json["holds"] is None


def test_a_plan_that_was_edited_by_hand_is_refused(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    for file in ("plan.json", "plan.html"):
        desk.call("plan", sheet, "-o", file)
        saved = desk.folder / file
        text = saved.read_text("utf-8")
        saved.write_text(re.sub(r'"retry_failed": ?0', '"retry_failed": 5', text), "utf-8")
        assert saved.read_text("utf-8") != text
        for command in (("run", "--plan", file, "--without-prefect"), ("show-plan", file)):
            ended = desk.call(*command)
            assert ended.status == 2
            assert f"{file} was changed after it was saved; nothing was spent" in ended.err
    assert desk.call("rows", name).status == 2


def test_of_two_plans_of_one_sheet_the_second_pays_for_nothing(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    plans = ("first.json", "second.json")
    for plan in plans:
        desk.call("plan", sheet, "-o", plan)

    ends = [desk.call("run", "--plan", plan, "--without-prefect", "--json") for plan in plans]

    assert [ended.status for ended in ends] == [0, 0], ends
    assert [ended.json["credits"]["charged_this_run"] for ended in ends] == [30, 0]


@pytest.mark.merge
def test_a_plan_holds_after_a_run_that_did_nothing(desk: Desk, name: str) -> None:
    short = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(short)
    long = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.call("plan", long, "-o", "plan.json")
    desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.run(short).json["credits"]["charged_this_run"] == 0
    desk.sheet(f"{name}.csv", simple_sheet(3))

    ended = desk.call("run", "--plan", "plan.json", "--without-prefect", "--json")

    assert ended.status == 0, ended.err
    assert ended.json["credits"]["charged_this_run"] == 15


def test_a_run_without_a_sheet_or_a_plan_says_what_to_type(desk: Desk) -> None:
    ended = desk.call("run", "--without-prefect")

    assert ended.status == 2
    assert "the run needs a sheet" in ended.err


def test_a_saved_plan_gives_no_budget_back_that_was_lowered_since(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.call("plan", sheet, "--budget", "90", "-o", "plan.json")
    assert desk.run(sheet, "--first", "1", "--budget", "30").status == 0
    words = ("run", "--plan", "plan.json", "--without-prefect", "--json")

    refused = desk.call(*words)

    assert refused.status == 4
    lowered = "the budget of the campaign becomes 90 credits (so far: 30 credits)"
    assert f"not in the plan: {lowered}" in refused.err
    credits = desk.call("status", name, "--json").json["credits"]
    assert (credits["budget"], credits["charged"]) == (30, 15)
    # Whoever types another one has said so.
    assert desk.call(*words, "--budget", "45").json["credits"]["charged"] == 45


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
        (self.desk.folder / self.sheet).write_text(json.dumps({**head, "rows": said}))

    def run(self, *words: str) -> Finished:
        return self.desk.call("run", self.sheet, "--json", "--without-prefect", *words)

    def refused(self, *words: str) -> Finished:
        ended = self.run(*words)
        assert ended.status == 4, ended.err
        assert len(self.sandbox.bought()) == self.bought
        return ended

    def status(self) -> dict[str, Any]:
        return self.desk.call("status", self.name, "--json").json

    def states(self) -> dict[str, str]:
        lines = self.desk.call("rows", self.name, "--json").lines
        return {one["row"]: one["state"] for one in lines}


@pytest.fixture(params=["sqlite", "postgres"])
def stage(request: pytest.FixtureRequest, desk: Desk, service: Sandbox, name: str) -> Place:
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        desk.environ["CALLSHEET_LEDGER"] = server.new_database()
        assert desk.call("ledger", "upgrade", "--make").status == 0
    return Place(desk, service, name)


@pytest.mark.merge
def test_a_refused_run_leaves_the_sheet_to_its_campaign(stage: Place) -> None:
    other = f"{stage.name}-2"
    stage.refused("--new-campaign", "--campaign", other, "--budget", "9999")

    again = stage.run("--yes")
    assert (again.status, again.json["campaign"]) == (0, stage.name), again.err
    assert stage.status()["credits"]["budget"] == 100
    # Nor was it a word on these rows being paid for again.
    assert "already paid for 3 of 3 rows" in stage.refused("--campaign", other).err
    assert len(stage.sandbox.bought()) == stage.bought

    # Approved, it is all of that.
    approved = stage.run("--new-campaign", "--campaign", other, "--yes", "--select", "a")
    assert (approved.status, approved.json["campaign"]) == (0, other), approved.err
    assert stage.desk.call("plan", stage.sheet, "--json").json["elsewhere"] == []
    assert stage.run("--yes").json["campaign"] == other
    assert len(stage.sandbox.bought()) == stage.bought + 3


@pytest.mark.merge
def test_a_refused_run_retires_no_row(stage: Place) -> None:
    delivered = dict.fromkeys("abc", "delivered")
    stage.write({"id": "a", **OTHER})
    for words in ([], ["--retire"]):
        stage.refused(*words)
        assert stage.states() | {"a": "delivered"} == delivered
    elsewhere = stage.desk.folder / "elsewhere"
    elsewhere.mkdir()
    stage.write("x", "y")
    (stage.desk.folder / stage.sheet).rename(elsewhere / stage.sheet)
    stage.sheet = f"elsewhere/{stage.sheet}"
    stage.refused("--campaign", stage.name, "--same-campaign")
    states = stage.states()
    assert [states[row] for row in "bc"] == ["delivered", "delivered"]
    assert "--same-campaign" in stage.refused("--campaign", stage.name, "--yes").err


@pytest.mark.merge
def test_a_refused_run_sets_no_budget_and_no_retention(stage: Place) -> None:
    for part in ("a", {"id": "a", **OTHER}):
        stage.write(part, "b", "c", keep_at_service="1s")
        refused = stage.refused("--budget", "9999")
        assert "not approved" in refused.err
        assert stage.status()["credits"]["budget"] == 100
    # A run that a person lets delete finds nothing that is due.
    stage.write("a", "b", "c")
    assert stage.run("--yes").status == 0
    pruned = stage.desk.call("prune", stage.name, "--yes", "--json")
    assert pruned.json["videos"] == [], pruned.out


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
    assert stage.states() == dict.fromkeys("abc", "delivered")
