"""A row that gets a new id keeps its videos and its payments, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, simple_sheet
from tests.torture.hook import Hook

ANSWERED = "service: after the answer (create)"


@pytest.fixture
def desk(tmp_path: Path, studio: Sandbox) -> Iterator[Desk]:
    yield Desk(tmp_path, dict(studio.environ))
    studio.clear_faults()


def renamed(text: str, ids: dict[str, str], *, was: bool = True) -> str:
    """Return a sheet whose rows have new ids, by the old ones, with or without what they were."""
    header, *lines = text.splitlines()
    cells = [line.split(",", 1) for line in lines]
    made = [
        f"{ids.get(old, old)},{old if was and old in ids else ''},{rest}" for old, rest in cells
    ]
    return "\n".join([header.replace("id,", "id,was,", 1), *made]) + "\n"


def lose_the_ledger(desk: Desk) -> None:
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()


@pytest.mark.merge
def test_a_renamed_row_keeps_video_review_and_history(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2)
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.call("review", name, "r001", "keep", "--by", "Ann")
    before, creates = desk.rows(name), studio.calls()["create"]
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
    assert studio.calls()["create"] == creates


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
    before, creates = desk.rows(name)["r001"], studio.calls()["create"]
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
    assert studio.calls()["create"] == creates


@pytest.mark.merge
def test_an_id_that_a_row_had_before_is_refused_for_another_row(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.run(desk.sheet(f"{name}.csv", renamed(text, {"r001": "kettle"})))
    creates = studio.calls()["create"]
    both = text + renamed(text, {"r001": "kettle"}, was=False).splitlines()[1].replace(",,", ",", 1)

    ended = desk.run(desk.sheet(f"{name}.csv", both))

    assert ended.status == 2
    assert f'{name}.csv:2 row "r001", column id: "r001" is the id that "kettle" had' in ended.err
    assert studio.calls()["create"] == creates


@pytest.mark.merge
@pytest.mark.parametrize("ledger", ["stays", "is lost"])
def test_a_row_is_renamed_while_the_answer_to_its_payment_is_lost(
    ledger: str, desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(1)
    sheet = desk.sheet(f"{name}.csv", text)
    creates = studio.calls().get("create", 0)
    run = ("run", sheet, "--yes", "--without-prefect")
    desk.call(*run, hook=Hook(desk.folder / "trace", ANSWERED).as_json())
    assert studio.calls()["create"] == creates + 1
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
    before, creates = desk.rows(name), studio.calls()["create"]
    lose_the_ledger(desk)

    ended = desk.run(desk.sheet(f"{name}.csv", renamed(text, {"r001": "kettle"}, was=False)))

    assert (ended.status, desk.rows(name)) == (0, before), ended.err
    assert studio.calls()["create"] == creates


@pytest.mark.merge
def test_renamed_rows_of_another_campaign_are_not_paid_for_again_unasked(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = simple_sheet(2, title=name)
    desk.run(desk.sheet(f"{name}.csv", text))
    ids = {"r001": "kettle", "r002": "pot"}
    creates = studio.calls()["create"]

    ended = desk.run(desk.sheet(f"{name}-new.csv", renamed(text, ids)))

    assert (ended.status, studio.calls()["create"]) == (4, creates)
    assert f"campaign {name} already paid for 2 of 2 rows" in ended.err
