"""A row that gets a new id keeps its videos and its payments, whatever happens meanwhile."""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox, simple_sheet
from tests.torture.hook import Hook

ANSWERED = "service: after the answer (create)"


def renamed(text: str, ids: dict[str, str], *, was: bool = True) -> str:
    """Return a sheet whose rows have new ids, by the old ones, with or without what they were."""
    header, *lines = text.splitlines()
    cells = [line.split(",", 1) for line in lines]
    made = [
        f"{ids.get(old, old)},{old if was and old in ids else ''},{rest}" for old, rest in cells
    ]
    return "\n".join([header.replace("id,", "id,was,", 1), *made]) + "\n"


def lose_the_ledger(desk: Desk) -> None:
    desk.lose_ledger()


@pytest.mark.merge
def test_a_renamed_row_keeps_video_review_and_history(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2)
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.call("review", name, "r001", "keep", "--by", "Ann")
    before, creates = desk.rows(name), studio.creates()
    sheet = desk.sheet(f"{name}.csv", renamed(text, {"r001": "kettle"}))

    plan = desk.call("plan", sheet, "--json").json
    first, again = desk.run(sheet), desk.run(sheet)

    assert [(row["row"], row["action"], row["why"]) for row in plan["rows"]] == [
        ("kettle", "none", "was r001"),
        ("r002", "none", None),
    ]
    assert (first.status, again.status) == (0, 0)
    assert "nothing to do" in again.err
    after = desk.rows(name)
    assert after == {"kettle": {**before["r001"], "row": "kettle"}, "r002": before["r002"]}
    assert "renamed  was r001" in desk.call("explain", name, "kettle").out
    assert desk.call("verify", name).status == desk.call("reconcile", name).status == 0
    assert studio.creates() == creates


@pytest.mark.merge
def test_a_row_that_is_edited_and_renamed_asks_nothing_about_columns(desk: Desk, name: str) -> None:
    columns, cells = ",cost_center,notes", ",north,spring"
    text = simple_sheet(1, columns=columns, cells=cells)
    desk.run(desk.sheet(f"{name}.csv", text))
    # Texts that stand in another column by chance, as the old id does in `was`.
    other = text.replace(",5,", ",6,").replace(",north,spring", ",spring,r001")

    ended = desk.run(desk.sheet(f"{name}.csv", renamed(other, {"r001": "kettle"})))

    assert ended.status == 0, ended.err
    assert desk.rows(name)["kettle"]["take"] == 2


@pytest.mark.merge
def test_a_row_that_an_earlier_run_took_for_a_new_one_is_renamed_after_all(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    desk.run(desk.sheet(f"{name}.csv", text))
    before, creates = desk.rows(name)["r001"], studio.creates()
    # With another text, it is another video: it shows its price, and is not approved.
    other = renamed(text, {"r001": "kettle"}, was=False).replace("Video 1", "Video 9")
    sheet = desk.sheet(f"{name}.csv", other)
    assert desk.call("run", sheet, "--without-prefect").status == 4
    assert desk.rows(name)["r001"]["state"] == "delivered"

    desk.sheet(sheet, renamed(text, {"r001": "kettle"}))
    ended = desk.run(sheet)

    rows = desk.rows(name)
    assert (ended.status, rows["kettle"]) == (0, {**before, "row": "kettle"})
    assert (rows["r001"]["state"], rows["r001"]["take"]) == ("retired", 0)
    assert studio.creates() == creates


@pytest.mark.merge
def test_an_id_that_a_row_had_before_is_refused_for_another_row(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.run(desk.sheet(f"{name}.csv", renamed(text, {"r001": "kettle"})))
    creates = studio.creates()
    both = text + renamed(text, {"r001": "kettle"}, was=False).splitlines()[1].replace(",,", ",", 1)

    ended = desk.run(desk.sheet(f"{name}.csv", both))

    assert ended.status == 2
    assert f'{name}.csv:2 row "r001", column id: "r001" is the id that "kettle" had' in ended.err
    assert studio.creates() == creates


@pytest.mark.merge
@pytest.mark.parametrize("ledger", ["stays", "is lost"])
def test_a_row_is_renamed_while_the_answer_to_its_payment_is_lost(
    ledger: str, desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    sheet = desk.sheet(f"{name}.csv", text)
    creates = studio.creates()
    run = ("run", sheet, "--yes", "--without-prefect")
    desk.call(*run, hook=Hook(desk.folder / "trace", ANSWERED).as_json())
    assert studio.creates() == creates + 1
    if ledger == "is lost":
        lose_the_ledger(desk)
        for file in (desk.folder / "deliveries").rglob("manifest.json"):
            file.unlink()

    ended = desk.run(desk.sheet(sheet, renamed(text, {"r001": "kettle"})))

    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err
    key = desk.rows(name)["kettle"]["key"]
    assert studio.charged([key]) == {key: 1}
    assert ended.json["credits"]["charged"] == 15


@pytest.mark.merge
def test_the_manifest_names_a_renamed_row_and_its_files_without_the_column(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2)
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.run(desk.sheet(f"{name}.csv", renamed(text, {"r001": "kettle"})))
    before, creates = desk.rows(name), studio.creates()
    lose_the_ledger(desk)

    ended = desk.run(desk.sheet(f"{name}.csv", renamed(text, {"r001": "kettle"}, was=False)))

    assert (ended.status, desk.rows(name)) == (0, before), ended.err
    assert studio.creates() == creates


@pytest.mark.merge
def test_renamed_rows_of_another_campaign_are_not_paid_for_again_unasked(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2, title=name)
    desk.run(desk.sheet(f"{name}.csv", text))
    ids = {"r001": "kettle", "r002": "pot"}
    creates = studio.creates()

    ended = desk.run(desk.sheet(f"{name}-new.csv", renamed(text, ids)))

    assert (ended.status, studio.creates()) == (4, creates)
    assert f"campaign {name} already paid for 2 of 2 rows" in ended.err


@pytest.mark.merge
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


@pytest.mark.merge
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


@pytest.mark.merge
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


@pytest.mark.merge
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
