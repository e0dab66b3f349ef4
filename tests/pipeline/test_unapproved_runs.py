"""What a person sets with a plan takes effect when it is approved: a refused run sets nothing.

What a later run goes by is in the ledger: the campaign of a sheet, budgets, retention, copies, and
which rows left. So every refused run here is followed by one that would obey it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.databases import PostgresServer
from tests.programs import Desk, Finished, Sandbox

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
