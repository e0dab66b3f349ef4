"""What the service offers: shown, and held against every sheet before anything is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox

TOOLS = ["product-launch", "explainer", "testimonial", "listicle", "announcement"]


def test_a_misspelt_field_is_refused_by_every_command_before_it_is_paid_for(
    desk: Desk, service: Sandbox, name: str
) -> None:
    text = "id,tool,fields.prodct,title,duration_seconds\na,product-launch,Kettle,Kettle,5\n"
    (desk.folder / f"{name}.csv").write_text(text)
    before = len(service.charges())

    first = desk.call("check", f"{name}.csv", "--json")
    plan = desk.call("plan", f"{name}.csv", "--json")
    run = desk.call("run", f"{name}.csv", "--yes", "--without-prefect", "--json")
    check = desk.call("check", f"{name}.csv", "--json")

    problem = (
        f'{name}.csv:2 row "a", column fields.prodct is not a field of product-launch; '
        "did you mean fields.product?"
    )
    assert (first.status, "is not here yet" in " ".join(first.json["notes"])) == (0, True)
    assert [one.status for one in (plan, run, check)] == [2, 2, 2]
    assert [one.json["problems"] for one in (plan, run, check)] == [[problem]] * 3
    assert "the service's list of tools of" in check.json["notes"][0]
    assert len(service.charges()) == before


def test_everything_that_is_wrong_shows_in_the_first_pass(desk: Desk) -> None:
    desk.call("tools", "--refresh")
    rows = [f"r{n},product-launch,Tea,Asap" for n in range(5)]
    rows += ["t,product-lunch,Tea,Soon", "f,product-launch,,", ",product-lunch,Tea,High"]
    text = "\n".join(["id,tool,fields.prodct,priority", *rows])
    (desk.folder / "all.csv").write_text(text)

    told, found = desk.call("check", "all.csv"), desk.call("check", "all.csv", "--json").json

    assert told.status == 2
    many = "all.csv: priority: Asap, Soon in 6 cells (lines 2, 3, 4 and 3 more): is not a whole"
    assert many in told.err
    assert told.err.count("did you mean product-launch?") == 1
    assert "did you mean fields.product?" in told.err
    assert [one["line"] for one in found["places"] if one["column"] == "priority"] == [*range(2, 8)]


@pytest.mark.parametrize("tool", TOOLS)
def test_the_example_of_a_tool_is_a_sheet_without_a_problem(desk: Desk, tool: str) -> None:
    shown = desk.call("tools", tool, "--json")
    said = []
    for kind, text in shown.json["example"].items():
        (desk.folder / f"example.{kind}").write_text(text)
        assert text in shown.err
        said.append(desk.call("check", f"example.{kind}", "--json"))

    assert [one.status for one in said] == [0, 0]
    assert [one.json["advice"] for one in said] == [[], []]
    assert all("the service's list of tools of" in one.json["notes"][0] for one in said)


def test_the_tools_are_listed_as_the_service_tells_them(desk: Desk) -> None:
    listed = desk.call("tools", "--json")
    lists = [desk.call("tools", one, "--json").json[one] for one in ("characters", "templates")]

    assert [tool["id"] for tool in listed.json["tools"]] == TOOLS
    assert listed.json["base_url"] in listed.err
    assert [len(one) for one in lists] == [3, 3]


def test_a_name_that_is_not_there_is_refused_with_what_was_meant(desk: Desk) -> None:
    wrong = desk.call("tools", "explaner", "--json")

    assert wrong.status == 2
    assert "did you mean explainer?" in wrong.err


def test_what_is_known_is_shown_without_a_service_or_a_key(desk: Desk) -> None:
    desk.call("tools")
    for word in ("BASE_URL", "API_KEY"):
        del desk.environ[f"CALLSHEET_{word}"]
    known = desk.call("tools", "explainer", "--json")
    anew = desk.call("tools", "--refresh", "--json")

    assert known.json["tool"]["name"] == "Explainer"
    assert (anew.status, "no video service is configured" in anew.err) == (2, True)


def test_a_service_that_tells_nothing_new_or_nothing_at_all(desk: Desk, service: Sandbox) -> None:
    desk.call("tools")
    same = desk.call("tools", "--refresh")
    service.plan_fault(on="tools", nth="1-2", do="status", status=404)
    old = desk.call("tools", "--refresh", "--json")
    (desk.folder / "elsewhere").mkdir()
    desk.environ["CALLSHEET_LEDGER"] = f"sqlite:///{desk.folder}/elsewhere/ledger.db"
    none = desk.call("tools", "--json")

    assert "nothing is new" in same.err
    assert (old.status, "this is its list of" in old.err) == (0, True)
    assert (none.status, none.json["exit"]) == (2, 2)
    assert "404" in none.err


@pytest.mark.merge
def test_the_tools_of_a_sandbox_are_shown_without_any_service(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ours = desk.call("tools", "--sandbox", "--json")
    raw = desk.call("video", "tools", "--sandbox", "--json")

    assert [tool["id"] for tool in ours.json["tools"]] == TOOLS
    assert [tool["id"] for tool in raw.json["tools"]] == TOOLS
