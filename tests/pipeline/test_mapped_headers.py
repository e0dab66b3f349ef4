"""What a person said of one sheet's headers changes no other sheet, and none that is paid for."""

from __future__ import annotations

import tomllib

import pytest

from tests.programs import Desk

ONE = "id,tool,fields.product,Headline,Claim\n" + "".join(
    f"r{n},product-launch,Kettle,Kettle {n},Boils in {n}\n" for n in (1, 2)
)
#: The same headers, with which somebody else means other columns.
TWO = ONE.replace("Kettle,Kettle", "Pot,Pot")
MAPS = {"m1.csv": ("Headline=title", "Claim=x_claim"), "m2.csv": ("Headline=x_head", "Claim=title")}


def words_of(maps: tuple[str, ...]) -> list[str]:
    return [word for one in maps for word in ("--map", one)]


def test_an_answer_is_of_the_sheets_with_these_headers_and_the_first_one_holds(
    desk: Desk, name: str
) -> None:
    one, two = desk.sheet(f"{name}.csv", ONE), desk.sheet("m2.csv", TWO)
    desk.sheet("m3.csv", ONE.replace("Claim", "Claim,Brief").replace("Boils", "Boils,Boils"))
    (desk.folder / "columns.toml").write_text('[columns]\n"Brief" = "notes"\n')
    assert desk.call("check", one, *words_of(MAPS["m1.csv"])).status == 0
    assert desk.run(one).status == 0
    charged = desk.call("status", name, "--json").json["credits"]["charged"]

    # Somebody says something else of the same headers.
    assert desk.call("check", two, *words_of(MAPS["m2.csv"])).status == 0
    again = desk.run(one)
    assert "nothing to do, 0 credits" in again.err
    assert desk.call("status", name, "--json").json["credits"]["charged"] == charged
    # Each of them is read as it was said of it; another one with these headers as the first.
    assert desk.call("check", one).status == 0
    said = desk.call("check", two, "--json").json["columns"]
    assert {one["header"]: one["column"] for one in said}["Claim"] == "title"
    (desk.folder / "m4.csv").write_text(ONE)
    said = desk.call("check", "m4.csv", "--json").json["columns"]
    assert {one["header"]: one["column"] for one in said}["Headline"] == "title"
    # A sheet with other headers is asked about, and what a person wrote by hand is kept.
    asked = desk.call("check", "m3.csv", "--json")
    assert (asked.status, "m3.csv has 2 columns to confirm; " in asked.err) == (2, True)
    assert asked.json["remedy"].endswith("--map Headline=title --map Claim=x_claim")
    written = tomllib.loads((desk.folder / "columns.toml").read_text())
    assert written["columns"] == {"Brief": "notes"}


@pytest.mark.merge
def test_a_known_sheet_that_is_read_in_another_way_is_asked_about_before_anything_is_spent(
    desk: Desk, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", ONE)
    first, other = (words_of(maps) for maps in MAPS.values())
    assert desk.run(sheet, *first).status == 0
    before = desk.rows(name)

    # --yes is a word on credits, and a refused run changes neither the ledger nor what comes next.
    refused = desk.run(sheet, *other)
    assert refused.status == 4, refused.err
    assert 'is read differently than before: "Kettle 1" of row r1 was title and is' in refused.err
    assert "callsheet plan" in refused.err.split("look at the plan and run that:")[1]
    assert desk.run(sheet, *other).status == 4
    assert desk.rows(name) == before
    assert "nothing to do, 0 credits" in desk.run(sheet, *first).err

    # A person who sees the plan may want just that.
    planned = desk.call("plan", sheet, *other, "-o", "plan.json", "--json")
    assert any("differently" in one["words"] for one in planned.json["changes"])
    ended = desk.call("run", "--plan", "plan.json", "--yes", "--json", "--without-prefect")
    made = {(row["state"], row["take"]) for row in desk.rows(name).values()}
    assert (ended.status, made) == (0, {("delivered", 2)}), ended.err
    # Cells that a person changes are no other way of reading.
    desk.sheet(sheet, ONE.replace("Boils in 1", "Boils in one"))
    assert desk.run(sheet, *other).status == 0


@pytest.mark.merge
def test_rows_of_which_one_has_a_new_text_were_edited_and_ask_nothing(
    desk: Desk, name: str
) -> None:
    first = words_of(MAPS["m1.csv"])
    assert desk.run(desk.sheet(f"{name}.csv", ONE), *first).status == 0
    swapped = ONE.replace("Kettle 1,Boils in 1", "Boils in 1,Kettle 1")

    ended = desk.run(desk.sheet(f"{name}.csv", swapped.replace("Kettle 2", "Kettle II")), *first)

    assert ended.status == 0, ended.err
    assert {row["take"] for row in desk.rows(name).values()} == {2}
