"""A row that gets a new id, or becomes a matrix, keeps its videos and its payments."""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

KETTLE = {"r001": "kettle"}


def renamed(text: str, ids: dict[str, str], *, was: bool = True) -> str:
    """Return a sheet whose rows have new ids, by the old ones, with or without what they were."""
    header, *lines = text.splitlines()
    cells = [line.split(",", 1) for line in lines]
    made = [
        f"{ids.get(old, old)},{old if was and old in ids else ''},{rest}" for old, rest in cells
    ]
    return "\n".join([header.replace("id,", "id,was,", 1), *made]) + "\n"


def planned(desk: Desk, sheet: str) -> dict[str, tuple[str, str | None]]:
    """Return what a plan does with each row, and why."""
    rows = desk.call("plan", sheet, "--json").json["rows"]
    return {row["row"]: (row["action"], row["why"]) for row in rows}


def test_a_renamed_row_keeps_video_review_and_history(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2)
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.call("review", name, "r001", "keep", "--by", "Ann")
    before, creates = desk.rows(name), studio.creates()
    sheet = desk.sheet(f"{name}.csv", renamed(text, KETTLE))
    plan = planned(desk, sheet)
    first, again = desk.run(sheet), desk.run(sheet)
    assert plan == {"kettle": ("none", "was r001"), "r002": ("none", None)}
    assert (first.status, again.status) == (0, 0)
    assert "nothing to do" in again.err
    after = {"kettle": {**before["r001"], "row": "kettle"}, "r002": before["r002"]}
    assert desk.rows(name) == after
    assert "renamed  was r001" in desk.call("explain", name, "kettle").out
    assert desk.call("verify", name).status == desk.call("reconcile", name).status == 0
    # The manifest names it without the column.
    desk.lose_ledger()
    ended = desk.run(desk.sheet(sheet, renamed(text, KETTLE, was=False)))
    assert (ended.status, desk.rows(name)) == (0, after), ended.err
    # An id that it had before is refused for another row.
    both = text + renamed(text, KETTLE, was=False).splitlines()[1].replace(",,", ",", 1)
    refused = desk.run(desk.sheet(sheet, both))
    assert refused.status == 2
    assert f'{name}.csv:2 row "r001", column id: "r001" is the id that "kettle" had' in refused.err
    assert studio.creates() == creates


@pytest.mark.safeguard(
    "tasks/campaign/changes.py",
    "if sorted(before.values()) != sorted(now.values()):\n        return None",
    "",
)
def test_a_row_that_is_edited_and_renamed_asks_nothing_about_columns(desk: Desk, name: str) -> None:
    text = simple_sheet(1, columns=",cost_center,notes", cells=",north,spring")
    desk.run(desk.sheet(f"{name}.csv", text))
    # Texts that stand in another column by chance, as the old id does in `was`.
    other = text.replace(",5,", ",6,").replace(",north,spring", ",spring,r001")
    ended = desk.run(desk.sheet(f"{name}.csv", renamed(other, KETTLE)))
    assert ended.status == 0, ended.err
    assert desk.rows(name)["kettle"]["take"] == 2


def test_a_row_that_an_earlier_run_took_for_a_new_one_is_renamed_after_all(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    desk.run(desk.sheet(f"{name}.csv", text))
    before, creates = desk.rows(name)["r001"], studio.creates()
    # With another text, it is another video: it shows its price, and is not approved.
    other = renamed(text, KETTLE, was=False).replace("Video 1", "Video 9")
    sheet = desk.sheet(f"{name}.csv", other)
    assert desk.call("run", sheet, "--without-prefect").status == 4
    assert desk.rows(name)["r001"]["state"] == "delivered"
    ended = desk.run(desk.sheet(sheet, renamed(text, KETTLE)))
    rows = desk.rows(name)
    assert (ended.status, rows["kettle"]) == (0, {**before, "row": "kettle"})
    assert (rows["r001"]["state"], rows["r001"]["take"]) == ("retired", 0)
    assert studio.creates() == creates


@pytest.mark.parametrize("ledger", ["stays", "is lost"])
def test_a_row_is_renamed_while_the_answer_to_its_payment_is_lost(
    ledger: str, desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    sheet = desk.sheet(f"{name}.csv", text)
    run = ("run", sheet, "--yes", "--without-prefect")
    desk.kill(*run, at="service: after the answer (create)")
    if ledger == "is lost":
        desk.lose_ledger(name)
    ended = desk.run(desk.sheet(sheet, renamed(text, KETTLE)))
    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err
    assert desk.paid_once(name, studio)
    assert ended.json["credits"]["charged"] == 15


def test_renamed_rows_of_another_campaign_are_not_paid_for_again_unasked(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2, title=name)
    desk.run(desk.sheet(f"{name}.csv", text))
    creates = studio.creates()
    other = renamed(text, {**KETTLE, "r002": "pot"})
    ended = desk.run(desk.sheet(f"{name}-new.csv", other))
    assert (ended.status, studio.creates()) == (4, creates)
    assert f"campaign {name} already paid for 2 of 2 rows" in ended.err


def test_a_row_that_becomes_a_matrix_keeps_the_video_that_is_one_of_its_variants(
    desk: Desk, name: str
) -> None:
    plain = "id,title,script,duration_seconds,language\na,Hi,Hello.,6,en\nb,Bye,Bye.,6,en\n"
    sheet = desk.sheet(f"{name}.csv", plain)
    desk.run(sheet)
    before = desk.rows(name)
    wide = plain.replace("language", "matrix.language").replace(",en", ",de|en")
    plan = planned(desk, desk.sheet(sheet, wide))
    desk.run(sheet)
    variants = {f"{row}-{language}" for row in "ab" for language in ("de", "en")}
    assert plan == {
        "a-de": ("make", None), "a-en": ("none", "was a"),
        "b-de": ("make", None), "b-en": ("none", "was b"),
    }  # fmt: skip
    after = desk.rows(name)
    for row in "ab":
        assert after[f"{row}-en"] == {**before[row], "row": f"{row}-en"}
    assert set(after) == variants
    # One more language plans only its own rows.
    plan = planned(desk, desk.sheet(sheet, wide.replace("de|en", "fr|de|en")))
    assert {row: action for row, (action, _) in plan.items()} == {
        **dict.fromkeys(variants, "none"), "a-fr": "make", "b-fr": "make",
    }  # fmt: skip
    # The matrix is taken out again.
    ended = desk.run(desk.sheet(sheet, plain), "--retire")
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
    templated = first.replace("language\n", "language,matrix.id\n")
    # What the sheet becomes, one after the other, and which id the English row then has.
    ways = {
        "another template": (templated.replace("en\n", "en,{language}_{id}\n"), "en_a"),
        "no matrix, though it had one from the start": (one, "a"),
        "a matrix of its one value": (one.replace("language", "matrix.language"), "a-en"),
        "no id": (one.replace("id,", "", 1).replace("\na,", "\n"), None),
        "an id, and another than before": (one.replace("\na,", "\nb,"), "b"),
        "both languages again": (first.replace("\na,", "\nb,"), "b-en"),
    }
    sheet = desk.sheet(f"{name}.csv", first)
    desk.run(sheet)
    paid, video = len(service.bought()), desk.rows(name)["a-en"]["video_id"]
    for way, (text, row) in ways.items():
        desk.sheet(sheet, text)
        plan = desk.call("plan", sheet, "--json").json
        ended = desk.run(sheet, "--retire")
        assert plan["credits"]["total"] == 0, way
        assert (ended.status, ended.json["credits"]["charged_this_run"]) == (0, 0), (way, ended.err)
        rows = {key: one for key, one in desk.rows(name).items() if one["state"] != "retired"}
        english = rows[row] if row else next(iter(rows.values()))
        assert (english["state"], english["video_id"]) == ("delivered", video), way
    assert len(service.bought()) == paid
    # The same brief under one more id, and a variant that asks for something else: in words.
    more = f"b2,{rest},en\nc,{rest},fr\n".replace("c,In Bonn", "c,In Rome")
    said = planned(desk, desk.sheet(sheet, first.replace("\na,", "\nb,") + more))
    assert said["b2-en"][1] == "b-en has a video of the same brief"
    assert said["c-fr"][1] is None


def test_a_variant_that_asks_for_another_video_says_what_is_different(
    desk: Desk, name: str
) -> None:
    plain = "id,title,script,duration_seconds\na,Hi,Hello.,6\n"
    desk.run(desk.sheet(f"{name}.csv", plain))
    wide = plain.replace("seconds\n", "seconds,matrix.language\n").replace(",6\n", ",6,en\n")
    plan = planned(desk, desk.sheet(f"{name}.csv", wide))
    assert plan["a-en"] == ("make", "the video of a is another one: language")
    assert plan["a"][0] == "retire"


def test_many_videos_are_refused_with_their_number_and_the_option(desk: Desk, name: str) -> None:
    numbers = "|".join(map(str, range(1, 102)))
    text = f"id,script,matrix.priority,matrix.max_credits\na,Buy,{numbers},{numbers}\n"
    sheet = desk.sheet(f"{name}.csv", text)
    for command in ("check", "plan", "run"):
        refused = desk.call(command, sheet)
        assert refused.status == 2
        many = "means 10,201 videos, more than 10,000: add --yes-many if you want them"
        assert many in refused.err
    assert desk.call("check", sheet, "--yes-many").status == 0
