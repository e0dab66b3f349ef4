"""A matrix on the command line: what one more language plans, and how many videos it may mean."""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox

pytestmark = pytest.mark.merge


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


def test_a_row_keeps_its_video_whichever_way_its_id_changes(
    desk: Desk, service: Sandbox, name: str
) -> None:
    rest = "In Bonn,Hello Bonn.,6"
    first = f"id,title,script,duration_seconds,matrix.language\na,{rest},de|en\n"
    one = first.replace("matrix.", "").replace("de|en", "en")
    # What the sheet becomes, one after the other, and which id the English row then has.
    templated = first.replace("language\n", "language,matrix.id\n")
    ways = {
        "another template": (templated.replace("en\n", "en,{language}_{id}\n"), "en_a"),
        "no matrix, though it had one from the start": (one, "a"),
        "a matrix of its one value": (one.replace("language", "matrix.language"), "a-en"),
        "no id": (one.replace("id,", "", 1).replace("\na,", "\n"), None),
        "an id, and another than before": (one.replace("\na,", "\nb,"), "b"),
        "both languages again": (first.replace("\na,", "\nb,"), "b-en"),
    }
    desk.run(desk.sheet(f"{name}.csv", first))
    paid, video = len(service.bought()), desk.rows(name)["a-en"]["video_id"]

    for way, (text, row) in ways.items():
        desk.sheet(f"{name}.csv", text)
        plan = desk.call("plan", f"{name}.csv", "--json").json
        ended = desk.run(f"{name}.csv", "--retire")
        assert plan["credits"]["total"] == 0, way
        assert (ended.status, ended.json["credits"]["charged_this_run"]) == (0, 0), (way, ended.err)
        rows = {key: one for key, one in desk.rows(name).items() if one["state"] != "retired"}
        english = rows[row] if row else next(iter(rows.values()))
        assert (english["state"], english["video_id"]) == ("delivered", video), way
    assert len(service.bought()) == paid

    # The same brief under one more id, and a variant that asks for something else: in words.
    base = first.replace("\na,", "\nb,")
    desk.sheet(
        f"{name}.csv", f"{base}b2,{rest},en\nc,{rest},fr\n".replace("c,In Bonn", "c,In Rome")
    )
    said = {
        row["row"]: row["why"] for row in desk.call("plan", f"{name}.csv", "--json").json["rows"]
    }
    assert said["b2-en"] == "b-en has a video of the same brief"
    assert said["c-fr"] is None


def test_a_variant_that_asks_for_another_video_says_what_is_different(
    desk: Desk, name: str
) -> None:
    plain = "id,title,script,duration_seconds\na,Hi,Hello.,6\n"
    desk.run(desk.sheet(f"{name}.csv", plain))
    desk.sheet(
        f"{name}.csv",
        plain.replace("seconds\n", "seconds,matrix.language\n").replace(",6\n", ",6,en\n"),
    )

    (line, left) = desk.call("plan", f"{name}.csv", "--json").json["rows"]

    assert (line["row"], line["action"]) == ("a-en", "make")
    assert line["why"] == "the video of a is another one: language"
    assert (left["row"], left["action"]) == ("a", "retire")


@pytest.mark.merge
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
