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
    sheet = desk.sheet(f"{name}.csv", text)
    before = len(service.charges())
    first = desk.call("check", sheet, "--json")
    told = [
        desk.call("plan", sheet, "--json"),
        desk.run(sheet),
        desk.call("check", sheet, "--json"),
    ]
    problem = (
        f'{name}.csv:2 row "a", column fields.prodct is not a field of product-launch; '
        "did you mean fields.product?"
    )
    assert (first.status, "is not here yet" in " ".join(first.json["notes"])) == (0, True)
    assert [(one.status, one.json["problems"]) for one in told] == [(2, [problem])] * 3
    assert "the service's list of tools of" in told[2].json["notes"][0]
    assert len(service.charges()) == before


def test_everything_that_is_wrong_shows_in_the_first_pass(desk: Desk) -> None:
    desk.call("tools", "--refresh")
    rows = [f"r{n},product-launch,Tea,Asap" for n in range(5)]
    rows += ["t,product-lunch,Tea,Soon", "f,product-launch,,", ",product-lunch,Tea,High"]
    desk.sheet("all.csv", "\n".join(["id,tool,fields.prodct,priority", *rows]))
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
    assert len(shown.json["example"]) == 2
    for kind, text in shown.json["example"].items():
        assert text in shown.err
        checked = desk.call("check", desk.sheet(f"example.{kind}", text), "--json")
        assert (checked.status, checked.json["advice"]) == (0, [])
        assert "the service's list of tools of" in checked.json["notes"][0]


def test_what_the_service_tells_is_listed_and_kept(desk: Desk) -> None:
    listed = desk.call("tools", "--json")
    assert [tool["id"] for tool in listed.json["tools"]] == TOOLS
    assert [word for word in (listed.json["base_url"], *TOOLS) if word not in listed.err] == []
    for what in ("characters", "templates"):
        assert len(desk.call("tools", what, "--json").json[what]) == 3
    wrong = desk.call("tools", "explaner", "--json")
    assert (wrong.status, "did you mean explainer?" in wrong.err) == (2, True)
    # It is shown without a service or a key.
    for word in ("BASE_URL", "API_KEY"):
        del desk.environ[f"CALLSHEET_{word}"]
    known, anew = (desk.call("tools", one, "--json") for one in ("explainer", "--refresh"))
    assert known.json["tool"]["name"] == "Explainer"
    assert (anew.status, "no video service is configured" in anew.err) == (2, True)


def test_a_service_that_tells_nothing_new_or_nothing_at_all(desk: Desk, studio: Sandbox) -> None:
    desk.call("tools")
    same = desk.call("tools", "--refresh")
    studio.plan_fault(on="tools", nth="1-2", do="status", status=404)
    old = desk.call("tools", "--refresh", "--json")
    (desk.folder / "elsewhere").mkdir()
    desk.environ["CALLSHEET_LEDGER"] = f"sqlite:///{desk.folder}/elsewhere/ledger.db"
    none = desk.call("tools", "--json")
    assert "nothing is new" in same.err
    assert (old.status, "this is its list of" in old.err) == (0, True)
    assert (none.status, none.json["exit"], "404" in none.err) == (2, 2, True)


@pytest.mark.merge
def test_the_tools_of_a_sandbox_are_shown_without_any_service(tmp_path: Path) -> None:
    for words in (("tools",), ("video", "tools")):
        told = Desk(tmp_path).call(*words, "--sandbox", "--json").json
        assert [tool["id"] for tool in told["tools"]] == TOOLS
