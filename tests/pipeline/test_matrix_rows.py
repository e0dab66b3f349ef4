"""A matrix on the command line: what one more language plans, and how many videos it may mean."""

from __future__ import annotations

import pytest

from tests.programs import Desk


def test_one_more_language_plans_only_its_own_rows(desk: Desk, name: str) -> None:
    text = (
        "id,title,script,duration_seconds,matrix.language,x_city\n"
        "a,In {city},Hello {city}.,6,en|de,Bonn\n"
    )
    ended = desk.run(desk.sheet(f"{name}.csv", text))
    assert ended.status == 0
    before = desk.rows(name)
    desk.sheet(f"{name}.csv", text.replace("en|de", "fr|en|de"))

    plan = desk.call("plan", f"{name}.csv", "--json").json

    assert {row["row"]: row["action"] for row in plan["rows"]} == {
        "a-fr": "make",
        "a-en": "none",
        "a-de": "none",
    }
    desk.run(f"{name}.csv")
    after = desk.rows(name)
    assert {row: after[row] for row in before} == before
    assert set(after) == {"a-en", "a-de", "a-fr"}


def test_a_row_that_becomes_a_matrix_keeps_the_video_that_is_one_of_its_variants(
    desk: Desk, name: str
) -> None:
    plain = "id,title,script,duration_seconds,language\na,Hi,Hello.,6,en\nb,Bye,Bye.,6,en\n"
    desk.run(desk.sheet(f"{name}.csv", plain))
    before = desk.rows(name)
    desk.sheet(f"{name}.csv", plain.replace("language", "matrix.language").replace(",en", ",de|en"))

    plan = desk.call("plan", f"{name}.csv", "--json").json
    desk.run(f"{name}.csv")

    assert {row["row"]: (row["action"], row["why"]) for row in plan["rows"]} == {
        "a-de": ("make", None),
        "a-en": ("none", "was a"),
        "b-de": ("make", None),
        "b-en": ("none", "was b"),
    }
    after = desk.rows(name)
    assert {row: after[f"{row}-en"] for row in "ab"} == {
        row: {**before[row], "row": f"{row}-en"} for row in "ab"
    }
    assert set(after) == {"a-de", "a-en", "b-de", "b-en"}

    # The matrix is taken out again.
    desk.sheet(f"{name}.csv", plain)
    ended = desk.run(f"{name}.csv", "--retire")
    assert (ended.status, ended.json["credits"]["charged_this_run"]) == (0, 0)
    rows = desk.rows(name)
    assert {row: rows[row] for row in "ab"} == before
    assert {rows[row]["state"] for row in ("a-de", "b-de")} == {"retired"}


@pytest.mark.parametrize("command", ["check", "plan", "run"])
def test_many_videos_are_refused_with_their_number_and_the_option(
    command: str, desk: Desk, name: str
) -> None:
    numbers = "|".join(map(str, range(1, 102)))
    sheet = desk.sheet(
        f"{name}.csv", f"id,script,matrix.priority,matrix.max_credits\na,Buy,{numbers},{numbers}\n"
    )

    refused = desk.call(command, sheet)

    assert refused.status == 2
    assert "means 10,201 videos, more than 10,000: add --yes-many if you want them" in refused.err
    if command == "check":
        assert desk.call(command, sheet, "--yes-many").status == 0
